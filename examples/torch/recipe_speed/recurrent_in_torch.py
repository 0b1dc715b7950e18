# SPDX-License-Identifier: Apache-2.0
"""Pointwise attention, MEGA and state spaces in PyTorch, as in in_torch.py. Convolutions as long as the sequence are products of
spectra, whose kernels are computed from the parameters in every call, as the recipes compute their decays. Complex numbers and
sorts are not compiled."""
import math

import torch
from recurrences import by_associative_scan, by_cumsum, by_fft, by_loop, convolve, in_both_directions, kernel_of_both
from torch.nn.functional import layer_norm, pad, silu

CHANNELS, STATES, S5_STATES, CHUNK, WINDOW, MEGA_STATES = 64, 16, 64, 128, 64, 16


def compiled(call):
    return torch.compile(call, dynamic=False)


def scores(q, k):
    return q.size(-1) ** -0.5 * q @ k.mT


def laplace(q, k, v):
    return (1 + torch.erf((scores(q, k) - 0.707107) / (0.282095 * math.sqrt(2)))) / 2 @ v


def squared_relu(q, k, v):
    return torch.relu(scores(q, k)).square() @ v


def relative_bias(bias, rows):
    """[1, 1, 1, 2 rows - 1] by distance j - i + rows - 1 -> [rows, rows]"""
    return bias.flatten().unfold(0, rows, 1).flip(0)


def mega_of_rows(z, r, v, gamma, beta, bias):
    q, k = (gamma[0, i] * silu(z) + beta[0, i] for i in range(2))
    return torch.softmax(scores(q, k) + relative_bias(bias, z.size(2)), -1) @ silu(v) * silu(r)


def mega_chunk(z, r, v, gamma, beta, bias):
    z, r, v = (x.unflatten(2, (-1, CHUNK))[0].transpose(0, 1) for x in (z, r, v))
    return mega_of_rows(z, r, v, gamma, beta, bias).flatten(0, 2)[None, None]


def mega_csp(r, v):
    return torch.sort(silu(v), dim=2).values * silu(r)


def as_complex(numbers, *shape):
    """[1, 2 n, 1, channels], real before imaginary parts -> [*shape, channels]"""
    parts = numbers.view(*shape, 2, numbers.size(3))
    return torch.complex(parts[..., 0, :], parts[..., 1, :])


def zero_order_hold(log_step, log_decay, frequency):
    """Returns the exponents of decays and the gains."""
    rate = torch.complex(-torch.exp(log_decay), frequency)
    exponent = torch.exp(log_step) * rate
    return exponent, (torch.exp(exponent) - 1) / rate


def s4d(x, log_step, log_decay, frequency, c, skip):
    exponent, gain = zero_order_hold(log_step[0, :, 0], log_decay[0, :, 0], frequency[0, :, 0])
    powers = torch.exp(exponent[..., None] * torch.arange(x.size(2)))
    kernels = 2 * torch.einsum("dsc,scn->dcn", as_complex(c, 2, exponent.size(0)) * gain, powers).real
    return convolve(x[:, 0], kernel_of_both(*kernels))[:, None] + skip * x


def etsmlp(x, log_rate, log_weight, skip):
    rate = torch.exp(as_complex(log_rate, 2))
    weight = torch.exp(as_complex(log_weight, 2)) * (1 - torch.exp(rate))
    kernels = (weight[..., None] * torch.exp(rate[..., None] * torch.arange(x.size(2)))).real
    return convolve(x[:, 0], kernel_of_both(*kernels))[:, None] + skip * x


def s5(x, log_step, log_decay, frequency, b, c, skip):
    """A complex kernel of each state. An associative scan takes longer."""
    length = x.size(2)
    exponent, gain = zero_order_hold(log_step.flatten(), log_decay.flatten(), frequency.flatten())
    b = gain[:, None] * torch.complex(b[0, 0], b[0, 1])
    z = torch.complex(x[0, 0] @ b.real.T, x[0, 0] @ b.imag.T).T
    powers = torch.exp(exponent[:, None] * torch.arange(length))
    kernels = (pad(powers, (0, length)), torch.cat([powers[:, :1], torch.zeros_like(powers), powers[:, 1:].flip(1)], 1))
    spectrum, y = torch.fft.fft(z, n=2 * length), skip[0, 0] * x[0, 0]
    for kernel, re, im in zip(kernels, c[0, ::2], c[0, 1::2]):
        states = torch.fft.ifft(spectrum * torch.fft.fft(kernel))[:, :length]
        y = y + 2 * (states.real.T @ re.T - states.imag.T @ im.T)
    return y[None, None]


def window_blocks(x):
    """[1, 1, length, channels] -> [1, 1, blocks, 3 * WINDOW, channels]: a block, the one before, and the one after."""
    return pad(x, (0, 0, WINDOW, WINDOW)).unfold(2, 3 * WINDOW, WINDOW).mT


