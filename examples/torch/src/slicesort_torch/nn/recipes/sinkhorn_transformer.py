# SPDX-License-Identifier: Apache-2.0
"""Sinkhorn Transformer's attention."""
from torch import Tensor
from torch.nn.functional import pad

from ... import functional as F
from ..conventions import Conventions, require_int, require_one_of, require_rows
from ..multi_head import MultiHead, zero_padding


class SinkhornTransformerAttention(MultiHead):
    """Multi-head attention of each row to its block of rows and to a sorted block, row t of which is
    a weighted mean of rows t of all blocks. A sorting network computes the logits of the weights
    from the sums of the keys of each block; Sinkhorn's algorithm makes them doubly stochastic
    (Sparse Sinkhorn Attention, section 3): [batch, length, width] to the same shape. The last block
    counts as filled up with zeros.

    length: maximum number of rows.
    block: rows of a block. The network's weight, [heads, channels, blocks], is the parameter
        `sort_net`.
    join: `softmax`, one softmax over the keys of both blocks, or `sum`, the sum of two.
    tau, half_steps: the temperature, and the normalizations of rows and columns in turn.
    Other arguments as in `MultiHead`.
    """

    def __init__(
        self,
        width: int,
        length: int,
        heads: int = 1,
        block: int = 50,
        join: str = "softmax",
        tau: float = 0.75,
        half_steps: int = 16,
        rules: Conventions = Conventions(),
        **projections,
    ) -> None:
        super().__init__(width, heads, rules=rules, **projections)
        self.length, self.block = require_int("length", length), require_int("block", block)
        self.join = require_one_of("join", join, ("softmax", "sum"))
        self.tau, self.half_steps = tau, require_int("half_steps", half_steps)
        blocks = -(-length // block)
        channels = self.head_channels
        self.sort_net = rules.parameter(heads, channels, blocks, inputs=channels, outputs=blocks)

    def attend(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        lengths: Tensor | None,
        logits: Tensor | None = None,
    ) -> Tensor:
        """`logits`, [batch, heads, blocks, blocks], replace those of the sorting network."""
        k_blocks, v_blocks = (self.blocks(zero_padding(t, lengths)) for t in (k, v))
        if logits is None:
            logits = k_blocks.sum(3) @ self.sort_net[..., : k_blocks.shape[2]]
        sorted_k, sorted_v = self.sort(logits, k_blocks, v_blocks, lengths)
        mask = f"block_local{{{self.block}}}"
        parts = (
            F.softmax_attention_with_state(q, k, v, mask=mask, lengths=lengths, query_lengths=lengths),
            F.softmax_attention_with_state(q, sorted_k, sorted_v, mask=mask, query_lengths=lengths),
        )
        if self.join == "sum":
            return parts[0][0] + parts[1][0]
        return F.merge_attention(*zip(*parts))[0]

    def blocks(self, x: Tensor) -> Tensor:
        """[batch, heads, length, channels] to [batch, heads, blocks, block, channels]"""
        rows = require_rows(x.shape[2], self.length)
        return pad(x, (0, 0, 0, -rows % self.block)).unflatten(2, (-1, self.block))

    def sort(
        self, logits: Tensor, k: Tensor, v: Tensor, lengths: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Returns the rows of the sorted blocks, [batch, heads, blocks * block, channels]."""
        if lengths is not None:
            lengths = (-(-lengths // self.block)).repeat_interleave(self.heads)
        weights = F.sinkhorn(
            logits.flatten(0, 1),
            tau=self.tau,
            half_steps=self.half_steps,
            lengths=lengths,
            column_lengths=lengths,
        ).unflatten(0, k.shape[:2])
        return tuple((weights @ t.flatten(3)).view_as(t).flatten(2, 3) for t in (k, v))

    def extra_repr(self) -> str:
        return f"heads={self.heads}, block={self.block}, join={self.join!r}"
