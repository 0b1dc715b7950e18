# SPDX-License-Identifier: Apache-2.0
"""A mixer of values alone: a projection, an operator, and a projection back."""
from torch import Tensor, nn

from .conventions import Conventions, whole


class Projected(nn.Module):
    """y = W_O op(W_V x): [batch, length, width] to the same. A class of yours brings the operator
    with `mix`.

    inner: channels of the values; None: as many as a row has.
    value_bias, out_bias: whether the projections have biases.
    """

    def __init__(
        self,
        width: int,
        inner: int | None = None,
        value_bias: bool = False,
        out_bias: bool = False,
        rules: Conventions = Conventions(),
    ) -> None:
        super().__init__()
        inner = whole("width", width) if inner is None else whole("inner", inner)
        self.inner = inner
        self.value = rules.linear(width, inner, value_bias)
        self.out = rules.linear(inner, width, out_bias)

    def forward(
        self, x: Tensor, lengths: Tensor | None = None, start: Tensor | None = None
    ) -> Tensor:
        """`lengths`, int64 [batch], are the valid rows of every sample; None: all. `start` is there
        for mixers that read it (SparseMix)."""
        return self.out(self.mix(self.value(x), lengths))

    def mix(self, v: Tensor, lengths: Tensor | None) -> Tensor:
        """From values, [batch, length, inner], to mixed ones of that shape."""
        raise NotImplementedError(f"{type(self).__name__} has no operator: define mix(v, lengths)")
