# SPDX-License-Identifier: Apache-2.0
"""Synthesizer's attention."""
from torch import Tensor

from ... import functional as F
from ..conventions import Conventions, require_int, require_one_of, require_rows
from ..multi_head import MultiHead, zero_padding

FORMS = ("random", "factorized", "dense")


class SynthesizerAttention(MultiHead):
    """y = W_O softmax(R) V, or W_O softmax(Q K^T / sqrt(D) + R) V, where R, [heads, length, length],
    does not compare rows (Synthesizer, section 3): [batch, length, width] to the same shape.

    length: maximum number of rows.
    form: `random`: R is the parameter `map`. `factorized`: R = left right^T. `dense`: row i of R is
        relu(x[i] hidden) map.
    has_scores: True adds Q K^T / sqrt(D).
    rank: columns of `left` and `right`, [heads, length, rank].
    Other arguments as in `MultiHead`.
    """

    def __init__(
        self,
        width: int,
        length: int,
        heads: int = 1,
        form: str = "random",
        has_scores: bool = False,
        rank: int = 32,
        rules: Conventions = Conventions(),
        **projections,
    ) -> None:
        super().__init__(width, heads, rules=rules, inputs=3 if has_scores else 1, **projections)
        self.form, self.length = require_one_of("form", form, FORMS), require_int("length", length)
        require_int("rank", rank)
        if form == "random":
            self.map = rules.parameter(heads, length, length, inputs=length, outputs=length)
        elif form == "factorized":
            self.left = rules.parameter(heads, length, rank, inputs=rank, outputs=length)
            self.right = rules.parameter(heads, length, rank, inputs=rank, outputs=length)
        else:
            hidden = self.head_channels
            self.hidden = rules.parameter(heads, width, hidden, inputs=width, outputs=hidden)
            self.map = rules.parameter(heads, hidden, length, inputs=hidden, outputs=length)

    def forward(
        self, x: Tensor, lengths: Tensor | None = None, start: Tensor | None = None
    ) -> Tensor:
        x = zero_padding(x[:, None], lengths)[:, 0]
        return self.merge_heads(self.attend(*self.project(x), lengths, self.scores(x)))

    def attend(self, *inputs: Tensor | None) -> Tensor:
        """Takes queries and keys, if the form has them, values, lengths, and R."""
        *q_and_k, v, lengths, scores = inputs
        q, k = q_and_k or (v[..., :0], v[..., :0])  # without channels all scores are 0
        return F.softmax_attention(q, k, v, scores, lengths=lengths, query_lengths=lengths)

    def scores(self, x: Tensor) -> Tensor:
        """Returns R for the rows of x: [batch or 1, heads, rows, rows]."""
        rows = require_rows(x.shape[1], self.length)
        if self.form == "random":
            return self.map[None, :, :rows, :rows]
        if self.form == "factorized":
            return (self.left[:, :rows] @ self.right[:, :rows].mT)[None]
        return (x[:, None] @ self.hidden).relu() @ self.map[..., :rows]

    def extra_repr(self) -> str:
        return f"heads={self.heads}, form={self.form!r}, has_scores={self.inputs == 3}"
