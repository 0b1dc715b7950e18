# SPDX-License-Identifier: Apache-2.0
"""A mixer of queries, keys and values: a projection, attention of heads, and a projection back."""
import torch
from torch import Tensor, nn

from .conventions import Conventions, require_int


def zero_padding(x: Tensor, lengths: Tensor | None) -> Tensor:
    """Returns x, [batch, heads, length, channels], with zeros in the rows past the lengths."""
    if lengths is None:
        return x
    padding = torch.arange(x.shape[2], device=x.device) >= lengths[:, None]
    return x.masked_fill(padding[:, None, :, None], 0)


class MultiHead(nn.Module):
    """y = W_O attend(Q, K, V), with the channels split into heads. A single projection with weight
    [inputs * inner, width] computes Q, K and V (Attention Is All You Need, section 3.2). Maps
    [batch, length, width] to the same shape. A derived class defines `attend`.

    inner: total channels of all heads; defaults to the width.
    input_bias, out_bias: True adds a bias to the input / output projection.
    inputs: the tensors that `attend` takes: 3 for Q, K and V, 2 for Q and V, 1 for V.
    """

    def __init__(
        self,
        width: int,
        heads: int = 1,
        inner: int | None = None,
        input_bias: bool = False,
        out_bias: bool = False,
        rules: Conventions = Conventions(),
        inputs: int = 3,
    ) -> None:
        super().__init__()
        inner = require_int("width", width) if inner is None else require_int("inner", inner)
        if inner % require_int("heads", heads) != 0:
            raise ValueError(f"{inner} channels cannot be split into {heads} heads")
        self.heads, self.head_channels, self.inputs = heads, inner // heads, inputs
        self.in_proj = rules.linear(width, inputs * inner, input_bias)
        self.out_proj = rules.linear(inner, width, out_bias)

    def forward(
        self, x: Tensor, lengths: Tensor | None = None, start: Tensor | None = None
    ) -> Tensor:
        """`lengths`, int64 [batch], apply to queries, keys and values. Ignores `start`."""
        return self.merge_heads(self.attend(*self.project(x), lengths))

    def project(self, x: Tensor) -> tuple[Tensor, ...]:
        """Returns queries, keys and values, [batch, heads, length, channels]."""
        split = self.in_proj(x).unflatten(-1, (self.inputs, self.heads, -1))
        return split.permute(2, 0, 3, 1, 4).unbind(0)

    def merge_heads(self, y: Tensor) -> Tensor:
        """Projects the outputs of the heads to [batch, length, width]."""
        return self.out_proj(y.transpose(1, 2).flatten(2))

    def attend(self, q: Tensor, k: Tensor, v: Tensor, lengths: Tensor | None) -> Tensor:
        """Maps queries, keys and values, [batch, heads, length, channels], to the same shape."""
        raise NotImplementedError(
            f"{type(self).__name__} has no attention: define attend(q, k, v, lengths)"
        )
