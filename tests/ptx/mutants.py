#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Would anybody notice a missing barrier? Removes every synchronization of every compiled kernel, one at a time (barriers,
bar.warp.sync, pairs of a cluster's barrier, waits for asynchronous copies), and runs tests that execute it on the PTX
machine: a fault of the machine or a failed assertion must notice. docs/ptx_machine/mutants.md has the table and what
survived.

  tests/run --ptx && python3 tests/ptx/mutants.py [--fresh] [REGEX of mangled names]

What is finished is kept in the build's folder mutants/, and is not repeated. Exit status 1: there are survivors that
nobody has explained."""
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
from journal import Journal  # noqa: E402
LONGEST_CASE = 30.0  # seconds without a mutant; longer ones are left out

# What a fault of the machine says, and what it is called in the table.
FAULTS = (("race in global memory", "global race"), ("race", "race"), ("was never written", "unwritten read"), ("under way", "copy under way"),
          ("leaves the cluster|of the cluster, which has ended", "early exit"), ("", "other fault"))

# Survivors, as "body number instruction", and why nobody can notice.
EXPLAINED = (
    (r"attention_backward_kv_kernel<pattern_mask, .*> 6 bar\.sync.*", "before gradients are staged where keys lay: such a mask stages every tile, behind a barrier"),
    (r"attention_backward_q_kernel<pattern_mask, .*> [89] bar\.sync.*", "the same, where queries lay"),
    (r"sort_tile_kernel<.*> 0 barrier\.cluster\.arrive;", "waits until the blocks that share a tile have begun: the machine begins them together"),
    (r"return_pairs_kernel<.*> 0 bar\.sync.*", "never executed: only shifted pairs are staged, and other kernels return those"),
)


@dataclass(frozen=True)
class Case:
    """A test case of a program, run as the test of that name is, on a device."""
    test: str
    name: str
    device: str


@dataclass(frozen=True)
class Mutant:
    device: str  # sm_80 has other code for the same kernel
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
    """The tests that ctest runs on the PTX machine, in a build of tests/run --ptx."""

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
        """Kernels of bfloat16 are compiled for sm_80, too."""
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
        """None: it takes longer than that."""
        name = case.name.replace(",", "\\,")
        try:
            return subprocess.run([self.commands[case.test][0], f"--test-case={name}", "--no-colors"], capture_output=True, encoding="utf-8",
                                  errors="replace", timeout=limit, check=False, env={**self.environments[case.test], **variables, "SLICESORT_PTX_DEVICE": case.device})
        except subprocess.TimeoutExpired:
            return None


def table(path: Path) -> list[dict]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


class Executions:
    """Which case executes which synchronization, and how long a case takes."""

    def __init__(self, machine: Machine, folder: Path) -> None:
        self.machine, self.logs, self.journal = machine, folder / "logs", Journal(folder / "executions.jsonl")
        self.seconds = {Case(*line["case"]): line["seconds"] for line in self.journal.lines}

    def measure(self, case: Case) -> None:
        if case in self.seconds:
            return
        log = self.logs / str(threading.get_ident())
        shutil.rmtree(log, ignore_errors=True)
        log.mkdir(parents=True)
        begun = time.monotonic()
        done = self.machine.run(case, 4 * LONGEST_CASE, SLICESORT_PTX_LOG=str(log), SLICESORT_PTX_COUNT_MEMORY="1")
        seconds = time.monotonic() - begun
        passes = done is not None and done.returncode == 0
        if done is not None and not passes:
            print(f"left out, for it fails without any mutant: {case.test}, '{case.name}', {case.device}", file=sys.stderr)
        found = []
        for path in log.glob("*.synchronizations.tsv") if passes else ():
            executed = {(row["kernel"], row["line"]) for row in table(Path(str(path).replace(".synchronizations", ".instructions")))}
            found += [[row["kernel"], int(row["number"]), row["instruction"].strip(), (row["kernel"], row["line"]) in executed]
                      for row in table(path)]
        shutil.rmtree(log)
        self.seconds[case] = seconds
        self.journal.add({"case": [case.test, case.name, case.device], "seconds": seconds, "synchronizations": found})

    def mutants(self) -> dict[Mutant, list[Case]]:
        """With the cases that execute the synchronization, the quickest first."""
        found: dict[Mutant, list[Case]] = {}
        for line in self.journal.lines:
            case = Case(*line["case"])
            for kernel, number, instruction, executed in line["synchronizations"]:
                cases = found.setdefault(Mutant(case.device, kernel, number, instruction), [])
                if executed and self.seconds[case] <= LONGEST_CASE:
                    cases.append(case)
        for cases in found.values():
            cases.sort(key=self.seconds.get)
        return found


def tries(cases: list[Case]) -> list[tuple[Case, str]]:
    """All, the quickest first; then all once more, with global memory watched for races."""
    return [(case, global_races) for global_races in "01" for case in cases]


def what_noticed(done: subprocess.CompletedProcess | None) -> str:
    """Empty: nothing did."""
    if done is None:
        return "endless"
    if done.returncode == 0:
        return ""
    fault = re.search(r"^PTX machine: (.*)", done.stderr, re.MULTILINE)
    return next(name for said, name in FAULTS if re.search(said, fault[1])) if fault else "wrong result"


def judge(mutant: Mutant, cases: list[Case], executions: Executions, journal: Journal) -> None:
    removed = f"{mutant.kernel}:{mutant.number}"
    by, noticed_by = "", None
    runs = tries(cases)
    for case, global_races in runs:
        limit = 20 + 30 * executions.seconds[case]
        done = executions.machine.run(case, limit, SLICESORT_PTX_REMOVE=removed, SLICESORT_PTX_ABORT="1", SLICESORT_PTX_GLOBAL_RACES=global_races)
        by = what_noticed(done)
        if by:
            noticed_by = [case.test, case.name]
            break
    journal.add({"mutant": mutant.id, "by": by, "case": noticed_by, "tried": len(runs)})


def short_names(kernels: list[str]) -> list[str]:
    """Of run_kernel<sort_tile_kernel<columns_view<float, ascending>>>(..) the body, without namespaces."""
    demangled = subprocess.run(["c++filt"], input="\n".join(kernels), capture_output=True, encoding="utf-8", check=False).stdout.splitlines()
    return [re.sub(r"\w+::", "", name).partition("run_kernel<")[2].partition(" >(")[0] or name for name in demangled]


def print_table(mutants: dict[Mutant, list[Case]], verdicts: dict[str, dict]) -> int:
    by_kind: dict[str, Counter] = {}
    survivors = []
    for mutant, cases in mutants.items():
        verdict = verdicts[mutant.id]
        by_kind.setdefault(mutant.kind, Counter())[verdict["by"] or ("survived" if cases else "never executed")] += 1
        if not verdict["by"]:
            survivors.append((mutant, len(cases), verdict["tried"]))
    columns = sorted({by for counts in by_kind.values() for by in counts}, key=lambda by: (by in ("survived", "never executed"), by))
    rows = [["removed", "all", *columns]]
    rows += [[kind, str(sum(counts.values())), *(str(counts[by]) for by in columns)] for kind, counts in sorted(by_kind.items())]
    total = sum(by_kind.values(), Counter())
    rows.append(["all", str(sum(total.values())), *(str(total[by]) for by in columns)])
    for row in rows:
        print("| " + " | ".join(row) + " |")
    bodies = short_names([mutant.kernel for mutant, _, _ in survivors])
    unexplained = 0
    for (mutant, cases, tried), body in zip(survivors, bodies):
        why = next((why for known, why in EXPLAINED if re.fullmatch(known, f"{body} {mutant.number} {mutant.instruction}")), "")
        unexplained += not why
        print(f"survivor: {mutant.device} {body} {mutant.number} ({mutant.instruction}): executed by {cases} cases, {tried} runs: {why or 'WHY?'}")
    print(f"{sum(total.values()) - len(survivors)} of {sum(total.values())} noticed, in {len({(m.device, m.kernel) for m in mutants})} kernels; "
          f"{unexplained} survivors without an explanation")
    return 1 if unexplained else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="?", default="run_kernel", help="default: run_kernel, which is every kernel of the library")
    parser.add_argument("--build", type=Path, default=ROOT / "build/tests-cuda-ptx", help="the folder of a build of tests/run --ptx")
    parser.add_argument("--cases", default="", help="only 'test case' that match this regular expression")
    parser.add_argument("--fresh", action="store_true", help="start anew")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    folder = arguments.build / "mutants"
    if arguments.fresh:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(exist_ok=True)
    machine = Machine(arguments.build)
    executions = Executions(machine, folder)
    journal = Journal(folder / "verdicts.jsonl")
    with ThreadPoolExecutor(arguments.jobs) as pool:
        cases = [case for case in machine.cases() if re.search(arguments.cases, f"{case.test} {case.name}")]
        list(pool.map(executions.measure, cases))
        mutants = {mutant: cases for mutant, cases in executions.mutants().items() if re.search(arguments.kernels, mutant.kernel)}
        # What survived is tried again once more cases execute it.
        judged = {line["mutant"]: line for line in journal.lines}
        left = [mutant for mutant, cases in mutants.items()
                if mutant.id not in judged or not judged[mutant.id]["by"] and judged[mutant.id]["tried"] != len(tries(cases))]
        print(f"{len(mutants)} synchronizations, {len(left)} to be removed", file=sys.stderr)
        list(pool.map(lambda mutant: judge(mutant, mutants[mutant], executions, journal), left))
    return print_table(mutants, {line["mutant"]: line for line in journal.lines})


if __name__ == "__main__":
    sys.exit(main())
