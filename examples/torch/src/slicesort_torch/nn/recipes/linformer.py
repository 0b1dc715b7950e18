# SPDX-License-Identifier: Apache-2.0
"""Linformer's attention."""
from torch import Tensor

from ... import functional as F
from ..conventions import Conventions, require_int, require_rows
from ..multi_head import MultiHead, zero_padding


class LinformerAttention(MultiHead):
    """y = W_O softmax(Q (E K)^T / sqrt(D)) (F V) with D channels per head (Linformer, section 4):
    [batch, length, width] to the same shape.

    length: maximum number of rows. Shorter samples read the first columns of E and F.
    rank: rows of E and F.
    one_per_head: False: all heads share E and F.
    separate: False: E projects both keys and values.
    Other arguments as in `MultiHead`. The parameters `keys` (E) and `values` (F) are
    [heads or 1, rank, length].
    """

    def __init__(
        self,
        width: int,
        length: int,
        heads: int = 1,
        rank: int = 256,
        one_per_head: bool = False,
        separate: bool = True,
        rules: Conventions = Conventions(),
        **projections,
    ) -> None:
        super().__init__(width, heads, rules=rules, **projections)
        require_int("length", length)
        require_int("rank", rank)
        shape = (heads if one_per_head else 1, rank, length)
        self.keys = rules.parameter(*shape, inputs=length, outputs=rank)
        self.values = rules.parameter(*shape, inputs=length, outputs=rank) if separate else None

    def attend(self, q: Tensor, k: Tensor, v: Tensor, lengths: Tensor | None) -> Tensor:
        rows = require_rows(k.shape[2], self.keys.shape[2])
        keys = self.keys[..., :rows] @ zero_padding(k, lengths)
        values = self.keys if self.values is None else self.values
        values = values[..., :rows] @ zero_padding(v, lengths)
        return F.softmax_attention(q, keys, values, query_lengths=lengths)

    def extra_repr(self) -> str:
        return f"heads={self.heads}, rank={self.keys.shape[1]}"
