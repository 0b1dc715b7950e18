# SPDX-License-Identifier: Apache-2.0
"""The fastest known implementations of linear attention in PyTorch, with the features and divisors of the bench's cases
(bench/cases/linear_attention_jobs.hpp). tests/torch/check_linear_attention.py compares results and gradients with the library's.
Requires torch."""
import math

import torch
from torch.nn.functional import elu, pad

TILE = 64  # rows


def rows_of_w(feature: str, channels: int) -> int:
    """Number of random features for heads of that many channels, as in the bench."""
    return {"random_exp": max(1, int(channels * math.log(channels))), "random_fourier": channels}.get(feature, 0)


def features(name: str, x, w, keys: bool):
    """Features of x [B, H, N, D]. random_exp subtracts one maximum of all keys, like published code, even if causal; the library
    uses the running maximum there (docs/operators/linear_attention.md)."""
    if name == "elu_plus_one":
        return elu(x) + 1
    if name == "cosine_reweighted":
        n = x.shape[2]
        angle = (math.pi / 2 / n * torch.arange(1, n + 1, dtype=torch.float64, device=x.device))[:, None]
        x = torch.relu(x)
        return torch.cat([x * torch.cos(angle).to(x.dtype), x * torch.sin(angle).to(x.dtype)], -1)
    if name == "random_fourier":
        u = (x / (x.norm(dim=-1, keepdim=True) + 1e-3)) @ w.mT
        return w.shape[0] ** -0.5 * torch.cat([torch.sin(u), torch.cos(u)], -1)
    z = x * x.shape[-1] ** -0.25
    u = z @ w.mT
    maximum = u.amax((-1, -2) if keys else -1, keepdim=True).detach()
    return w.shape[0] ** -0.5 * (torch.exp(u - (z * z).sum(-1, keepdim=True) / 2 - maximum) + 1e-6)


def with_ones(v):
    """Appends a column of ones to v, which sums the weights."""
    return torch.cat([v, v.new_ones(v.shape[:-1] + (1,))], -1)


def matmul(a, b, v):
    """Noncausal numerators and divisors."""
    return a @ (b.mT @ v), (a @ b.sum(2)[..., None])[..., 0]


def einsum(a, b, v):
    """Noncausal, as in the papers' code; slower in training."""
    sums = torch.einsum("bhnr,bhnd->bhrd", b, v)
    return torch.einsum("bhnr,bhrd->bhnd", a, sums), torch.einsum("bhnr,bhr->bhn", a, b.sum(2))


def loop(a, b, v):
    """Causal, tile by tile, with running sums."""
    sums, tiles_y = 0, []
    for a_tile, b_tile, v_tile in zip(a.split(TILE, 2), b.split(TILE, 2), with_ones(v).split(TILE, 2)):
        y = (a_tile @ b_tile.mT).tril() @ v_tile
        tiles_y.append(y + a_tile @ sums if tiles_y else y)
        sums = sums + b_tile.mT @ v_tile
    y = torch.cat(tiles_y, 2)
    return y[..., :-1], y[..., -1]


def tiles(a, b, v):
    """Causal, all tiles at once, with a cumulative sum over the tiles."""
    n = a.shape[2]
    if n % TILE:
        a, b, v = (pad(x, (0, 0, 0, -n % TILE)) for x in (a, b, v))
    a, b, v = (x.unflatten(2, (-1, TILE)).contiguous() for x in (a, b, v))
    v = with_ones(v)
    before = pad((b.mT @ v).cumsum(2)[:, :, :-1], (0, 0, 0, 0, 1, 0))
    y = ((a @ b.mT).tril() @ v + a @ before).flatten(2, 3)[:, :, :n]
    return y[..., :-1], y[..., -1]


IMPLEMENTATIONS = {"both": {"torch_matmul": matmul, "torch_einsum": einsum}, "causal": {"torch_loop": loop, "torch_tiles": tiles}}


def linear_attention(sums_of, feature: str, q, k, v, w):
    y, d = sums_of(features(feature, q, w, False), features(feature, k, w, True), v)
    if feature == "cosine_reweighted":
        d = d.clamp(min=1e-6)
    elif feature != "random_exp":
        d = d + (1 if feature == "random_fourier" else 1e-6)
    return y / d[..., None]
