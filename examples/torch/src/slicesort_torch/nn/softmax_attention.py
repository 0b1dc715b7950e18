# SPDX-License-Identifier: Apache-2.0
"""Multi-head softmax self-attention."""
from torch import Tensor, nn

from .. import functional as F
from .conventions import Conventions, policy, rate, whole


class SoftmaxAttention(nn.Module):
    """y = W_O softmax(Q K^T / sqrt(D)) V with D channels per head. One product of x and a weight
    [3 inner, width] computes Q, K and V (Attention Is All You Need, section 3.2):
    [batch, length, width] to the same shape.

    mask: a mask of `functional.softmax_attention`.
    inner: channels of all heads together; None: the width.
    dropout: rate of attention weights in training.
    input_bias, out_bias: adds a bias to the projection.
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
        super().__init__()
        inner = whole("width", width) if inner is None else whole("inner", inner)
        if inner % whole("heads", heads) != 0:
            raise ValueError(f"{inner} channels cannot be split into {heads} heads")
        policy("mask", mask)
        rate("dropout", dropout)
        self.heads, self.mask, self.dropout = heads, mask, dropout
        self.in_proj = rules.linear(width, 3 * inner, input_bias)
        self.out_proj = rules.linear(inner, width, out_bias)

    def forward(
        self, x: Tensor, lengths: Tensor | None = None, start: Tensor | None = None
    ) -> Tensor:
        """`lengths`, int64 [batch], apply to queries, keys and values."""
        q, k, v = self.in_proj(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        y = F.softmax_attention(
            q,
            k,
            v,
            mask=self.mask,
            lengths=lengths,
            query_lengths=lengths,
            dropout=self.dropout if self.training else 0.0,
        )
        return self.out_proj(y.transpose(1, 2).flatten(2))

    def extra_repr(self) -> str:
        return f"heads={self.heads}, mask={self.mask!r}, dropout={self.dropout}"
