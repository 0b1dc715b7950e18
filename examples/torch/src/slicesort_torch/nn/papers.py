# SPDX-License-Identifier: Apache-2.0
"""Whole layers as two papers have them."""
from .block import Block
from .conventions import Conventions
from .slicing_sort import SlicingSort
from .sparse_mix import SparseMix


class SliceformerBlock(Block):
    """A Transformer's layer with slicing-sort in the place of attention (Sliceformer, section 3):
    [batch, length, width] to the same.

    hidden: of the MLP; None: twice the width.
    Further arguments are those of `SlicingSort`.
    """

    def __init__(
        self,
        width: int,
        hidden: int | None = None,
        order: str = "ascending",
        kind: str = "pre_norm",
        rules: Conventions = Conventions(),
        **projections,
    ) -> None:
        mixer = SlicingSort(width, order, rules=rules, **projections)
        super().__init__(mixer, width, hidden, kind, rules)


class ParamixerBlock(Block):
    """Paramixer's layer, its mixer and nothing else (Paramixer, section 3 and its code):
    [batch, length, width] to the same. Its conventions are those of that code.

    hidden: of the mixer's MLPs.
    kind: with `pre_norm` or `post_norm` the layer has an MLP of its own, twice as wide as a row.
    Further arguments are those of `SparseMix`.
    """

    def __init__(
        self,
        width: int,
        length: int,
        hidden: int = 32,
        topology: str = "chord",
        kind: str = "bare",
        rules: Conventions = Conventions(weights="torch", activation="gelu"),
        **chain,
    ) -> None:
        mixer = SparseMix(width, length, topology, hidden, rules=rules, **chain)
        super().__init__(mixer, width, None, kind, rules)
