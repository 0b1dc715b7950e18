# SPDX-License-Identifier: Apache-2.0
"""Performance targets of the library. python3 -m report.targets RESULTS.json [MORE.json ...] evaluates them. GPU targets are not
measured if no file has GPU results. A failed case misses its targets."""
import argparse
import statistics
from dataclasses import dataclass

from .entries import PLAIN_LOOPS, weak_baseline_warning
from .results import BadResults, Case, format_table, load, run_main

NOISE = 1.03  # tolerance of "never slower"


@dataclass
class Target:
    """Ratio of the times of two cases."""
    name: str
    case: str
    reference: str
    at_least: float | None = None  # time of reference / time of case
    at_most: float | None = None  # time of case / time of reference
    per_operation: bool = False  # compares times per operation

    @property
    def required(self) -> str:
        if self.at_least == 0:
            return "no promise"
        return f">= {self.at_least:g}x" if self.at_least is not None else f"<= {self.at_most:g}x"

    def cases(self) -> list[str]:
        return [self.case, self.reference]

    def judge(self, cases: dict[str, Case], clock: str) -> tuple[str, bool]:
        case, reference = (find_case(cases, name) for name in self.cases())
        if self.at_least is not None:
            measured = median_speedup(reference, case, clock)
            return f"{measured:.2f}x", measured >= self.at_least
        assert self.at_most is not None
        if self.per_operation:
            measured = reference.median("flops_per_second") / case.median("flops_per_second")
        else:
            measured = median_speedup(case, reference, clock)
        return f"{measured:.2f}x", measured <= self.at_most


@dataclass
class Level:
    """Value of a counter of one case."""
    name: str
    case: str
    counter: str
    unit: str
    scale: float
    at_least: float | None = None
    exactly: float | None = None

    @property
    def required(self) -> str:
        if self.at_least == 0:
            return "no promise"
        return f">= {self.at_least:g} {self.unit}" if self.at_least is not None else f"{self.exactly:g}"

    def cases(self) -> list[str]:
        return [self.case]

    def judge(self, cases: dict[str, Case], _clock: str) -> tuple[str, bool]:
        case = find_case(cases, self.case)
        measured = case.median(self.counter) / self.scale
        met = measured >= self.at_least if self.at_least is not None else measured == self.exactly
        share = f" ({case.median('share_of_peak'):.0%} of peak)" if self.counter == "flops_per_second" else ""
        shown = f"{measured:.4g} {self.unit}" if self.exactly is None else f"{measured:.10g}"
        return shown.rstrip() + share, met


def find_case(cases: dict[str, Case], name: str) -> Case:
    if name not in cases:
        raise BadResults(f"no case {name}; --targets runs what it needs")
    if cases[name].failure:
        raise BadResults(f"{name} failed: {cases[name].failure}")
    return cases[name]


def median_speedup(slower: Case, faster: Case, clock: str) -> float:
    """Returns the median speedup over the repetitions. Only host cases with one thread use the CPU clock."""
    if slower.t != 1 or faster.t != 1 or faster.backend != "host":
        clock = "wall"
    return statistics.median(s / f for s, f in zip(slower.times(clock), faster.times(clock)))


def host_name(subject: str, n: int, dtype: str = "f32", input: str = "normal", direction: str = "forward", b: int = 1,
              c: int = 512, t: int = 1, policy: str = "ascending") -> str:
    return f"{subject}/host/{direction}/{dtype}/{policy}/{input}/B:{b}/N:{n}/C:{c}/T:{t}"


