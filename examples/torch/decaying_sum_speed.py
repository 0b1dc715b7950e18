# SPDX-License-Identifier: Apache-2.0
"""Compares decaying_sum with the forms of MEGA's moving average in torch: 16 states in both directions, float32, one
thread. `python examples/torch/decaying_sum_speed.py` takes some minutes. Results are compared first; processor times
are medians, all forms interleaved, so that a busy machine affects all."""
import argparse
import platform
import statistics
import time

import torch
from recipe_speed.recurrences import by_associative_scan, by_cumsum, by_fft, by_loop, convolve, in_both_directions, make_kernel
from slicesort_torch import functional as F
from speed import make_step, measure_rounds

STATES, CHANNELS = 16, 64
STATE_NUMBERS = 2 ** 23  # limit of the forms that store every state


def by_library(x, a, w):
    return F.decaying_sum(x, a, w, direction="both")


FORMS = {"slicesort": by_library, "FFT": by_fft, "cumulative sums": in_both_directions(by_cumsum),
         "associative scan": in_both_directions(by_associative_scan), "loop": in_both_directions(by_loop)}
STORE_NO_STATES = ("slicesort", "FFT")


def make_inputs(batch, length):
    torch.manual_seed(0)
    a = 1 - torch.rand(2 * STATES, CHANNELS).mul(0.6) * torch.rand(2 * STATES, CHANNELS)
    return [torch.randn(batch, length, CHANNELS), a.clamp(max=0.9999), torch.randn(2 * STATES, CHANNELS) / STATES ** 0.5]


def check(call, tensors, dy):
    """Compares the result and the gradients with the library's in float64, relative to the largest element of each."""
    results = []
    for function, dtype in ((call, torch.float32), (by_library, torch.float64)):
        leaves = [x.to(dtype).requires_grad_() for x in tensors]
        y = function(*leaves)
        results.append([y.detach(), *torch.autograd.grad(y, leaves, dy.to(dtype))])
    for actual, expected in zip(*results):
        difference = ((actual - expected).abs().max() / expected.abs().max()).item()
        if not difference < 1e-3:
            raise SystemExit(f"results differ by {difference:.1e}")


def print_rows(batch, length, seconds):
    tensors = make_inputs(batch, length)
    dy = torch.randn_like(tensors[0])
    forms = [FORMS[name] for name in FORMS if name in STORE_NO_STATES or batch * length * STATES * CHANNELS <= STATE_NUMBERS]
    for call in forms:
        check(call, tensors, dy)

    def forward(call, *arguments):
        def run():
            with torch.inference_mode():
                call(*arguments)
        return run
    stored = forward(convolve, tensors[0], make_kernel(*tensors[1:], length))
    for name, calls in (("forward", [*(forward(call, *tensors) for call in forms), stored]),
                        ("forward + backward", [make_step(call, tensors, dy) for call in forms])):
        rounds = measure_rounds(*calls, min_seconds=seconds, clock=time.process_time)
        times = [f"{1e3 * statistics.median(samples):.3g}" for samples in rounds]
        ratios = [f" ({statistics.median(theirs / ours for ours, theirs in zip(rounds[0], samples)):.1f})" for samples in rounds[1:]]
        cells = [a + b for a, b in zip(times, ["", *ratios])]
        last = [cells.pop()] if name == "forward" else [""]
        cells += [""] * (len(FORMS) - len(cells)) + last
        print(f"| [{batch}, {length}, {CHANNELS}] | {name} | {' | '.join(cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lengths", type=int, nargs="*", default=[1024, 4096, 16384], metavar="LENGTH", help="multiples of 64")
    parser.add_argument("--seconds", type=float, default=0.5, help="of each form, forward and of a step")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, {platform.machine()}, {torch.backends.cpu.get_cpu_capability()}, {STATES} states in both directions; "
          f"ms (times ours)\n\n| [batch, N, channels] | pass | {' | '.join(FORMS)} | FFT, kernel stored |\n" + "|---" * (len(FORMS) + 3) + "|")
    for length in arguments.lengths:
        for batch in (1, 8, 32):
            print_rows(batch, length, arguments.seconds)


if __name__ == "__main__":
    main()
