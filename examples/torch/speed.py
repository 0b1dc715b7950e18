# SPDX-License-Identifier: Apache-2.0
"""Compares the operators with torch's on the CPU, with one thread and two: milliseconds of forward and backward, and
the overhead of a call. `python examples/torch/speed.py` takes some minutes on an idle machine. Results are compared
with torch's first; times are medians, ours and torch's interleaved."""
import argparse
import platform
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import torch
from slicesort_torch import argsort, functional as F, top_k

HERE = Path(__file__).parent


def measure_rounds(*calls, min_seconds=0.5, clock=time.perf_counter):
    """Returns the times of each call, after one that is not timed. The calls are interleaved, so that noise affects all
    of them."""
    for call in calls:
        call()
    times = [[] for _ in calls]
    start = time.perf_counter()
    while len(times[0]) < 5 or time.perf_counter() - start < min_seconds * len(calls):
        for call, samples in zip(calls, times):
            start_time = clock()
            call()
            samples.append(clock() - start_time)
    return times


def measure_seconds(*calls):
    """Returns the median time of each call."""
    return [statistics.median(samples) for samples in measure_rounds(*calls)]


def make_step(call, tensors, dy):
    """Returns a function that runs forward and backward."""
    leaves = [x.detach().requires_grad_() for x in tensors]
    return lambda: torch.autograd.grad(call(*leaves), leaves, dy)


def chord_by_roll(x, w):
    for m in range(w.size(0)):
        x = x + sum(w[m, ..., k:k + 1] * (x.roll(-(1 << (k - 1)), 1) if k else x) for k in range(w.size(3)))
    return x


def cdil_by_roll(x, w):
    for m in range(w.size(0)):
        x = x + w[m, ..., :1] * x + w[m, ..., 1:2] * x.roll(-(1 << m), 1) + w[m, ..., 2:] * x.roll(1 << m, 1)
    return x


def print_row(name, library_call, torch_call, tensors, dtype, tolerance):
    tensors = [x.to(dtype) for x in tensors]
    y, expected = library_call(*tensors), torch_call(*tensors)
    torch.testing.assert_close(y.float(), expected.float(), rtol=tolerance, atol=tolerance)
    dy = torch.randn_like(expected)
    forward = measure_seconds(lambda: library_call(*tensors), lambda: torch_call(*tensors))
    with_backward = measure_seconds(make_step(library_call, tensors, dy), make_step(torch_call, tensors, dy))
    cells = [f"{1e3 * a:.1f} | {1e3 * b:.1f} | {b / a:.1f}" for a, b in (forward, with_backward)]
    print(f"| {name} | {str(dtype)[6:]} | {torch.get_num_threads()} | {' | '.join(cells)} |", flush=True)


def print_operators():
    print("| operator and shape | dtype | threads | forward: ours, ms | torch | torch : ours | with backward: ours, ms "
          "| torch | torch : ours |\n|" + "---|" * 9)
    for threads in (1, 2):
        torch.set_num_threads(threads)
        for dtype, tolerance in ((torch.float32, 1e-3), (torch.bfloat16, 0.2)):
            for length in (1024, 4096):
                x = torch.randn(8, length, 256)
                print_row(f"sort, values and indices, [8, {length}, 256]", lambda x: F.slicing_sort_with_permutation(x)[0],
                    lambda x: torch.sort(x, dim=1)[0], [x], dtype, 0)
                print_row(f"sort, as torch's stable one, [8, {length}, 256]",
                    lambda x: F.slicing_sort_with_permutation(x)[0], lambda x: torch.sort(x, dim=1, stable=True)[0], [x],
                    dtype, 0)
        x, factors = torch.randn(8, 1024, 256), 10
        print_row("CHORD, 10 factors, [8, 1024, 256]", F.sparse_mix, chord_by_roll,
            [x, torch.randn(factors, 8, 1024, factors + 1) / 10], torch.float32, 1e-3)
        print_row("CDIL, 10 factors, [8, 1024, 256]", lambda x, w: F.sparse_mix(x, w, "cdil"), cdil_by_roll,
            [x, torch.randn(factors, 8, 1024, 3) / 10], torch.float32, 1e-3)
        q, k, v = (torch.randn(8, 4, 1024, 64) for _ in range(3))
        for dtype, tolerance in ((torch.float32, 1e-3), (torch.bfloat16, 2e-2)):
            print_row("softmax attention, [8, 4, 1024, 64]", F.softmax_attention,
                torch.nn.functional.scaled_dot_product_attention, [q, k, v], dtype, tolerance)


