# SPDX-License-Identifier: Apache-2.0
"""Multi-head self-attention in linear time: Linear Transformer, Performer, cosFormer and Random
Feature Attention, which differ in their feature maps and divisors."""
import math

import torch
from torch import Tensor, nn

from .. import functional as F
from .conventions import require_int
from .multi_head import MultiHead


class LinearAttention(MultiHead):
    """y[i] = W_O sum_j <phi(q[i]), phi(k[j])> v[j] / (sum_j <phi(q[i]), phi(k[j])> + 1e-6) with
    phi(x) = elu(x) + 1 (Transformers are RNNs, eq. 4 to 7): [batch, length, width] to the same shape.

    causal: True: query i reads keys 0 .. i.
    Other arguments as in `MultiHead`. A derived class may set `feature` and `divisor`, policies of
    `functional.linear_attention`.
    """

    feature = "elu_plus_one"
    divisor = "sum_plus"

    def __init__(self, width: int, heads: int = 1, causal: bool = False, **projections) -> None:
        super().__init__(width, heads, **projections)
        self.causal = causal

    def random_rows(self) -> Tensor | None:
        """Returns the matrix w of random features, [heads or 1, features, channels]."""
        return None

    def attend(self, q: Tensor, k: Tensor, v: Tensor, lengths: Tensor | None) -> Tensor:
        return F.linear_attention(
            q,
            k,
            v,
            self.random_rows(),
            feature=self.feature,
            divisor=self.divisor,
            direction="causal" if self.causal else "noncausal",
            lengths=lengths,
            query_lengths=lengths,
        )

    def extra_repr(self) -> str:
        return f"heads={self.heads}, causal={self.causal}"


class CosformerAttention(LinearAttention):
    """`LinearAttention` with the weights relu(q[i]) relu(k[j])^T cos(pi (i - j) / (2 L)), where L is
    the number of valid rows, and a divisor of at least 1e-6 (cosFormer, eq. 10)."""

    feature = "cosine_reweighted"
    divisor = "at_least"


def orthogonal_rows(rows: int, channels: int) -> Tensor:
    """Returns [rows, channels] of rows that are orthogonal in blocks of `channels` rows. Each row by
    itself is distributed like normal numbers (Performer, section 2.4)."""
    blocks = torch.empty(rows, channels).split(channels)
    directions = torch.cat([nn.init.orthogonal_(block) for block in blocks])
    return directions * torch.randn(rows, channels).norm(dim=1, keepdim=True)


class PerformerAttention(LinearAttention):
    """`LinearAttention` with positive random features (FAVOR+), which estimate softmax attention
    (Performer, lemma 1).

    random_features: the number of features; defaults to D ln D for D channels per head.
    The buffer `projection_matrix`, [random_features, D], is shared by the heads. It is drawn from
    torch's generator, and saved with the parameters.
    """

    feature = "random_exp"
    divisor = "sum_plus{0}"

    def __init__(
        self,
        width: int,
        heads: int = 1,
        causal: bool = False,
        random_features: int | None = None,
        **projections,
    ) -> None:
        super().__init__(width, heads, causal, **projections)
        if random_features is None:
            random_features = max(1, int(self.head_channels * math.log(self.head_channels)))
        require_int("random_features", random_features)
        self.register_buffer(
            "projection_matrix", orthogonal_rows(random_features, self.head_channels)
        )

    @torch.no_grad()
    def redraw_projection_matrix(self) -> None:
        """Draws new random features, in place."""
        self.projection_matrix.copy_(orthogonal_rows(*self.projection_matrix.shape))

    def random_rows(self) -> Tensor:
        return self.projection_matrix[None]

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, random_features={len(self.projection_matrix)}"


class RandomFeatureAttention(LinearAttention):
    """`LinearAttention` with random Fourier features of normalized rows, which estimate softmax
    attention of normalized rows (Random Feature Attention, eq. 4). As in the published code,
    features are scaled by 0.1, and divisors have 1 added.

    random_features: the rows of w, each of which gives a sine and a cosine.
    The buffer `random_matrices`, [heads, random_features, channels], has normal numbers from
    torch's generator. The parameter `sigma`, [heads, 1, channels], is their standard deviation.
    """

    feature = "random_fourier{1e-3, 0.1}"
    divisor = "sum_plus{1}"

    def __init__(
        self,
        width: int,
        heads: int = 1,
        causal: bool = False,
        random_features: int = 64,
        **projections,
    ) -> None:
        super().__init__(width, heads, causal, **projections)
        require_int("random_features", random_features)
        self.register_buffer(
            "random_matrices", torch.randn(heads, random_features, self.head_channels)
        )
        self.sigma = nn.Parameter(torch.ones(heads, 1, self.head_channels))

    def random_rows(self) -> Tensor:
        return self.sigma * self.random_matrices

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, random_features={self.random_matrices.shape[1]}"
