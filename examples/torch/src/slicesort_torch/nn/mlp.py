# SPDX-License-Identifier: Apache-2.0
"""Two linear layers with an activation between them."""
from torch import nn

from .conventions import Conventions, require_int


class MLP(nn.Sequential):
    """y = W2 drop(f(W1 x + b1)) + b2, row by row: [.., inputs] to [.., outputs].

    The parameters are 0.weight, 0.bias, 2.weight and 2.bias."""

    def __init__(
        self, inputs: int, hidden: int, outputs: int, rules: Conventions = Conventions()
    ) -> None:
        for name, size in (("inputs", inputs), ("hidden", hidden), ("outputs", outputs)):
            require_int(name, size)
        super().__init__(
            rules.linear(inputs, hidden),
            nn.Sequential(rules.nonlinearity(), nn.Dropout(rules.dropout)),
            rules.linear(hidden, outputs),
        )
