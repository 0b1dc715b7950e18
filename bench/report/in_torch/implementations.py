# SPDX-License-Identifier: Apache-2.0
"""PyTorch implementations of the arena entries: from the papers' code, and scaled dot-product attention. Requires torch."""
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from ..results import Case
from .linear_attention import IMPLEMENTATIONS as LINEAR_IMPLEMENTATIONS, linear_attention, rows_of_w

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}


@dataclass
class Implementation:
    """A computation: `call` returns the output, `leaves` are the tensors with gradients."""
    name: str
    leaves: list
    call: Callable


def signed_sort(case: Case, x) -> Implementation:
    """Sorts a quarter of the channels in descending order, like order::interleave{1, 3}."""
    signs = torch.ones(case.c, dtype=x.dtype, device=x.device)
    signs[::4] = -1
    return Implementation("torch_signed_sort", [x], lambda: torch.sort(x * signs, dim=1, stable=True).values * signs)


def exchange_maximum(x) -> Implementation:
    def call():
        top, row = x.max(dim=1, keepdim=True)
        return torch.cat([top, x.scatter(1, row, x[:, :1])[:, 1:]], dim=1)
    return Implementation("torch_max_scatter", [x], call)


def sort_and_gather(x) -> Implementation:
    def call():
        values, rows = torch.sort(x, dim=1, stable=True)
        return (values + values.gather(1, rows)) / 2
    return Implementation("torch_sort_gather", [x], call)