def targets() -> list[Target | Level]:
    found: list[Target | Level] = []

    def against_std_sort(at_least: float, n: int, dtype: str = "f32", subject: str = "slicing_sort", b: int = 1, c: int = 512) -> None:
        forced = f" {subject.partition('@')[2]}" if "@" in subject else ""
        columns = "" if c != 1 else " one column" if b == 1 else f" {b} samples of one column"
        found.append(Target(f"{dtype}{forced} forward{columns} N={n} against std::sort", host_name(subject, n, dtype, b=b, c=c),
                            host_name("baseline_std_sort", n, dtype, b=b, c=c), at_least=at_least))

    for n, at_least in ((64, 18), (256, 24), (1024, 26), (4096, 24), (65536, 26), (1 << 20, 8)):
        against_std_sort(at_least, n)
    for b, n, at_least in ((16, 4096, 6), (1, 65536, 5), (1, 131072, 4)):
        against_std_sort(at_least, n, b=b, c=1)
    for dtype in ("bf16", "f16"):
        for n, at_least in ((64, 30), (256, 35), (1024, 35), (4096, 45), (16384, 60), (65536, 20)):
            against_std_sort(at_least, n, dtype)
    for dtype in ("f32", "bf16"):
        for b, n in ((16, 4096), (1, 65536), (1, 131072)):
            found.append(Target(f"{dtype} top_k of {b} row{'s' if b > 1 else ''}, k = N / 16, N={n} against std::nth_element and std::sort",
                                host_name("top_k", n, dtype, b=b, c=1), host_name("baseline_nth_element", n, dtype, b=b, c=1), at_least=2.5))
    against_std_sort(6, 1024, "f64")
    against_std_sort(6, 1024, subject="slicing_sort@avx2")

    for n, power in ((1000, 1024), (2001, 2048), (4001, 4096)):
        found.append(Target(f"f32 forward N={n}, an element, against N={power}", host_name("slicing_sort", n),
                            host_name("slicing_sort", power), at_most=1.2))
    for n in (1024, 4096):
        found.append(Target(f"f32 forward 8x{n}x512, two threads against one", host_name("slicing_sort", n, b=8, t=2),
                            host_name("slicing_sort", n, b=8), at_least=1.8))
    for input, at_most in (("few_unique", 1.7), ("relu", 1.7), ("text", 1.7), ("reversed", 1.7), ("sorted", NOISE),
                           ("constant", NOISE)):
        for n in (64, 256, 1024, 4096):
            found.append(Target(f"f32 forward N={n}, {input} against normal", host_name("slicing_sort", n, input=input),
                                host_name("slicing_sort", n), at_most=at_most))
    for n, at_least in ((64, 1), (256, 1.5), (1024, 1.5), (4096, 1.5), (16384, 2.5), (65536, 2.5)):
        found.append(Target(f"f32 backward N={n} against the naive scatter", host_name("slicing_sort", n, direction="backward"),
                            host_name("baseline_naive_scatter", n, direction="backward"), at_least=at_least))
    found.append(Target("f32 backward N=4096 against memcpy", host_name("slicing_sort", 4096, direction="backward"),
                        host_name("baseline_memcpy", 4096), at_most=5))
    for n in (64, 256, 1024, 4096, 16384, 65536):
        found.append(Target(f"f32 forward N={n}, no_saved against saving",
                            host_name("slicing_sort", n, direction="forward_values"), host_name("slicing_sort", n), at_least=1.4))
    return found + csp_targets() + mix_targets() + attention_targets()


def csp_targets() -> list[Target]:
    found: list[Target] = []

    def against(reference: str, policy: str, subject: str, direction: str = "forward", **limits: float) -> None:
        found.append(Target(f"f32 csp {policy} {direction} against {reference}", host_name("csp", 4096, direction=direction, policy=policy),
                            host_name(subject, 4096, policy=policy), **limits))

    for alignment in ("reference", "ascending"):
        against("memcpy", f"linear-{alignment}-G:2", "baseline_memcpy", at_most=6)
        against("memcpy", f"none-{alignment}-G:2", "baseline_memcpy", at_most=1.8)
        for group in (16, 64):
            against("std::sort", f"linear-{alignment}-G:{group}", "baseline_std_sort", at_least=6)
        for shift in ("none", "linear"):
            against("its forward", f"{shift}-{alignment}-G:2", "csp", "backward", at_most=2)
    return found


def mix_targets() -> list[Target]:
    found: list[Target] = []

    def mix(n: int, factors: int, topology: str = "chord", direction: str = "forward_values",
            subject: str = "sparse_mix") -> str:
        return host_name(subject, n, direction=direction, policy=f"{topology}-per_factor-M:{factors}")

    for n, factors, at_least in ((4096, 12, 2), (16384, 14, 3)):
        found.append(Target(f"f32 sparse_mix chord N={n} against factor by factor", mix(n, factors),
                            mix(n, factors, subject="baseline_per_factor"), at_least=at_least))
    found.append(Level("f32 sparse_mix chord N=4096", mix(4096, 12), "flops_per_second", "GFLOP/s", 1e9, at_least=90))
    # 46 % of the rate of multiply-adds without loads.
    found.append(Target("f32 sparse_mix chord N=4096 against its multiply-adds alone", mix(4096, 12),
                        mix(4096, 12, subject="baseline_multiply_add"), at_most=2.17))
    found.append(Target("f32 sparse_mix cdil N=4096 against memcpy", mix(4096, 12, "cdil"), host_name("baseline_memcpy", 4096),
                        at_most=12))
    for topology in ("chord", "cdil"):
        found.append(Target(f"f32 sparse_mix {topology} N=4096 backward against its forward",
                            mix(4096, 12, topology, "backward"), mix(4096, 12, topology, "forward"), at_most=3.5))
    return found


