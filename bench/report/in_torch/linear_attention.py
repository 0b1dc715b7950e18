# SPDX-License-Identifier: Apache-2.0
"""Linear attention in PyTorch, with the features and divisors of the bench's cases (bench/cases/linear_attention_jobs.hpp), in
the fastest forms that were found. tests/torch/check_linear_attention.py holds their numbers and gradients against ours.
Imported where torch is."""
import math

import torch
from torch.nn.functional import elu, pad

TILE = 64  # rows


def rows_of_w(feature: str, channels: int) -> int:
    """Random features of heads of so many channels, as the bench takes them."""
    return {"random_exp": max(1, int(channels * math.log(channels))), "random_fourier": channels}.get(feature, 0)


def features(name: str, x, w, keys: bool):
    """phi of the rows of x, [B, H, N, D]. Of keys, random_exp takes one maximum, also where it is causal, as published code
    does; the library then takes that of the keys so far (docs/operators/linear_attention.md)."""
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
    most = u.amax((-1, -2) if keys else -1, keepdim=True).detach()
    return w.shape[0] ** -0.5 * (torch.exp(u - (z * z).sum(-1, keepdim=True) / 2 - most) + 1e-6)


def with_ones(v):
    """What sums the values sums the weights, too."""
    return torch.cat([v, v.new_ones(v.shape[:-1] + (1,))], -1)


def matmul(a, b, v):
    """Numerators and divisors of queries that look at every key."""
    return a @ (b.mT @ v), (a @ b.sum(2)[..., None])[..., 0]


def einsum(a, b, v):
    """The same as the papers' code has it; training takes longer."""
    sums = torch.einsum("bhnr,bhnd->bhrd", b, v)
    return torch.einsum("bhnr,bhrd->bhnd", a, sums), torch.einsum("bhnr,bhr->bhn", a, b.sum(2))


def loop(a, b, v):
    """Causal, tile by tile, with the sums of the tiles before."""
    sums, found = 0, []
    for a_of, b_of, v_of in zip(a.split(TILE, 2), b.split(TILE, 2), with_ones(v).split(TILE, 2)):
        y = (a_of @ b_of.mT).tril() @ v_of
        found.append(y + a_of @ sums if found else y)
        sums = sums + b_of.mT @ v_of
    y = torch.cat(found, 2)
    return y[..., :-1], y[..., -1]


def tiles(a, b, v):
    """Causal, all tiles at once: the sums of each, and their running sums."""
    n = a.shape[2]
    if n % TILE:
        a, b, v = (pad(x, (0, 0, 0, -n % TILE)) for x in (a, b, v))
    a, b, v = (x.unflatten(2, (-1, TILE)).contiguous() for x in (a, b, v))
    v = with_ones(v)
    before = pad((b.mT @ v).cumsum(2)[:, :, :-1], (0, 0, 0, 0, 1, 0))
    y = ((a @ b.mT).tril() @ v + a @ before).flatten(2, 3)[:, :, :n]
    return y[..., :-1], y[..., -1]


FORMS = {"both": {"torch_matmul": matmul, "torch_einsum": einsum}, "causal": {"torch_loop": loop, "torch_tiles": tiles}}


def linear_attention(sums_of, feature: str, q, k, v, w):
    y, d = sums_of(features(feature, q, w, False), features(feature, k, w, True), v)
    if feature == "cosine_reweighted":
        d = d.clamp(min=1e-6)
    elif feature != "random_exp":
        d = d + (1 if feature == "random_fourier" else 1e-6)
    return y / d[..., None]