def shift_and_sort(case: Case, x) -> Implementation:
    """Shifts by indexing, then orders groups like the reference channel."""
    shift_per_channel = -(-case.n // case.c)
    shifts = torch.arange(1, case.c + 1, device=x.device) * shift_per_channel % case.n
    shifts[0] = 0
    rows = ((torch.arange(case.n, device=x.device)[:, None] - shifts[None, :]) % case.n).expand(case.b, -1, -1).contiguous()
    complete_rows = case.n // case.rows_per_group * case.rows_per_group

    def order(part, rows_per_group: int):
        groups = part.reshape(case.b, part.shape[1] // rows_per_group, rows_per_group, case.c)
        ranks = groups[..., :1].argsort(dim=2, stable=True).argsort(dim=2)
        return torch.sort(groups, dim=2, stable=True).values.gather(2, ranks.expand_as(groups)).reshape(part.shape)

    def call():
        shifted = x.gather(1, rows)
        if complete_rows in (0, case.n):
            return order(shifted, min(case.rows_per_group, case.n))
        # The last group has fewer rows.
        complete, last = shifted[:, :complete_rows], shifted[:, complete_rows:]
        return torch.cat([order(complete, case.rows_per_group), order(last, case.n - complete_rows)], dim=1)
    return Implementation("torch_gather_sort", [x], call)


def mix_implementations(case: Case, x) -> Iterator[Implementation]:
    """Yields a chain of sparse factors with residuals, by torch.roll and by gathered rows."""
    topology, _, count = case.policy.partition("-per_factor-M:")
    factors = int(count)

    def offsets(m: int) -> list[int]:
        return [0] + [1 << k for k in range(factors)] if topology == "chord" else [0, 1 << m, -(1 << m)]

    links = len(offsets(0))
    w = (torch.randn((factors, case.b, case.n, links), device=x.device) / links).to(x.dtype)
    rows = torch.arange(case.n, device=x.device)
    columns = [torch.stack([(rows + o) % case.n for o in offsets(m)], dim=1) for m in range(factors)]

    def roll_rows():
        v = x
        for m in range(factors):
            v = v + sum(w[m, :, :, k, None] * torch.roll(v, -o, 1) for k, o in enumerate(offsets(m)))
        return v

    def gather_rows():
        v = x
        for m in range(factors):
            v = v + torch.einsum("bnk,bnkc->bnc", w[m], v[:, columns[m]])
        return v

    yield Implementation("torch_roll", [x, w], roll_rows)
    yield Implementation("torch_gather", [x, w], gather_rows)


def dense_mask(mask: str, i):
    """Returns a boolean mask [queries, keys], as in bench/cases/attention_masks.hpp."""
    query, key = i[:, None], i[None, :]
    window = (key >= query - 255) & (key <= query + 256)
    blocks = key // 50 == query // 50
    fixed = blocks | (key % 50 >= 40)
    return {"window": window, "window_globals": window | (query < 8) | (key < 8), "block_local": blocks,
            "strided": (query - key) % -(-len(i) // 50) == 0, "fixed": fixed, "causal_fixed": (key <= query) & (fixed | (key % 50 == 0))}[mask]


def attention_implementations(case: Case) -> Iterator[Implementation]:
    """Yields nothing for BigBird, whose random blocks the library draws, for a relative bias and for dropout."""
    algorithm, mask, heads = case.policy.replace("-H:", "-").split("-")
    heads = int(heads)
    if mask in ("bigbird", "relative", "dropout"):
        return
    q, k, v = (make_tensor(case).view(case.b, case.n, heads, case.c // heads).transpose(1, 2) for _ in range(3))
    attn_mask = dense_mask(mask, torch.arange(case.n, device=q.device)) if mask not in ("full", "causal") else None

    def call(*backends):
        with sdpa_kernel(list(backends)):
            return scaled_dot_product_attention(q, k, v, attn_mask=attn_mask, is_causal=mask == "causal")
    if mask == "causal":
        yield Implementation("torch_sdpa_causal", [q, k, v], lambda: call(SDPBackend.FLASH_ATTENTION))
    elif attn_mask is not None:
        fused = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
        yield Implementation("torch_sdpa_masked", [q, k, v], lambda: call(*fused))
    elif algorithm in ("streaming", "native"):
        yield Implementation("torch_sdpa_flash", [q, k, v], lambda: call(SDPBackend.FLASH_ATTENTION))
    else:
        yield Implementation("torch_sdpa_math", [q, k, v], lambda: call(SDPBackend.MATH))


def pointwise_attention(case: Case) -> Implementation:
    """Multiplies by the stored map of a function of the scores."""
    function, _, heads = case.policy.replace("-H:", "-").split("-")
    q, k, v = (make_tensor(case).view(case.b, case.n, int(heads), -1).transpose(1, 2) for _ in range(3))
    scale = q.size(-1) ** -0.5

    def laplace(s):
        return torch.special.ndtr((s - 0.707107) / 0.282095)

    def squared_relu(s):
        return torch.relu(s).square()
    weight = {"laplace": laplace, "squared_relu": squared_relu}[function]
    return Implementation("torch_pointwise", [q, k, v], lambda: weight(scale * q @ k.mT) @ v)


def convolve_by_fft(case: Case, x) -> Implementation:
    """Multiplies spectra of 2 N rows. The kernel of all lags is a sum over the states, of one direction or of both."""
    states, directions = (16, 2) if case.subject == "decaying_sum_mega" else (1, 1)
    shape = (directions, states, case.c, 1)
    a, w = 0.01 + 0.98 * torch.rand(shape, device=x.device), torch.rand(shape, device=x.device) - 0.5
    lags = torch.arange(case.n, device=x.device)

    def call():
        kernels = (w * torch.exp(torch.log(a) * lags)).sum(1)  # [directions, channels, lags]
        spectrum = torch.fft.rfft(kernels, n=2 * case.n)
        total = spectrum[0] if directions == 1 else spectrum[0] + spectrum[1].conj()
        return torch.fft.irfft(torch.fft.rfft(x.mT.float(), n=2 * case.n) * total, n=2 * case.n)[..., :case.n].mT.to(x.dtype)
    return Implementation("torch_fft", [x, a, w], call)


def linear_implementations(case: Case) -> Iterator[Implementation]:
    feature, direction, heads = case.policy.replace("-H:", "-").split("-")
    d = case.c // int(heads)
    q, k, v = (make_tensor(case).view(case.b, case.n, int(heads), d).transpose(1, 2) for _ in range(3))
    w = torch.randn((rows_of_w(feature, d), d), device=q.device).to(q.dtype)
    for name, implementation in LINEAR_IMPLEMENTATIONS[direction].items():
        yield Implementation(name, [q, k, v], partial(linear_attention, implementation, feature, q, k, v, w))


def make_tensor(case: Case):
    device = "cuda" if case.backend == "cuda" else "cpu"
    return torch.randn((case.b, case.n, case.c), device=device).to(DTYPES[case.dtype])


def implementations_of(case: Case) -> Iterator[Implementation]:
    if case.subject == "softmax_attention":
        yield from attention_implementations(case)
        return
    if case.subject == "linear_attention":
        yield from linear_implementations(case)
        return
    if case.subject == "pointwise_attention":
        yield pointwise_attention(case)
        return
    x = make_tensor(case)
    if case.subject.startswith("decaying_sum"):
        yield convolve_by_fft(case, x)
    elif case.subject == "sparse_mix":
        yield from mix_implementations(case, x)
    elif case.subject == "csp":
        yield shift_and_sort(case, x)
    elif case.subject == "max_exchange":
        yield exchange_maximum(x)
    elif case.subject == "multi_permutation":
        yield sort_and_gather(x)
    elif case.policy == "interleave":
        yield signed_sort(case, x)
    else:
        yield Implementation("torch_stable_sort", [x], lambda: torch.sort(x, dim=1, stable=True).values)
        yield Implementation("torch_sort", [x], lambda: torch.sort(x, dim=1).values)

