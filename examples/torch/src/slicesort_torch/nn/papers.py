# SPDX-License-Identifier: Apache-2.0
"""The layers of Sliceformer and Paramixer."""
from .block import Block
from .conventions import Conventions
from .slicing_sort import SlicingSort
from .sparse_mix import SparseMix


class SliceformerBlock(Block):
    """A Transformer layer with slicing-sort instead of attention (Sliceformer, section 3):
    [batch, length, width] to the same shape.

    hidden: hidden width of the MLP; defaults to twice the width.
    Further arguments as in `SlicingSort`.
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
    """Paramixer's layer, which is its mixer alone (Paramixer, section 3 and its code):
    [batch, length, width] to the same shape. The default conventions follow that code.

    hidden: hidden width of the mixer's MLPs.
    kind: `pre_norm` and `post_norm` add an MLP, with a hidden width of twice the width.
    Further arguments as in `SparseMix`.
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
