# SPDX-License-Identifier: Apache-2.0
"""A mixer of queries, keys and values: a projection, attention of heads, and a projection back."""
from torch import Tensor, nn

from .conventions import Conventions, require_int


class MultiHead(nn.Module):
    """y = W_O attend(Q, K, V), with the channels split into heads. A single projection with weight
    [3 * inner, width] computes Q, K and V (Attention Is All You Need, section 3.2). Maps
    [batch, length, width] to the same shape. A derived class defines `attend`.

    inner: total channels of all heads; defaults to the width.
    input_bias, out_bias: True adds a bias to the input / output projection.
    """

    def __init__(
        self,
        width: int,
        heads: int = 1,
        inner: int | None = None,
        input_bias: bool = False,
        out_bias: bool = False,
        rules: Conventions = Conventions(),
    ) -> None:
        super().__init__()
        inner = require_int("width", width) if inner is None else require_int("inner", inner)
        if inner % require_int("heads", heads) != 0:
            raise ValueError(f"{inner} channels cannot be split into {heads} heads")
        self.heads, self.head_channels = heads, inner // heads
        self.in_proj = rules.linear(width, 3 * inner, input_bias)
        self.out_proj = rules.linear(inner, width, out_bias)

    def forward(
        self, x: Tensor, lengths: Tensor | None = None, start: Tensor | None = None
    ) -> Tensor:
        """`lengths`, int64 [batch], apply to queries, keys and values. Ignores `start`."""
        q, k, v = self.in_proj(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return self.out_proj(self.attend(q, k, v, lengths).transpose(1, 2).flatten(2))

    def attend(self, q: Tensor, k: Tensor, v: Tensor, lengths: Tensor | None) -> Tensor:
        """Maps queries, keys and values, [batch, heads, length, channels], to the same shape."""
        raise NotImplementedError(
            f"{type(self).__name__} has no attention: define attend(q, k, v, lengths)"
        )