def attention_targets() -> list[Target | Level]:
    found: list[Target | Level] = []
    for direction, sparse_at_most in (("forward", 1.6), ("backward", 1.4)):  # docs/dead_ends.md has what keeps 1.3 out of reach
        streaming, whole = (host_name("softmax_attention", 4096, direction=direction, policy=f"{algorithm}-full-H:8")
                            for algorithm in ("streaming", "materialized"))
        label = f"f32 softmax attention H=8 D=64 N=4096 {direction}"
        found.append(Target(f"{label} against materialized with a BLAS", streaming, whole, at_least=3))
        found.append(Level(label, streaming, "flops_per_second", "GFLOP/s", 1e9, at_least=100))
        # Two floats per query and head.
        found.append(Level(f"{label}, bytes kept", streaming, "saved_bytes", "", 1, exactly=4096 * 8 * 2 * 4))
        for mask, mask_label in (("bigbird", "BigBird of 64"), ("window_globals", "window of 512 and 8 globals"), ("fixed", "fixed by 50 and 10")):
            found.append(Target(f"{label}, {mask_label}, a pair against one of all", streaming.replace("full", mask), streaming,
                                at_most=sparse_at_most, per_operation=True))
        for variant, variant_label, at_most in (("relative", "a relative bias", 1.15), ("dropout", "dropout", 1.25)):
            found.append(Target(f"{label}, {variant_label}, against none", streaming.replace("full", variant), streaming, at_most=at_most))
        for kind, at_least in (("both", 35), ("causal", 25)):
            linear = host_name("linear_attention", 4096, direction=direction, policy=f"elu_plus_one-{kind}-H:8")
            found.append(Level(f"f32 linear attention H=8 D=64 N=4096 {kind} {direction}", linear, "share_of_peak", "% of peak", 0.01, at_least=at_least))
    return found


BATCH_ON_GPU = {64: 2048, 1024: 128, 4096: 32}  # 16 for longer ones, as in bench/cases/cuda/settings.hpp


def gpu_name(subject: str, n: int, dtype: str = "f32", direction: str = "forward", policy: str = "ascending") -> str:
    return f"{subject}/cuda/{direction}/{dtype}/{policy}/normal/B:{BATCH_ON_GPU.get(n, 16)}/N:{n}/C:512"


def gpu_targets() -> list[Target | Level]:
    found: list[Target | Level] = []
    required_rates = {"f32": {64: 300, 1024: 85, 4096: 50, 16384: 40, 65536: 25},
                      "bf16": {64: 450, 1024: 150, 4096: 100, 16384: 80, 65536: 50}}
    for dtype, by_length in required_rates.items():
        for n, at_least in by_length.items():
            found.append(Level(f"GPU {dtype} forward N={n}", gpu_name("slicing_sort", n, dtype), "items_per_second", "Gelem/s",
                               1e9, at_least=at_least))
    found.append(Level("GPU f32 forward N=64 against a copy", gpu_name("slicing_sort", 64), "share_of_copy", "% of copy", 0.01,
                       at_least=70))
    for reference, subject, by_length in (
            ("torch.sort", "baseline_torch_sort", {64: 20, 1024: 5, 4096: 5, 16384: 8, 65536: 8}),
            ("CUB segmented sort", "baseline_cub_segmented_sort", dict.fromkeys(required_rates["f32"], 3))):
        for n, at_least in by_length.items():
            found.append(Target(f"GPU f32 forward N={n} against {reference}", gpu_name("slicing_sort", n), gpu_name(subject, n),
                                at_least=at_least))
    for n in (1024, 4096, 16384, 65536):
        found.append(Level(f"GPU f32 backward N={n} against a copy", gpu_name("slicing_sort", n, direction="backward"),
                           "share_of_copy", "% of copy", 0.01, at_least=85))
    for n in (64, 1024, 4096, 16384, 32768):
        case = gpu_name("slicing_sort", n)
        found.append(Level(f"GPU f32 forward N={n}, bytes of workspace", case, "workspace_bytes", "", 1, exactly=0))
        found.append(Level(f"GPU f32 forward N={n}, kernels launched", case, "kernels", "", 1, exactly=1))
    for group, at_least in ((2, 85), (16, 60), (64, 60)):
        for alignment in ("reference", "ascending"):
            policy = f"linear-{alignment}-G:{group}"
            found.append(Level(f"GPU f32 csp {policy} forward N=4096 against a copy", gpu_name("csp", 4096, policy=policy),
                               "share_of_copy", "% of copy", 0.01, at_least=at_least))
    chord, cdil = (gpu_name("sparse_mix", 4096, direction="forward_values", policy=f"{topology}-per_factor-M:12")
                   for topology in ("chord", "cdil"))
    found.append(Level("GPU f32 sparse_mix chord N=4096", chord, "items_per_second", "Gelem/s", 1e9, at_least=35))
    # Three copies of x, with the weights, 7 % of x.
    found.append(Level("GPU f32 sparse_mix cdil N=4096 against a copy", cdil, "share_of_copy", "% of copy", 0.01, at_least=34.5))
    for case in (chord, cdil):
        for implementation in ("roll", "gather"):
            found.append(Target(f"GPU f32 {case.split('/')[4]} N=4096 against torch {implementation}", case,
                                case.replace("sparse_mix", f"baseline_torch_{implementation}", 1), at_least=1))
    attention = "softmax_attention/cuda/{}/bf16/streaming-full-H:16/normal/B:4/N:4096/C:2048"
    for direction, at_least in (("forward", 280), ("backward", 200)):
        case = attention.format(direction)
        found.append(Level(f"GPU bf16 softmax attention D=128 N=4096 {direction}", case, "flops_per_second", "TFLOP/s", 1e12,
                           at_least=at_least))
        found.append(Target(f"GPU bf16 softmax attention D=128 N=4096 {direction} against torch's SDPA", case,
                            case.replace("softmax_attention", "baseline_torch_sdpa_flash"), at_least=0))
    for direction in ("both", "causal"):
        found.append(Level(f"GPU bf16 linear attention D=64 N=4096 {direction} against a copy",
                           f"linear_attention/cuda/forward_values/bf16/elu_plus_one-{direction}-native-H:16/normal/B:4/N:4096/C:1024",
                           "share_of_copy", "% of copy", 0.01, at_least=0))
    return found


