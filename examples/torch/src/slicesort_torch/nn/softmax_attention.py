# SPDX-License-Identifier: Apache-2.0
"""Multi-head softmax self-attention."""
from torch import Tensor, nn

from .. import functional as F
from .conventions import Conventions, require_int, require_policy, require_rate


class SoftmaxAttention(nn.Module):
    """y = W_O softmax(Q K^T / sqrt(D)) V with D channels per head. A single projection
    with weight [3 * inner, width] computes Q, K and V (Attention Is All You Need, section 3.2).
    Maps [batch, length, width] to [batch, length, width].

    mask: a mask of `functional.softmax_attention`.
    inner: total channels of all heads; defaults to the width.
    dropout: dropout probability of attention weights, in training only.
    input_bias, out_bias: True adds a bias to the input / output projection.
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
        inner = require_int("width", width) if inner is None else require_int("inner", inner)
        if inner % require_int("heads", heads) != 0:
            raise ValueError(f"{inner} channels cannot be split into {heads} heads")
        require_policy("mask", mask)
        require_rate("dropout", dropout)
        self.heads, self.mask, self.dropout = heads, mask, dropout
        self.in_proj = rules.linear(width, 3 * inner, input_bias)
        self.out_proj = rules.linear(inner, width, out_bias)

    def forward(
        self, x: Tensor, lengths: Tensor | None = None, start: Tensor | None = None
    ) -> Tensor:
        """`lengths`, int64 [batch], apply to queries, keys and values. Ignores `start`."""
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
