# SPDX-License-Identifier: Apache-2.0
"""Forms of linear recurrences in PyTorch. x is [batch, length, channels]; decays a and weights w are [states, channels],
those of the forward direction before those of the reverse one."""
import torch
from torch._higher_order_ops.associative_scan import associative_scan

CHUNK = 64


def exponentials(a, length):
    """The powers 0 .. length - 1 of decays, along a new last axis."""
    return torch.exp(torch.log(a)[..., None] * torch.arange(length))


def convolve(x, kernel):
    """Multiplies spectra of the kernel's length, at least twice that of x. MEGA's code takes 4 N for both directions."""
    product = torch.fft.rfft(x.mT, n=kernel.size(1)) * torch.fft.rfft(kernel)
    return torch.fft.irfft(product, n=kernel.size(1))[..., :x.size(1)].mT


def kernel_of_both(forward, reverse):
    """[channels, 2 length]: lags 0 .. length - 1, a zero, and lags 1 - length .. -1."""
    return torch.cat([forward[:, :1] + reverse[:, :1], forward[:, 1:], forward.new_zeros(forward.size(0), 1), reverse[:, 1:].flip(1)], 1)


def sum_of_states(a, w, length):
    """The weights of lags 0 .. length - 1: [channels, length]."""
    return torch.einsum("scn,sc->cn", exponentials(a, length), w)


def make_kernel(a, w, length, directions=2):
    if directions == 1:
        return torch.nn.functional.pad(sum_of_states(a, w, length), (0, length))
    return kernel_of_both(*(sum_of_states(*part, length) for part in zip(a.chunk(2), w.chunk(2))))


def by_fft(x, a, w, directions=2):
    return convolve(x, make_kernel(a, w, x.size(1), directions))


def in_both_directions(one_direction):
    def call(x, a, w):
        (a_forward, a_reverse), (w_forward, w_reverse) = a.chunk(2), w.chunk(2)
        return one_direction(x, a_forward, w_forward) + one_direction(x.flip(1), a_reverse, w_reverse).flip(1)
    return call


def by_cumsum(x, a, w):
    """`s[n] = a^n cumsum(a^-n x)` within chunks of 64 rows, because a^-n overflows; a loop passes the states on."""
    powers = exponentials(a, CHUNK + 1).movedim(2, 0)  # [row, state, channel]
    inverse = exponentials(1 / a, CHUNK).movedim(2, 0)
    sums = (x.unflatten(1, (-1, CHUNK))[:, :, :, None] * inverse).cumsum(2) * powers[:CHUNK]
    state, before = torch.zeros_like(sums[:, 0, 0]), []
    for behind in sums[:, :, -1].unbind(1):
        before.append(state)
        state = powers[CHUNK] * state + behind
    states = sums + powers[1:] * torch.stack(before, 1)[:, :, None]
    return torch.einsum("bgnsc,sc->bgnc", states, w).flatten(1, 2)


def compose(first, second):
    """Two steps `s -> a s + x` as one."""
    return second[0] * first[0], second[0] * first[1] + second[1]


def by_associative_scan(x, a, w):
    rows = x[:, :, None].expand(-1, -1, a.size(0), -1)
    states = associative_scan(compose, (a.expand(rows.shape).contiguous(), rows.contiguous()), 1, combine_mode="generic")[1]
    return torch.einsum("bnsc,sc->bnc", states, w)


def by_loop(x, a, w):
    state, rows = 0, []
    for row in x.unbind(1):
        state = a * state + row[:, None]
        rows.append((w * state).sum(1))
    return torch.stack(rows, 1)
