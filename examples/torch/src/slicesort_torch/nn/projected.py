# SPDX-License-Identifier: Apache-2.0
"""A mixer of values: a projection, an operator, and a projection back."""
from torch import Tensor, nn

from .conventions import Conventions, require_int


class Projected(nn.Module):
    """y = W_O op(W_V x): [batch, length, width] to the same shape. A derived class defines the
    operator, `mix`.

    inner: channels of the values; defaults to the width.
    value_bias, out_bias: True adds a bias to the value / output projection.
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
        inner = require_int("width", width) if inner is None else require_int("inner", inner)
        self.inner = inner
        self.value = rules.linear(width, inner, value_bias)
        self.out = rules.linear(inner, width, out_bias)

    def forward(
        self, x: Tensor, lengths: Tensor | None = None, start: Tensor | None = None
    ) -> Tensor:
        """`lengths`, int64 [batch], counts the valid rows of each sample; None: all. Ignores `start`,
        which SparseMix reads."""
        return self.out(self.mix(self.value(x), lengths))

    def mix(self, v: Tensor, lengths: Tensor | None) -> Tensor:
        """Mixes values, [batch, length, inner], to the same shape."""
        raise NotImplementedError(f"{type(self).__name__} has no operator: define mix(v, lengths)")
