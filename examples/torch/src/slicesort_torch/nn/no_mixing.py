# SPDX-License-Identifier: Apache-2.0
"""The control experiment: a mixer that mixes no rows."""
from torch import Tensor

from .conventions import Conventions
from .mlp import MLP


class NoMixing(MLP):
    """y = mlp(x), row by row: [batch, length, width] to the same shape. Only the pooling and the
    head of its model combine rows."""

    def __init__(self, width: int, hidden: int = 32, rules: Conventions = Conventions()) -> None:
        super().__init__(width, hidden, width, rules)

    def forward(
        self, x: Tensor, lengths: Tensor | None = None, start: Tensor | None = None
    ) -> Tensor:
        return super().forward(x)