def evaluate_target(target: Target | Level, cases: dict[str, Case], clock: str, context: dict) -> tuple[str, str]:
    """Returns the measured value, and "ok", "MISSED" or an empty string."""
    if target.name.endswith("with a BLAS") and context.get("blas", PLAIN_LOOPS) == PLAIN_LOOPS:
        return "not measured (no BLAS)", ""
    if target.name.startswith("GPU"):
        if not any(case.backend == "cuda" for case in cases.values()):
            return "not measured (no GPU)", ""
        failed = next((name for name in target.cases() if name in cases and cases[name].failure and "torch" not in name), None)
        if failed or target.cases()[0] not in cases:
            return f"failed: {cases[failed].failure}" if failed else "its program was stopped", "MISSED"
        if any("torch" in name and (name not in cases or cases[name].failure) for name in target.cases()):
            return "not measured (no torch)", ""
    measured, met = target.judge(cases, clock)
    if target.at_least == 0:
        return measured, ""
    return measured, "ok" if met else "MISSED"


def expressions_of(backend: str) -> list[str]:
    """Returns regular expressions of the cases of the host or GPU targets, one per process. GPU operators run in separate
    processes."""
    names: dict[str, list[str]] = {}
    for target in gpu_targets() if backend == "cuda" else targets():
        names.setdefault(target.case.split("/")[0] if backend == "cuda" else "", []).extend(target.cases())
    return ["^(" + "|".join(dict.fromkeys(cases)) + ")$" for cases in names.values()]


def judge(results: list[str], clock: str) -> int:
    context, cases = load(*results)
    has_host = any(case.backend == "host" for case in cases.values())
    rows = [["target", "required", "measured", "ok"]]
    for target in (targets() if has_host else []) + gpu_targets():
        rows.append([target.name, target.required, *evaluate_target(target, cases, clock, context)])
    print(format_table(rows))
    if has_host:
        print(f"BLAS: {context.get('blas', PLAIN_LOOPS)}. {weak_baseline_warning(context, cases.values())}")
    outcomes = [row[3] for row in rows[1:]]
    met, missed = outcomes.count("ok"), outcomes.count("MISSED")
    print(f"{met} of {met + missed} measured targets met" +
          (f", {outcomes.count('')} not measured" if "" in outcomes else ""))
    return 0 if missed == 0 else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", nargs="+")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall",
                        help="cpu: time of the calling thread, for one-thread cases on a busy machine")
    arguments = parser.parse_args()
    return judge(arguments.results, arguments.clock)


if __name__ == "__main__":
    run_main(main)
