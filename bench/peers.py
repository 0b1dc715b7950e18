#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times PyTorch on the shapes of a GPU run: peers.py RESULTS.json PEERS.json reads the cases of the one and
writes the peers' into the other, for report.py and targets.py to join. Without torch or a GPU it says so and
writes an empty list."""
import argparse
import json
import statistics
import sys

from results import BadResults, Case, load, run_main

WARM_UPS, REPEATS = 3, 15
FLUSH_BYTES = 256 << 20


def obstacle() -> str:
    try:
        import torch
    except ImportError as error:
        return f"no torch ({error})"
    return "" if torch.cuda.is_available() else "torch sees no GPU"


class Stopwatch:
    """Device events around a call, with the L2 cache flushed before it."""

    def __init__(self) -> None:
        import torch
        self.torch = torch
        self.flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
        self.start, self.stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def seconds(self, run) -> float:
        times = []
        for _ in range(WARM_UPS + REPEATS):
            self.flush.zero_()
            self.start.record()
            run()
            self.stop.record()
            self.stop.synchronize()
            times.append(self.start.elapsed_time(self.stop) * 1e-3)
        return statistics.median(times[WARM_UPS:])


def mixes_of(case: Case, x):
    """A chain of sparse factors with residuals, as rolled copies of x and as rows gathered for every link."""
    import torch
    topology, _, count = case.policy.partition("-per_factor-M:")
    factors = int(count)

    def offsets(m: int) -> list[int]:
        return [0] + [1 << k for k in range(factors)] if topology == "chord" else [0, 1 << m, -(1 << m)]

    links = len(offsets(0))
    w = torch.randn((factors, case.b, case.n, links), dtype=torch.float32, device="cuda").to(x.dtype) / links
    rows = torch.arange(case.n, device="cuda")
    columns = [torch.stack([(rows + o) % case.n for o in offsets(m)], dim=1) for m in range(factors)]

    def rolled():
        v = x
        for m in range(factors):
            v = v + sum(w[m, :, :, k, None] * torch.roll(v, -o, 1) for k, o in enumerate(offsets(m)))
        return v

    def gathered():
        v = x
        for m in range(factors):
            v = v + torch.einsum("bnk,bnkc->bnc", w[m], v[:, columns[m]])
        return v

    yield "baseline_torch_roll", rolled
    yield "baseline_torch_gather", gathered


def peers_of(case: Case):
    """(subject, function) for every peer of the case, on fresh tensors of its shape."""
    import torch
    dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[case.dtype]
    x = torch.randn((case.b, case.n, case.c), dtype=torch.float32, device="cuda").to(dtype)
    if case.subject == "sparse_mix":
        yield from mixes_of(case, x)
    elif case.direction == "forward":
        yield "baseline_torch_sort", lambda: torch.sort(x, dim=1)
        yield "baseline_torch_stable_sort", lambda: torch.sort(x, dim=1, stable=True)
    else:
        rows = torch.sort(x, dim=1, stable=True).indices
        dx = torch.empty_like(x)
        yield "baseline_torch_scatter", lambda: dx.scatter_(1, rows, x)


def measure(cases: dict[str, Case]) -> list[dict]:
    import torch
    stopwatch, rows = Stopwatch(), []
    for case in cases.values():
        directions = {"slicing_sort": ("forward", "backward"), "sparse_mix": ("forward_values",)}
        wanted = (case.backend == "cuda" and case.input == "normal" and case.dtype in ("f32", "bf16")
                  and case.direction in directions.get(case.subject, ()) and not case.policy.endswith(("none-M:6", "initial-M:6")))
        if not wanted:
            continue
        for subject, run in peers_of(case):
            try:
                seconds = stopwatch.seconds(run)
            except torch.OutOfMemoryError:
                print(f"peers: {case.beside(subject)} does not fit the GPU's memory", file=sys.stderr)
                continue
            rows.append({"name": case.beside(subject), "run_type": "iteration", "iterations": REPEATS,
                         "real_time": seconds * 1e6, "time_unit": "us", "ns_per_element": seconds / case.elements * 1e9,
                         "items_per_second": case.elements / seconds})
        torch.cuda.empty_cache()
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results")
    parser.add_argument("peers")
    arguments = parser.parse_args()
    why_not = obstacle()
    context, rows = {}, []
    if why_not:
        print(f"peers: torch is left out: {why_not}")
    else:
        import torch
        context = {"torch": torch.__version__, "gpu": torch.cuda.get_device_name()}
        rows = measure(load(arguments.results)[1])
    try:
        with open(arguments.peers, "w", encoding="utf-8") as file:
            json.dump({"context": context, "benchmarks": rows}, file, indent=1)
    except OSError as error:
        raise BadResults(f"cannot write {arguments.peers}: {error}") from error
    return 0


if __name__ == "__main__":
    run_main(main)