@compiled
def window_attention(q, k, v):
    """Keys i - WINDOW .. i + WINDOW - 1 of query i."""
    blocks = q.size(2) // WINDOW
    query, key = torch.arange(WINDOW)[:, None], torch.arange(3 * WINDOW) - WINDOW
    row = torch.arange(blocks)[:, None, None] * WINDOW + key
    allowed = (key >= query - WINDOW) & (key < query + WINDOW) & (row >= 0) & (row < blocks * WINDOW)
    weights = torch.softmax(scores(q.unflatten(2, (blocks, WINDOW)), window_blocks(k)).masked_fill(~allowed, -torch.inf), -1)
    return (weights @ window_blocks(v)).flatten(2, 3)


def spade(q, k, v, x, *parameters):
    local, whole = window_attention(q, k, v), s4d(x, *parameters[:5])
    return torch.cat([layer_norm(y, (CHANNELS,), weight.flatten(), bias.flatten())
                      for y, weight, bias in ((local, *parameters[5:7]), (whole, *parameters[7:]))], 3)


def of_sums(call, **options):
    """Takes the tensors of layers.cpp: x [batch, 1, length, channels], a and w [1, states, 1, channels]."""
    return lambda x, a, w: call(x[:, 0], a[0, :, 0], w[0, :, 0], **options)[:, None]


ONE_STATE = {"FFT": of_sums(by_fft, directions=1), "cumulative sums": of_sums(by_cumsum), "associative scan": of_sums(by_associative_scan),
             "loop": of_sums(by_loop)}
SUMS = {"decaying_sum": ONE_STATE, "decaying_sum_mega": {"FFT": of_sums(by_fft), "cumulative sums": of_sums(in_both_directions(by_cumsum)),
                                                         "associative scan": of_sums(in_both_directions(by_associative_scan)),
                                                         "loop": of_sums(in_both_directions(by_loop))}}
IMPLEMENTATIONS = {
    "pointwise_laplace": compiled(laplace),
    "pointwise_squared_relu": compiled(squared_relu),
    "mega": compiled(mega_of_rows),
    "mega_chunk": compiled(mega_chunk),
    "mega_csp": mega_csp,
    "s4d": s4d,
    "s5": s5,
    "etsmlp": etsmlp,
    "spade": spade,
}


def rows(length, channels=CHANNELS, batch=1):
    return torch.randn(batch, 1, length, channels)


def numbers(count, channels=CHANNELS, scale=1., mean=0.):
    return scale * torch.randn(1, count, 1, channels) + mean


def s4d_parameters():
    """S4D-Lin: steps of 0.001 to 0.1, rates -1/2 + i pi n."""
    log_step = torch.empty(1, 1, 1, CHANNELS).uniform_(math.log(0.001), math.log(0.1))
    frequency = (math.pi * torch.arange(STATES))[None, :, None, None].repeat(1, 1, 1, CHANNELS)
    return [log_step, torch.full((1, STATES, 1, CHANNELS), math.log(0.5)), frequency, numbers(2 * STATES * 2), numbers(1)]


def make_sums(states, directions, batch, length, channels):
    a = 1 - torch.rand(1, directions * states, 1, channels) * 0.6 * torch.rand(1, directions * states, 1, channels)
    return [rows(length, channels, batch), a.clamp(max=0.9999), numbers(directions * states, channels, states ** -0.5)]


def make_inputs(recipe, length):
    """The inputs of a recipe, all with gradients."""
    if recipe.startswith("pointwise"):
        return [rows(length) for _ in range(3)]
    if recipe in ("mega", "mega_chunk"):
        count = 2 * (CHUNK if recipe == "mega_chunk" else length) - 1
        return [rows(length), rows(length), rows(length), numbers(2), numbers(2, scale=0.25), torch.randn(1, 1, 1, count)]
    if recipe == "mega_csp":  # positive and distinct, so that both libraries find the same order
        return [rows(length), (1 + torch.rand(1, 1, length, CHANNELS).argsort(2)) * (4 / length)]
    if recipe == "s4d":
        return [rows(length), *s4d_parameters()]
    if recipe == "etsmlp":
        log_rate = numbers(4, scale=0.125) + torch.tensor([-3, 2.5, -3, 2.5])[None, :, None, None]
        return [rows(length), log_rate, numbers(4, scale=0.5), numbers(1)]
    if recipe == "s5":
        return [rows(length), numbers(1, S5_STATES, 0.25, -3), numbers(1, S5_STATES, 0.25), numbers(1, S5_STATES, 2),
                torch.randn(1, 2, S5_STATES, CHANNELS) / CHANNELS ** 0.5, torch.randn(1, 4, CHANNELS, S5_STATES) / S5_STATES ** 0.5, numbers(1)]
    return [*(rows(length) for _ in range(4)), *s4d_parameters(), *(numbers(1) for _ in range(4))]
