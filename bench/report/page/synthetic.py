# SPDX-License-Identifier: Apache-2.0
"""Synthetic arena results for tests of the page and the pictures: two machines, two types, several widths, out of memory, torch, noise,
and text with markup."""
import json
import random
from pathlib import Path

from ..entries import DIRECTIONS
from ..run_log import to_benchmark_rows

LENGTHS = (1024, 2048, 4096, 8192)
ROUNDS = 8
# subject, policy, in bfloat16 too, nanoseconds per element of forward at N = 1024, growth per doubling of N
OPERATORS = (
    ("my_mixer_of_gated_and_rotated_windows", "custom", True, 2.6, 1.15),
    ("slicing_sort", "ascending", True, 1.6, 1.22), ("slicing_sort", "interleave", False, 1.62, 1.22), ("max_exchange", "ascending", False, 0.9, 1.35),
    ("multi_permutation", "ascending", False, 5.7, 1.3), ("csp", "linear-reference-G:2", True, 0.75, 1.1), ("csp", "linear-reference-G:16", False, 1.2, 1.12),
    ("sparse_mix", "chord-per_factor-M:10", True, 4.0, 1.22), ("sparse_mix", "cdil-per_factor-M:10", False, 1.8, 1.2),
    ("linear_attention", "elu_plus_one-both-H:4", False, 50.0, 1.0), ("linear_attention", "elu_plus_one-causal-H:4", False, 50.0, 1.0),
    ("linear_attention", "random_exp-both-H:4", True, 90.0, 1.0), ("linear_attention", "random_exp-causal-H:4", False, 91.0, 1.0),
    ("linear_attention", "cosine_reweighted-both-H:4", False, 70.0, 1.0), ("linear_attention", "random_fourier-both-H:4", False, 60.0, 1.0),
    ("softmax_attention", "streaming-full-H:4", True, 33.0, 1.97), ("softmax_attention", "streaming-causal-H:4", False, 17.0, 1.97),
    ("softmax_attention", "materialized-full-H:4", False, 48.0, 2.1),
    ("softmax_attention", "streaming-window-H:4", True, 18.0, 1.05), ("softmax_attention", "streaming-block_local-H:4", False, 7.2, 1.01),
    ("softmax_attention", "streaming-window_globals-H:4", False, 18.5, 1.05), ("softmax_attention", "streaming-strided-H:4", False, 16.0, 1.3),
    ("softmax_attention", "streaming-causal_fixed-H:4", False, 11.0, 1.2), ("softmax_attention", "streaming-bigbird-H:4", False, 19.0, 1.04),
    ("pointwise_attention", "laplace-full-H:4", False, 44.0, 1.97), ("pointwise_attention", "squared_relu-full-H:4", False, 31.0, 1.97),
    ("decaying_sum", "ascending", False, 0.6, 1.0), ("decaying_sum_mega", "ascending", False, 2.2, 1.0),
    *((subject, "custom", False, 30.0, 1.1) for subject in ("synthesizer", "linformer", "nystromformer", "long_short", "reformer", "sinkformer",
                                                            "sinkhorn_transformer", "mega", "mega_chunk", "mega_csp", "s4d", "s5", "etsmlp", "spade")))
MARKUP = "</script><b id=injected>injected</b> & <!--"
CONTEXT = {"date": "2026-01-01T12:00:00+00:00", "cpu": "A synthetic processor", "instruction_set": "avx512", "compiler": "g++ 12.2.0",
           "flags": "-O3 -DNDEBUG", "blas": "OpenBLAS 0.3.21, Haswell kernels",
           "weak_blas": "they leave this processor's AVX-512 unused", "text": "synthetic.txt", "commit": "0000000", "command": "bench/run",
           "rounds": ROUNDS, "batch": 8, "num_cpus": 2}


def make_results(backend: str, dtypes: tuple[str, ...], widths: tuple[int, ...], speed: float) -> list[dict]:
    noise = random.Random(backend)
    rows = []
    for dtype in dtypes:
        for c in widths:
            for direction in DIRECTIONS:
                for doublings, n in enumerate(LENGTHS):
                    round_noise = [1 + 0.2 * noise.random() for _ in range(ROUNDS)]
                    for subject, policy, in_16_bits, first_nanoseconds, growth in OPERATORS:
                        name = f"{subject}/{backend}/{direction}/{dtype}/{policy}/text/B:8/N:{n}/C:{c}" + ("/T:1" if backend == "host" else "")
                        if dtype != "f32" and not in_16_bits:
                            continue
                        if policy.startswith("materialized") and n == LENGTHS[-1]:
                            rows += to_benchmark_rows({"name": name, "failed": "out of memory"})
                            continue
                        elements = 8 * n * c
                        seconds = first_nanoseconds * growth**doublings * elements * 1e-9 * (3.3 if direction == "training" else 1) / speed
                        result = {
                            "name": name, "calls": 3, "seconds": [seconds * w * noise.lognormvariate(0, 0.02) for w in round_noise],
                            "saved_bytes": 2 * elements if direction == "training" else 0, "peak_bytes": 9 * elements * (1 + 0.1 * noise.random()),
                            "workspace_bytes": 0, "traffic_bytes": 8 * elements, "copy_bytes_per_second": 1.6e10 * speed,
                            "flops": 300 * elements if subject == "softmax_attention" else 0, "peak_flops_per_second": 2.2e11 * speed}
                        if subject != OPERATORS[0][0]:  # has no oracle
                            result["max_error"] = 0.0 if subject in ("slicing_sort", "csp", "max_exchange") else noise.random() * 4e-6
                        rows += to_benchmark_rows(result)
    return rows


def make_torch_results(rows: list[dict]) -> list[dict]:
    """Makes torch results of the sort and of attention, slower than the given rows."""
    implementations = {"slicing_sort": "baseline_torch_stable_sort", "softmax_attention": "baseline_torch_sdpa_flash"}
    found = []
    for row in rows:
        subject, _, rest = row["name"].partition("/")
        if subject in implementations and "error_occurred" not in row and ("/ascending/" in rest or "/streaming-full" in rest):
            times = {key: value for key, value in row.items() if not key.startswith("share_of")}
            found.append({**times, "name": f"{implementations[subject]}/{rest}", "ns_per_element": row["ns_per_element"] * (14 if subject == "slicing_sort" else 1.3)})
    return found


def write(folder: Path) -> tuple[list[Path], Path]:
    """Writes results of a host, a GPU and torch. Returns the files of host and GPU, and the file of torch."""
    host, cuda, torch = (folder / f"arena{part}.json" for part in ("", "-cuda", "-torch"))
    host_rows = make_results("host", ("f32", "bf16"), (256,), 1.0)
    gpu_rows = make_results("cuda", ("f32",), (256, 512), 150.0)
    gpu = {**CONTEXT, "gpu": "A synthetic GPU", "cuda": "13.0"}
    for path, context, rows in ((host, {**CONTEXT, "noise": [f"The machine was busy ({MARKUP})."]}, host_rows), (cuda, gpu, gpu_rows),
                                (torch, {"torch": "2.0"}, make_torch_results(host_rows))):
        path.write_text(json.dumps({"context": context, "benchmarks": rows}), encoding="utf-8")
    return [host, cuda], torch
