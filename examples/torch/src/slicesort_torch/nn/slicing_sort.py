# SPDX-License-Identifier: Apache-2.0
"""Sliceformer's mixer."""
from torch import Tensor

from .. import functional as F
from .conventions import require_policy
from .projected import Projected


class SlicingSort(Projected):
    """Sorts each channel of the values along the rows, y = W_O Sort_col(x W_V) (Sliceformer, eq. 4,
    and the linear layer after it): [batch, length, width] to the same shape.

    order: `ascending`, `descending`, `half_half{heads}`, `interleave{layer, layers}` (eq. 5 and 6,
        layers from 1) or `haar_interleave{level, heads}` (the published code).
    Other arguments as in `Projected`.
    """

    def __init__(self, width: int, order: str = "ascending", **projections) -> None:
        super().__init__(width, **projections)
        require_policy("order", order, self.inner)
        self.order = order

    def mix(self, v: Tensor, lengths: Tensor | None) -> Tensor:
        return F.slicing_sort(v, order=self.order, lengths=lengths)

    def extra_repr(self) -> str:
        return f"order={self.order!r}"
