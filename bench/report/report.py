#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the results of a run as a table: report.py RESULTS.json [MORE.json ...]. Further files add cases to the
first one's, such as those of peers.py."""
import argparse

from .results import DTYPES, Case, load, ratio, run_main, size, table

BASELINE = {"forward": "baseline_std_sort", "forward_values": "baseline_std_sort", "backward": "baseline_naive_scatter"}
DIRECTIONS = (*BASELINE, "backward_input", "training")


def place(case: Case) -> tuple:
    return (DTYPES.index(case.dtype), case.subject != "slicing_sort", case.subject, DIRECTIONS.index(case.direction), case.b, case.c, case.input,
            case.policy.partition("-G:")[0], case.group, case.t, case.n)


def row(case: Case, cases: dict[str, Case]) -> list[str]:
    scalar, copy = (cases.get(case.beside(name)) for name in (BASELINE.get(case.direction, ""), "baseline_memcpy"))
    if not case.subject.startswith(("slicing_sort", "csp")):
        scalar = None
    return [
        case.title, case.direction, case.dtype, case.input, f"{case.b}x{case.n}x{case.c}", str(case.t),
        f"{case.median('ns_per_element'):.3f}",
        f"{scalar.median('ns_per_element'):.2f}" if scalar else "", f"{ratio(scalar, case):.1f}x" if scalar else "",
        f"{copy.median('ns_per_element'):.3f}" if copy else "",
        f"{case.median('bytes_per_second') / 1e9:.2f}", f"{case.median('share_of_copy') * 100:.0f} %",
        size(case.median("saved_bytes")), size(case.median("workspace_bytes")), f"{case.median('max_error'):g}"]


def table_of_host(context: dict, cases: dict[str, Case]) -> None:
    heading = ["subject", "direction", "dtype", "input", "B x N x C", "threads", "ns/element", "scalar", "faster", "memcpy",
               "GB/s", "of copy", "kept", "workspace", "max error"]
    ours = [case for case in cases.values() if not case.subject.startswith("baseline")] or list(cases.values())
    print(table([heading] + [row(case, cases) for case in sorted(ours, key=place)], left=5))
    copies = {case.t: case.median("copy_bytes_per_second") for case in cases.values()}
    speed = ", ".join(f"{copy / 1e9:.1f} GB/s on {t} thread{'s' if t > 1 else ''}" for t, copy in sorted(copies.items()))
    print(f"\n{context.get('cpu')}, {context.get('instruction_set')}, {context.get('compiler')}, {context.get('flags')}, "
          f"commit {context.get('commit', 'unknown')}")
    print("ns/element: wall time, also of 'scalar' (std::sort by column or group; backward the naive scatter) and of memcpy of x\n"
          f"beside it. GB/s: inputs, outputs and indices once. Copying beyond the caches: {speed}; a tensor that fits\n"
          "a cache may exceed that. kept: bytes for backward. max error: against the oracle, 0 is bit for bit.")


PEERS = {  # heading: the peer's subject, in whichever direction it has
    "CUB segmented": ("baseline_cub_segmented_sort",), "CUB radix": ("baseline_cub_segmented_radix_sort",),
    "torch": ("baseline_torch_sort", "baseline_torch_scatter"), "torch stable": ("baseline_torch_stable_sort",),
}


def gpu_row(case: Case, cases: dict[str, Case]) -> list[str]:
    faster = []
    for subjects in PEERS.values():
        peers = [cases[name] for name in map(case.beside, subjects) if name in cases and case.subject == "slicing_sort"]
        faster.append(f"{ratio(peers[0], case):.1f}x" if peers else "")
    return [
        case.title, case.direction, case.dtype, case.input, f"{case.b}x{case.n}x{case.c}",
        f"{case.median('items_per_second') / 1e9:.1f}", f"{case.median('bytes_per_second') / 1e9:.0f}",
        f"{case.median('share_of_copy') * 100:.0f} %", *faster, size(case.median("saved_bytes")),
        size(case.median("workspace_bytes")), f"{case.median('kernels'):.0f}", f"{case.median('max_error'):g}"]


def table_of_gpu(context: dict, cases: dict[str, Case]) -> None:
    heading = ["subject", "direction", "dtype", "input", "B x N x C", "Gelem/s", "GB/s", "of copy", *PEERS, "kept", "workspace",
               "kernels", "max error"]
    ours = [case for case in cases.values() if not case.subject.startswith("baseline")]
    ours.sort(key=lambda case: (*place(case)[:4], case.input != "normal", case.input, case.n, case.b))
    print(table([heading] + [gpu_row(case, cases) for case in ours], left=5))
    copy = max(case.median("copy_bytes_per_second") for case in ours)
    print(f"\n{context.get('gpu')} ({context.get('architecture')}, {context.get('processors')} processors), CUDA "
          f"{context.get('cuda')}, commit {context.get('commit', 'unknown')}, {context.get('date', '')[:10]}")
    print("Device events, medians, L2 flushed before every call. GB/s: inputs, outputs and indices once; of copy: its share\n"
          f"of a device-to-device copy in the same run, {copy / 1e9:.0f} GB/s read and written. A peer's column says how many\n"
          "times faster this library is; CUB with a transposition before and after. kernels: launches of a call.")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", nargs="+")
    context, cases = load(*parser.parse_args().results)
    host, gpu = ({name: case for name, case in cases.items() if case.backend == backend} for backend in ("host", "cuda"))
    if host:
        table_of_host(context, host)
    if gpu:
        table_of_gpu(context, gpu)
    return 0


if __name__ == "__main__":
    run_main(main)