def print_selection():
    torch.set_num_threads(1)
    print("\n| along contiguous rows, one thread, processor time | dtype | ours, ms | torch, ms | torch : ours |\n" + "|---" * 5 + "|")
    for rows, length, k in ((512, 4096, 64), (64, 32768, 2048), (16, 131072, 40)):
        for dtype in (torch.float32, torch.bfloat16):
            x = torch.randn(rows, length).to(dtype)
            calls = ((f"top_k, [{rows}, {length}], k = {k}", lambda x: top_k(x, k), lambda x: torch.topk(x, k)),
                     (f"argsort, [{rows}, {length}]", argsort, lambda x: torch.argsort(x, stable=True)))
            for name, library_call, torch_call in calls:
                ours, expected = (call(x) for call in (library_call, torch_call))
                if name.startswith("top_k"):  # torch does not say which of several equal values it selects
                    ours, expected = ours.values, expected.values
                assert torch.equal(ours, expected)
                a, b = map(statistics.median, measure_rounds(lambda: library_call(x), lambda: torch_call(x),
                                                             clock=time.process_time))
                print(f"| {name} | {str(dtype)[6:]} | {1e3 * a:.2f} | {1e3 * b:.2f} | {b / a:.1f} |", flush=True)


def measure_cpp_call():
    """Returns the microseconds of forward without the permutation, of forward with it, and of backward."""
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/cpp_call"
        subprocess.run(["g++", "-std=c++17", "-O2", f"-I{HERE}/../../include", str(HERE / "cpp_call.cpp"), "-o", program],
                       check=True)
        return map(float, subprocess.run([program], capture_output=True, encoding="utf-8", check=True).stdout.split())


def measure_microseconds(call, repeats=20, calls=500):
    def mean_time():
        start_time = time.perf_counter()
        for _ in range(calls):
            call()
        return (time.perf_counter() - start_time) / calls
    mean_time()
    return 1e6 * min(mean_time() for _ in range(repeats))


def print_overhead():
    torch.set_num_threads(1)
    values, forward, backward = measure_cpp_call()
    x, dy = torch.randn(1, 64, 64), torch.randn(1, 64, 64)
    leaf = x.clone().requires_grad_()
    rows = (("forward, no gradient", values, lambda: F.slicing_sort(x), lambda: torch.sort(x, dim=1)),
            ("forward, values and indices", forward, lambda: F.slicing_sort_with_permutation(x), None),
            ("forward of a leaf", forward, lambda: F.slicing_sort(leaf), lambda: torch.sort(leaf, dim=1)),
            ("forward and backward", forward + backward, lambda: torch.autograd.grad(F.slicing_sort(leaf), leaf, dy),
             lambda: torch.autograd.grad(torch.sort(leaf, dim=1)[0], leaf, dy)))
    print("\n| sort of [1, 64, 64], one thread | in C++, us | from torch, us | more by | torch.sort, us |\n" + "|---" * 5 + "|")
    for name, cpp, library_call, torch_call in rows:
        us = measure_microseconds(library_call)
        print(f"| {name} | {cpp:.1f} | {us:.1f} | {us - cpp:.1f} | {f'{measure_microseconds(torch_call):.1f}' if torch_call else ''} |")


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    print(f"torch {torch.__version__}, {platform.machine()}, {torch.backends.cpu.get_cpu_capability()}\n")
    print_operators()
    print_selection()
    print_overhead()
