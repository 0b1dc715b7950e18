# SPDX-License-Identifier: Apache-2.0
"""Paramixer's mixer: a chain of sparse factors whose weights are computed from the embedding."""
import torch
from torch import Tensor, nn

from .. import functional as F
from .conventions import Conventions, require_int, require_one_of, require_policy, require_rows
from .mlp import MLP


def factors_of(length: int) -> int:
    """Returns ceil(log2 length), the number of factors that connects every row to every other."""
    return max(length - 1, 0).bit_length()


class FactorWeights(nn.Sequential):
    """The MLPs f_m of all factors: [batch, length, width] to [factors, batch, length, links]. Layer
    `0` is the first layer of all of them, `2.m` the second layer of factor m."""

    def __init__(
        self, width: int, hidden: int, factors: int, links: int, rules: Conventions
    ) -> None:
        super().__init__(
            rules.linear(width, factors * hidden),
            rules.nonlinearity(),
            nn.ModuleList(rules.linear(hidden, links) for _ in range(factors)),
        )

    def forward(self, rows: Tensor) -> Tensor:
        first, nonlinearity, second = self
        hidden = nonlinearity(first(rows)).chunk(len(second), dim=-1)
        return torch.stack([layer(x) for layer, x in zip(second, hidden)])


class SparseMix(nn.Module):
    """y = (I + W_{M-1}) .. (I + W_0) g(x) (Paramixer, eq. 3 to 6). Row i of the sparse factor W_m is
    f_m(x0_i), where f_m and g are MLPs with one hidden layer, and x0 is the model's embedding:
    [batch, length, width] to the same shape.

    length: the maximum number of rows, which determines the number of factors. Longer inputs raise
        an error, since their rows would not all be connected.
    topology: the linked rows: `chord`, `chord{links}`, `cdil{half}` or `offsets{..}`.
    hidden: hidden width of f_m and g.
    factors: None: ceil(log2 length).
    residual: the input that a factor adds: `per_factor` (above), `none` or `initial`.
    checkpoint_every: interval of the states saved for backward, which recomputes the others.
    """

    def __init__(
        self,
        width: int,
        length: int,
        topology: str = "chord",
        hidden: int = 32,
        factors: int | None = None,
        residual: str = "per_factor",
        checkpoint_every: int = 1,
        rules: Conventions = Conventions(),
    ) -> None:
        super().__init__()
        self.length = require_int("length", length)
        self.factors = factors_of(length) if factors is None else factors
        if self.factors < 1:
            raise ValueError(f"{self.factors} factors for {length} rows: there must be at least 1")
        require_one_of("residual", residual, ("per_factor", "none", "initial"))
        require_int("checkpoint_every", checkpoint_every, minimum=0)
        self.topology, self.residual, self.checkpoint_every = topology, residual, checkpoint_every
        self.value = MLP(width, hidden, width, rules)
        links = require_policy("topology", topology, self.factors)
        self.weights = FactorWeights(width, hidden, self.factors, links, rules)

    def forward(
        self, x: Tensor, lengths: Tensor | None = None, start: Tensor | None = None
    ) -> Tensor:
        """`start` is the embedding x0; None: x, as in the first layer. `lengths`, int64 [batch]."""
        require_rows(x.shape[1], self.length)
        return F.sparse_mix(
            self.value(x),
            self.weights(x if start is None else start),
            topology=self.topology,
            residual=self.residual,
            checkpoint_every=self.checkpoint_every,
            lengths=lengths,
        )

    def extra_repr(self) -> str:
        return f"topology={self.topology!r}, factors={self.factors}, residual={self.residual!r}"
