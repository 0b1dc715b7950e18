# SPDX-License-Identifier: Apache-2.0
"""The fastest known implementations of linear attention in PyTorch, with the features and divisors of the bench cases
(bench/cases/linear_attention_jobs.hpp). tests/torch/check_linear_attention.py compares their results and gradients with the library.
Requires torch."""
import math

import torch
from torch.nn.functional import elu, pad

TILE = 64  # rows


def rows_of_w(feature: str, channels: int) -> int:
    """Returns the number of random features for heads of that many channels, as in the bench."""
    return {"random_exp": max(1, int(channels * math.log(channels))), "random_fourier": channels}.get(feature, 0)


def features(name: str, x, w, are_keys: bool):
    """Computes the features of x [B, H, N, D]. random_exp subtracts one maximum of all keys, like published code, even if causal; the library
    uses the running maximum there (docs/operators/linear_attention.md)."""
    if name == "elu_plus_one":
        return elu(x) + 1
    if name == "cosine_reweighted":
        n = x.shape[2]
        angle = (math.pi / 2 / n * torch.arange(1, n + 1, dtype=torch.float64, device=x.device))[:, None]
        x = torch.relu(x)
        return torch.cat([x * torch.cos(angle).to(x.dtype), x * torch.sin(angle).to(x.dtype)], -1)
    if name == "random_fourier":
        projections = (x / (x.norm(dim=-1, keepdim=True) + 1e-3)) @ w.mT
        return w.shape[0] ** -0.5 * torch.cat([torch.sin(projections), torch.cos(projections)], -1)
    z = x * x.shape[-1] ** -0.25
    projections = z @ w.mT
    maximum = projections.amax((-1, -2) if are_keys else -1, keepdim=True).detach()
    return w.shape[0] ** -0.5 * (torch.exp(projections - (z * z).sum(-1, keepdim=True) / 2 - maximum) + 1e-6)


def append_ones(v):
    """Appends a column of ones to v. Their weighted sum is the divisor."""
    return torch.cat([v, v.new_ones(v.shape[:-1] + (1,))], -1)


def matmul(phi_q, phi_k, v):
    """Computes noncausal numerators and divisors."""
    return phi_q @ (phi_k.mT @ v), (phi_q @ phi_k.sum(2)[..., None])[..., 0]


def einsum(phi_q, phi_k, v):
    """Computes the same as in the papers' code; slower in training."""
    sums = torch.einsum("bhnr,bhnd->bhrd", phi_k, v)
    return torch.einsum("bhnr,bhrd->bhnd", phi_q, sums), torch.einsum("bhnr,bhr->bhn", phi_q, phi_k.sum(2))


def loop(phi_q, phi_k, v):
    """Computes causal numerators and divisors tile by tile, with running sums."""
    sums, tiles_y = 0, []
    for phi_q_tile, phi_k_tile, v_tile in zip(phi_q.split(TILE, 2), phi_k.split(TILE, 2), append_ones(v).split(TILE, 2)):
        y = (phi_q_tile @ phi_k_tile.mT).tril() @ v_tile
        tiles_y.append(y + phi_q_tile @ sums if tiles_y else y)
        sums = sums + phi_k_tile.mT @ v_tile
    y = torch.cat(tiles_y, 2)
    return y[..., :-1], y[..., -1]


def tiles(phi_q, phi_k, v):
    """Computes causal numerators and divisors of all tiles at once, with a cumulative sum over the tiles."""
    n = phi_q.shape[2]
    if n % TILE:
        phi_q, phi_k, v = (pad(x, (0, 0, 0, -n % TILE)) for x in (phi_q, phi_k, v))
    phi_q, phi_k, v = (x.unflatten(2, (-1, TILE)).contiguous() for x in (phi_q, phi_k, v))
    v = append_ones(v)
    sums_before = pad((phi_k.mT @ v).cumsum(2)[:, :, :-1], (0, 0, 0, 0, 1, 0))
    y = ((phi_q @ phi_k.mT).tril() @ v + phi_q @ sums_before).flatten(2, 3)[:, :, :n]
    return y[..., :-1], y[..., -1]


IMPLEMENTATIONS = {"both": {"torch_matmul": matmul, "torch_einsum": einsum}, "causal": {"torch_loop": loop, "torch_tiles": tiles}}


def linear_attention(implementation, feature: str, q, k, v, w):
    y, divisors = implementation(features(feature, q, w, False), features(feature, k, w, True), v)
    if feature == "cosine_reweighted":
        divisors = divisors.clamp(min=1e-6)
    elif feature != "random_exp":
        divisors = divisors + (1 if feature == "random_fourier" else 1e-6)
    return y / divisors[..., None]
