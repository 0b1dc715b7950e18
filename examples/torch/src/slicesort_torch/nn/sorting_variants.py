# SPDX-License-Identifier: Apache-2.0
"""Variants and ablations of slicing-sort, from the Sliceformer paper."""
import torch
from torch import Tensor

from .. import functional as F
from .conventions import require_int, require_one_of
from .projected import Projected


class MultiPermutation(Projected):
    """The mean of the first `components` powers of each channel's sorting permutation (Sliceformer,
    first version): [batch, length, width] to the same shape."""

    def __init__(self, width: int, components: int = 2, **projections) -> None:
        super().__init__(width, **projections)
        self.components = require_int("components", components)

    def mix(self, v: Tensor, lengths: Tensor | None) -> Tensor:
        accumulator = torch.float64 if v.dtype is torch.float64 else torch.float32
        weights = torch.full((self.components,), 1 / self.components, dtype=accumulator, device=v.device)
        return F.multi_permutation(v, weights, lengths=lengths)

    def extra_repr(self) -> str:
        return f"components={self.components}"


class MaxExchange(Projected):
    """Exchanges the maximum of each channel with row 0 (Sliceformer): [batch, length, width] to the
    same shape."""

    def mix(self, v: Tensor, lengths: Tensor | None) -> Tensor:
        return F.max_exchange(v, lengths=lengths)


class Shuffle(Projected):
    """Shuffles rows in an order that depends only on the seed, the same at every step and in every
    layer: [batch, length, width] to the same shape.

    form: `per_channel`, a permutation per channel (Sliceformer's code), or `shared_by_channels`,
        one permutation of whole rows (its paper).
    """

    def __init__(self, width: int, form: str = "per_channel", seed: int = 0, **projections) -> None:
        super().__init__(width, **projections)
        self.form, self.seed = require_one_of("form", form, ("per_channel", "shared_by_channels")), seed

    def mix(self, v: Tensor, lengths: Tensor | None) -> Tensor:
        return F.shuffle(v, seed=self.seed, form=self.form, lengths=lengths)

    def extra_repr(self) -> str:
        return f"form={self.form!r}, seed={self.seed}"
