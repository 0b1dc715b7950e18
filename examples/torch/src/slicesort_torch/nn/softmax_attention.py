# SPDX-License-Identifier: Apache-2.0
"""Multi-head softmax self-attention."""
from torch import Tensor

from .. import functional as F
from .conventions import Conventions, require_policy, require_rate
from .multi_head import MultiHead


class SoftmaxAttention(MultiHead):
    """y = W_O softmax(Q K^T / sqrt(D)) V with D channels per head (Attention Is All You Need,
    section 3.2): [batch, length, width] to the same shape.

    mask: a mask of `functional.softmax_attention`.
    dropout: dropout probability of attention weights, in training only.
    Other arguments as in `MultiHead`.
    """

    def __init__(
        self,
        width: int,
        heads: int = 1,
        mask: str = "full",
        inner: int | None = None,
        dropout: float = 0.0,
        input_bias: bool = False,
        out_bias: bool = False,
        rules: Conventions = Conventions(),
    ) -> None:
        super().__init__(width, heads, inner, input_bias, out_bias, rules)
        require_policy("mask", mask)
        require_rate("dropout", dropout)
        self.mask, self.dropout = mask, dropout

    def attend(self, q: Tensor, k: Tensor, v: Tensor, lengths: Tensor | None) -> Tensor:
        return F.softmax_attention(
            q,
            k,
            v,
            mask=self.mask,
            lengths=lengths,
            query_lengths=lengths,
            dropout=self.dropout if self.training else 0.0,
        )

    def extra_repr(self) -> str:
        return f"heads={self.heads}, mask={self.mask!r}, dropout={self.dropout}"
