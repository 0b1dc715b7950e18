#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mutation test of synchronization. Removes every synchronization of every compiled kernel, one at a time: barriers,
bar.warp.sync, arrive-wait pairs of cluster barriers, waits for asynchronous copies. Then runs the tests that execute it on
the PTX machine. A fault or a failed assertion must detect it. docs/ptx_machine/mutants.md has the results.

  tests/run --ptx && python3 tests/ptx/mutants.py [--fresh] [REGEX of mangled names]

Results are stored in the folder mutants/ of the build, and are not computed again. Exit status 1: there are unexplained
survivors."""
import argparse
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/mutants"))
from run_log import RunLog  # noqa: E402
MAX_CASE_SECONDS = 30.0  # seconds without a mutation; slower cases are skipped

# Patterns of the machine's messages, and their names in the table.
FAULTS = (("race in global memory", "global race"), ("race", "race"), ("was never written", "unwritten read"), ("under way", "copy under way"),
          ("leaves the cluster|of the cluster, which has ended", "early exit"), ("", "other fault"))

# Undetectable survivors, as "kernel number instruction", and the reasons.
EXPLAINED = (
    (r"attention_backward_kv_kernel<.*\bpattern_mask, .*> 6 bar\.sync.*", "precedes gradients staged in the keys' memory: such a mask stages every tile, after a barrier"),
    (r"attention_backward_q_kernel<.*\bpattern_mask, .*> [89] bar\.sync.*", "the same, for the queries' memory"),
    (r"sort_tile_kernel<.*> 0 barrier\.cluster\.arrive;", "waits until the blocks that share a tile have started: the machine starts them together"),
    (r"return_pairs_kernel<.*> 0 bar\.sync.*", "never executed: only shifted pairs are staged, and other kernels return them"),
)


@dataclass(frozen=True)
class Case:
    """A test case of the program that the ctest test `test` runs, on a device."""
    test: str
    name: str
    device: str


@dataclass(frozen=True)
class Mutant:
    device: str  # the code of a kernel depends on it
    kernel: str  # mangled
    number: int
    instruction: str

    @property
    def id(self) -> str:
        return f"{self.device} {self.kernel}:{self.number}"

    @property
    def kind(self) -> str:
        opcode = re.sub(r"^@\S+\s+", "", self.instruction).split()[0].rstrip(";")
        return opcode.replace("barrier.cluster.arrive", "barrier.cluster")


class Machine:
    """The tests of a build of tests/run --ptx that run on the PTX machine."""

    def __init__(self, build: Path) -> None:
        self.commands: dict[str, list[str]] = {}
        self.environments: dict[str, dict] = {}
        listed = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], check=True, capture_output=True, encoding="utf-8").stdout
        for test in json.loads(listed)["tests"]:
            properties = {p["name"]: p["value"] for p in test.get("properties", [])}
            if "ptx" in properties.get("LABELS", []) and re.match("cuda_|ptx_small", test["name"]) and "command" in test:
                environment = dict(v.split("=", 1) for v in properties["ENVIRONMENT"])
                if "SLICESORT_PTX_DEVICE" not in environment:
                    self.commands[test["name"]] = test["command"]
                    self.environments[test["name"]] = {**os.environ, **environment}
        if not self.commands:
            sys.exit(f"{build} has no tests that run on the PTX machine: tests/run --ptx builds them")

    def cases(self) -> list[Case]:
        """Returns all test cases. Cases of bfloat16 run on both devices, since its kernels are also compiled for sm_80."""
        found = []
        for test, command in self.commands.items():
            listed = subprocess.run([*command, "--list-test-cases", "--no-colors"], capture_output=True, encoding="utf-8", check=False,
                                    env=self.environments[test]).stdout
            if listed.startswith("[doctest]"):
                names = [line for line in listed.splitlines() if line and not line.startswith(("[doctest]", "===="))]
                for name in dict.fromkeys(names):
                    found += [Case(test, name, device) for device in ("sm_90", "sm_80") if device == "sm_90" or "bfloat16" in name]
        return found

    def run(self, case: Case, limit: float, **variables: str) -> subprocess.CompletedProcess | None:
        """Runs a case; None if it exceeds the time limit."""
        name = case.name.replace(",", "\\,")
        try:
            return subprocess.run([self.commands[case.test][0], f"--test-case={name}", "--no-colors"], capture_output=True, encoding="utf-8",
                                  errors="replace", timeout=limit, check=False, env={**self.environments[case.test], **variables, "SLICESORT_PTX_DEVICE": case.device})
        except subprocess.TimeoutExpired:
            return None


def read_table(path: Path) -> list[dict]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


class Executions:
    """The synchronizations that each case executes, and the time it takes."""

    def __init__(self, machine: Machine, folder: Path) -> None:
        self.machine, self.logs, self.run_log = machine, folder / "logs", RunLog(folder / "executions.jsonl")
        self.seconds = {Case(*line["case"]): line["seconds"] for line in self.run_log.lines}

    def measure_case(self, case: Case) -> None:
        if case in self.seconds:
            return
        log = self.logs / str(threading.get_ident())
        shutil.rmtree(log, ignore_errors=True)
        log.mkdir(parents=True)
        start = time.monotonic()
        process = self.machine.run(case, 4 * MAX_CASE_SECONDS, SLICESORT_PTX_LOG=str(log), SLICESORT_PTX_COUNT_MEMORY="1")
        seconds = time.monotonic() - start
        passed = process is not None and process.returncode == 0
        if process is not None and not passed:
            print(f"skipped, since it fails without a mutation: {case.test}, '{case.name}', {case.device}", file=sys.stderr)
        found = []
        for path in log.glob("*.synchronizations.tsv") if passed else ():
            executed = {(row["kernel"], row["line"]) for row in read_table(Path(str(path).replace(".synchronizations", ".instructions")))}
            found += [[row["kernel"], int(row["number"]), row["instruction"].strip(), (row["kernel"], row["line"]) in executed]
                      for row in read_table(path)]
        shutil.rmtree(log)
        self.seconds[case] = seconds
        self.run_log.add({"case": [case.test, case.name, case.device], "seconds": seconds, "synchronizations": found})

    def cases_by_mutant(self) -> dict[Mutant, list[Case]]:
        """Returns all mutants, each with the cases that execute its synchronization, fastest first."""
        cases_of: dict[Mutant, list[Case]] = {}
        for line in self.run_log.lines:
            case = Case(*line["case"])
            for kernel, number, instruction, executed in line["synchronizations"]:
                cases = cases_of.setdefault(Mutant(case.device, kernel, number, instruction), [])
                if executed and self.seconds[case] <= MAX_CASE_SECONDS:
                    cases.append(case)
        for cases in cases_of.values():
            cases.sort(key=self.seconds.get)
        return cases_of


def planned_runs(cases: list[Case]) -> list[tuple[Case, str]]:
    """Returns the runs of a mutant: all cases, fastest first, then all again with detection of global races."""
    return [(case, global_races) for global_races in "01" for case in cases]


def detect_fault(process: subprocess.CompletedProcess | None) -> str:
    """Returns the name of the fault or failure; empty if the run passed."""
    if process is None:
        return "endless"
    if process.returncode == 0:
        return ""
    fault = re.search(r"^PTX machine: (.*)", process.stderr, re.MULTILINE)
    return next(name for pattern, name in FAULTS if re.search(pattern, fault[1])) if fault else "wrong result"


def run_mutant(mutant: Mutant, cases: list[Case], executions: Executions, run_log: RunLog) -> None:
    removed = f"{mutant.kernel}:{mutant.number}"
    fault, detected_by = "", None
    runs = planned_runs(cases)
    for case, global_races in runs:
        limit = 20 + 30 * executions.seconds[case]
        process = executions.machine.run(case, limit, SLICESORT_PTX_REMOVE=removed, SLICESORT_PTX_ABORT="1", SLICESORT_PTX_GLOBAL_RACES=global_races)
        fault = detect_fault(process)
        if fault:
            detected_by = [case.test, case.name]
            break
    run_log.add({"mutant": mutant.id, "by": fault, "case": detected_by, "tried": len(runs)})


def short_names(kernels: list[str]) -> list[str]:
    """Returns the template argument of run_kernel<sort_tile_kernel<columns_view<float, ascending>>>(..), without namespaces."""
    demangled = subprocess.run(["c++filt"], input="\n".join(kernels), capture_output=True, encoding="utf-8", check=False).stdout.splitlines()
    return [re.sub(r"\w+::", "", name).partition("run_kernel<")[2].partition(" >(")[0] or name for name in demangled]


def print_table(mutants: dict[Mutant, list[Case]], results: dict[str, dict]) -> int:
    by_kind: dict[str, Counter] = {}
    survivors = []
    for mutant, cases in mutants.items():
        result = results[mutant.id]
        by_kind.setdefault(mutant.kind, Counter())[result["by"] or ("survived" if cases else "never executed")] += 1
        if not result["by"]:
            survivors.append((mutant, len(cases), result["tried"]))
    columns = sorted({name for counts in by_kind.values() for name in counts}, key=lambda name: (name in ("survived", "never executed"), name))
    rows = [["removed", "all", *columns]]
    rows += [[kind, str(sum(counts.values())), *(str(counts[name]) for name in columns)] for kind, counts in sorted(by_kind.items())]
    total = sum(by_kind.values(), Counter())
    rows.append(["all", str(sum(total.values())), *(str(total[name]) for name in columns)])
    for row in rows:
        print("| " + " | ".join(row) + " |")
    kernels = short_names([mutant.kernel for mutant, _, _ in survivors])
    unexplained = 0
    for (mutant, cases, tried), kernel in zip(survivors, kernels):
        reason = next((reason for pattern, reason in EXPLAINED if re.fullmatch(pattern, f"{kernel} {mutant.number} {mutant.instruction}")), "")
        unexplained += not reason
        print(f"survivor: {mutant.device} {kernel} {mutant.number} ({mutant.instruction}): executed by {cases} cases, {tried} runs: {reason or 'unexplained'}")
    print(f"{sum(total.values()) - len(survivors)} of {sum(total.values())} detected, in {len({(m.device, m.kernel) for m in mutants})} kernels; "
          f"{unexplained} unexplained survivors")
    return 1 if unexplained else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="?", default="run_kernel", help="default: run_kernel, which is every kernel of the library")
    parser.add_argument("--build", type=Path, default=ROOT / "build/tests-cuda-ptx", help="the folder of a build of tests/run --ptx")
    parser.add_argument("--cases", default="", help="only cases whose 'test case' matches this regular expression")
    parser.add_argument("--fresh", action="store_true", help="discard earlier results")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    folder = arguments.build / "mutants"
    if arguments.fresh:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(exist_ok=True)
    machine = Machine(arguments.build)
    executions = Executions(machine, folder)
    run_log = RunLog(folder / "results.jsonl")
    with ThreadPoolExecutor(arguments.jobs) as pool:
        cases = [case for case in machine.cases() if re.search(arguments.cases, f"{case.test} {case.name}")]
        list(pool.map(executions.measure_case, cases))
        mutants = {mutant: cases for mutant, cases in executions.cases_by_mutant().items() if re.search(arguments.kernels, mutant.kernel)}
        # Survivors are tried again if more cases execute them.
        earlier_results = {line["mutant"]: line for line in run_log.lines}
        pending = [mutant for mutant, cases in mutants.items()
                if mutant.id not in earlier_results or not earlier_results[mutant.id]["by"] and earlier_results[mutant.id]["tried"] != len(planned_runs(cases))]
        print(f"{len(mutants)} synchronizations, {len(pending)} to be removed", file=sys.stderr)
        list(pool.map(lambda mutant: run_mutant(mutant, mutants[mutant], executions, run_log), pending))
    return print_table(mutants, {line["mutant"]: line for line in run_log.lines})


if __name__ == "__main__":
    sys.exit(main())
