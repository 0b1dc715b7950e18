# SPDX-License-Identifier: Apache-2.0
"""CSP's mixer."""
from torch import Tensor

from .. import functional as F
from .conventions import require_policy
from .projected import Projected


class CSP(Projected):
    """Shifts each channel along the rows, then sorts it within groups of rows into the order of a
    reference channel (CSP, eq. 3 to 5), between the projections of `Projected`:
    [batch, length, width] to the same shape.

    groups: `group_size{rows}` or `group_count{groups}`; one group is a complete sort.
    shift: `none`, `linear`, `linear_step{step}`, `per_head{heads}`, `modular`,
        `power{layer, layers}`, `power_ceil{layer, layers}` (the first layer is 0) or `table{..}`.
    alignment: `reference{channel}`, or an order of `SlicingSort`.
    """

    def __init__(
        self,
        width: int,
        groups: str = "group_size{2}",
        shift: str = "linear",
        alignment: str = "reference{0}",
        **projections,
    ) -> None:
        super().__init__(width, **projections)
        require_policy("groups", groups)
        require_policy("shift", shift, self.inner)
        require_policy("alignment", alignment, self.inner)
        self.groups, self.shift, self.alignment = groups, shift, alignment

    def mix(self, v: Tensor, lengths: Tensor | None) -> Tensor:
        return F.csp(
            v, groups=self.groups, shift=self.shift, alignment=self.alignment, lengths=lengths
        )

    def extra_repr(self) -> str:
        return f"groups={self.groups!r}, shift={self.shift!r}, alignment={self.alignment!r}"
