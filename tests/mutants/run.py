#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mutation test of the library. Builds all mutants of generate.py into one set of test programs. For each mutant, runs the
programs that reach it, fastest first, until one fails, crashes or exceeds its time limit.

  tests/mutants/run.py                 all mutants, by the programs of ./tests/run
  tests/mutants/run.py --leg full      survivors, by the programs of CI with --full
  tests/mutants/run.py --leg plain     survivors, in the code without vector extensions
  tests/mutants/run.py --leg address   survivors, under AddressSanitizer
  tests/mutants/run.py --table         only the table

Results are stored in build/mutants and not computed again; survivors run again if a program has changed. equivalent.tsv lists
equivalent mutants: file, source line, mutation, reason. Exit status 1: a survivor is not listed there."""
import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import generate
from run_log import RunLog

FOLDER = generate.ROOT / "build/mutants"
TREE = FOLDER / "tree"


@dataclass(frozen=True)
class Leg:
    """A test suite of .ci/run: its build and its programs. Excludes learning, whose training tolerates a wrong token."""
    folder: str = "programs"
    options: tuple[str, ...] = ()
    flags: str = "-O1 -fexpensive-optimizations"  # without it, g++ does not clear the upper halves of registers between kernels
    variables: tuple[tuple[str, str], ...] = ()
    programs: str = r"(?!learning).*"
    memory: str = str(8 << 20)  # KiB that a program may map


def programs_of(suite: str) -> str:
    """Returns a regex of the programs that .ci/run lists for a suite, without learning/*."""
    listed = re.search(rf'suite "{re.escape(suite)}".*?--programs "([^"]*)"', (generate.ROOT / ".ci/run").read_text(encoding="utf-8"), re.DOTALL)
    assert listed, f".ci/run has no suite '{suite}'"
    return "|".join(pattern.replace("/", "_").replace("*", ".*") for pattern in listed[1].split() if not pattern.startswith("learning/"))


TWO_TYPES = "-DSLICESORT_TEST_TYPES=float;bfloat16"
LEGS = {
    "run": Leg(),
    "full": Leg(variables=(("SLICESORT_FULL", "1"),), programs=r".*_(sizes|oracles|index|lengths|groups)|shuffle|max_exchange|permute"),
    "plain": Leg("plain", ("-DSLICESORT_TEST_HOST_ONLY=ON", "-DCMAKE_CXX_STANDARD=20", TWO_TYPES), "-O2 -ffast-math -DSLICESORT_NO_VECTOR_EXTENSIONS",
                 programs=programs_of("g++ C++20, -ffast-math, no vector extensions")),
    "address": Leg("address", ("-DSLICESORT_SANITIZE=address", TWO_TYPES), "-O0 -g1", memory="unlimited",
                   programs=programs_of("address and undefined behaviour")),
}


def read_equivalent() -> dict[str, str]:
    """Returns the reasons of equivalent mutants, by key."""
    lines = (Path(__file__).parent / "equivalent.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return {"\t".join(row[:3]): row[3] for row in rows}


class Build:
    """Test programs with all mutants."""

    def __init__(self, leg: Leg, jobs: int) -> None:
        self.leg, self.folder, self.jobs = leg, FOLDER / leg.folder, jobs
        self.mutants: dict[int, generate.Mutant] = {}

    def build(self, programs: str, built: bool) -> None:
        """Compiles the programs, and replaces mutants that the compiler rejects. With `built`, compiles nothing."""
        rejected_file = FOLDER / "rejected.json"
        rejected = json.loads(rejected_file.read_text(encoding="utf-8")) if rejected_file.exists() else []
        mutants = generate.find_all_mutants(generate.ROOT)
        for _ in range(20):
            self.mutants = generate.choose(mutants, frozenset(rejected))
            if built:
                by_key = {mutant.key: mutant for mutant in mutants}
                numbers = json.loads((TREE / "mutants.json").read_text(encoding="utf-8"))
                self.mutants = {int(number): by_key[key] for number, key in numbers.items() if key in by_key}
                self.programs = self.matching_programs(programs)
                return
            generate.write_tree(generate.ROOT, TREE, self.mutants)
            errors = self.compile(programs)
            if errors is None:
                return
            rejected_keys = [m.key for m in self.mutants.values() if (m.file, line_of(m)) in errors or any((m.file, line_of(m) + k) in errors for k in range(m.text.count("\n") + 1))]
            print("\n".join(f"the compiler rejects {key}" for key in rejected_keys), file=sys.stderr, flush=True)
            if not rejected_keys:
                sys.exit(f"the build failed: {self.folder}/build.log")
            rejected += rejected_keys
            rejected_file.write_text(json.dumps(rejected, indent=1), encoding="utf-8")
        sys.exit("too many mutants that the compiler rejects")

    def compile(self, programs: str) -> set[tuple[str, int]] | None:
        """Returns the file and line of each compiler error, or None."""
        self.folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cmake", "-S", TREE, "-B", self.folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_CXX_FLAGS_RELEASE={self.leg.flags} -w ", *self.leg.options,
                        "-DSLICESORT_WARNINGS_ARE_ERRORS=OFF", "-DSLICESORT_CUDA=OFF", "-DSLICESORT_BUILD_TESTS=ON", "-DSLICESORT_BUILD_EXAMPLES=OFF",
                        "-DSLICESORT_BUILD_BENCH=OFF", "--log-level=WARNING"], check=True, stdout=subprocess.DEVNULL)
        self.programs = self.matching_programs(programs)
        with (self.folder / "build.log").open("w", encoding="utf-8") as log:
            process = subprocess.run(["cmake", "--build", self.folder, "-j", str(self.jobs), "--target", *(f"slicesort_test_{p}" for p in self.programs), "--", "-k", "0"],
                                     stdout=log, stderr=subprocess.STDOUT, check=False)
        if process.returncode == 0:
            return None
        errors = re.findall(r"include/slicesort/detail/(\S+?):(\d+):(?:\d+:)? error", (self.folder / "build.log").read_text(encoding="utf-8"))
        return {(file, int(line)) for file, line in errors}

    def matching_programs(self, programs: str) -> list[str]:
        lines = (self.folder / "test_programs.txt").read_text(encoding="utf-8").splitlines()
        names = [line.split()[1] for line in lines]
        return [name for name in names if re.fullmatch(programs, name) and re.fullmatch(self.leg.programs, name)]

    def binary(self, program: str) -> Path:
        return self.folder / "tests" / f"slicesort_test_{program}"

    def digest(self, program: str) -> str:
        return hashlib.sha1(self.binary(program).read_bytes()).hexdigest()[:12]

    def run(self, program: str, number: int, limit: float | None, **variables: str) -> str:
        """Runs a program with a mutant. Returns the kind of failure; empty if it passed."""
        command = ["sh", "-c", f'ulimit -c 0 && ulimit -v {self.leg.memory} && exec "$@"', "sh", self.binary(program), "--abort-after=1", "--no-colors"]
        try:
            process = subprocess.run(command, env={**os.environ, "SLICESORT_MUTANT": str(number), **dict(self.leg.variables), **variables}, timeout=limit, cwd=self.folder,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        except subprocess.TimeoutExpired:
            return "endless"
        return "" if process.returncode in (0, 77) else "crash" if process.returncode < 0 else "failure"


def line_of(mutant: generate.Mutant) -> int:
    return (generate.ROOT / generate.DETAIL / mutant.file).read_text(encoding="utf-8").count("\n", 0, mutant.begin) + 1


def measure_program(build: Build, program: str, run_log: RunLog) -> dict:
    """Measures a program's seconds without a mutant, and records the keys of the mutants that it reaches."""
    digest = build.digest(program)
    for line in run_log.lines:
        if line["program"] == program and line["digest"] == digest:
            return line
    output = build.folder / f"reached_{program}"
    output.unlink(missing_ok=True)
    start = time.monotonic()
    failed = build.run(program, -1, None, SLICESORT_MUTANTS_REACHED=str(output))
    seconds = time.monotonic() - start
    if failed:
        print(f"skipped, since it fails without a mutant: {program}", file=sys.stderr, flush=True)
    numbers = [int(word) for word in output.read_text(encoding="utf-8").split()] if output.exists() and not failed else []
    line = {"program": program, "digest": digest, "seconds": seconds, "reached": [build.mutants[n].key for n in numbers]}
    run_log.add(line)
    return line


def run_mutant(build: Build, number: int, programs: list[dict], tried: dict[str, str], name: str, quick: float, run_log: RunLog) -> None:
    mutant = build.mutants[number]
    start = time.monotonic()
    program, failure = "", ""
    for line in sorted(programs, key=lambda line: line["seconds"]):
        if tried.get(line["program"]) == line["digest"]:
            continue
        limit = 20 + 20 * line["seconds"]
        failure = build.run(line["program"], number, min(limit, quick))
        if failure == "endless" and quick < limit:
            failure = ""
            continue
        tried[line["program"]] = line["digest"]
        if failure:
            program = line["program"]
            break
    run_log.add({"mutant": mutant.key, "leg": name, "by": program, "how": failure, "tried": tried, "seconds": time.monotonic() - start})
    print(f"{time.monotonic() - start:.0f} s, {number} {program or ('SURVIVES' if programs else 'UNREACHED')} {failure} {mutant.key}".replace("\t", " | "), flush=True)


def print_table(mutants: list[generate.Mutant], lines: list[dict]) -> int:
    equivalents = read_equivalent()
    by_run = {line["mutant"] for line in lines if line["leg"] == "run" and line["by"]}
    by_all = {line["mutant"] for line in lines if line["by"]}
    tested = {line["mutant"] for line in lines}
    areas: dict[str, Counter] = {}
    survivors = []
    for mutant in mutants:
        counts = areas.setdefault(mutant.area, Counter())
        key = mutant.key
        counts["mutants"] += 1
        counts["not run"] += key not in tested
        counts["tests/run"] += key in by_run
        counts["CI"] += key in by_all
        survives = key in tested and key not in by_all
        counts["equivalent"] += survives and key in equivalents
        counts["survivors"] += survives and key not in equivalents
        if survives and key not in equivalents:
            survivors.append(key)
        if key in by_all and key in equivalents:
            print(f"listed as equivalent, but detected: {key}")
    columns = ("mutants", "not run", "tests/run", "CI", "equivalent", "survivors")
    print("| | " + " | ".join(columns) + " |\n|---|" + "---:|" * len(columns))
    for area, counts in [*sorted(areas.items()), ("all", sum(areas.values(), Counter()))]:
        print(f"| {area} | " + " | ".join(str(counts[column]) for column in columns) + " |")
    for key in survivors:
        print("survivor: " + key.replace("\t", " | "))
    return 1 if survivors else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--leg", choices=LEGS, default="run")
    parser.add_argument("--programs", default=".*", help="only test programs that match")
    parser.add_argument("--quick", type=float, default=float("inf"), metavar="SECONDS", help="a first pass: time limit of a program")
    parser.add_argument("--areas", default=".*", help="only mutants of areas that match")
    parser.add_argument("--built", action="store_true", help="use the existing build")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    run_log = RunLog(FOLDER / "results.jsonl")
    build = Build(LEGS[arguments.leg], arguments.jobs)
    if arguments.table:
        rejected_file = FOLDER / "rejected.json"
        rejected = json.loads(rejected_file.read_text(encoding="utf-8")) if rejected_file.exists() else []
        return print_table(list(generate.choose(generate.find_all_mutants(generate.ROOT), frozenset(rejected)).values()), run_log.lines)
    build.build(arguments.programs, arguments.built)
    reached = RunLog(FOLDER / f"reached_{arguments.leg}.jsonl")
    with ThreadPoolExecutor(arguments.jobs) as pool:
        measurements = list(pool.map(lambda program: measure_program(build, program, reached), build.programs))
        print(f"{len(build.programs)} programs, {sum(line['seconds'] for line in measurements):.0f} s without mutants", file=sys.stderr, flush=True)
        detected = {line["mutant"] for line in run_log.lines if line["by"]}
        tried = {line["mutant"]: dict(line["tried"]) for line in run_log.lines if line["leg"] == arguments.leg}
        remaining = []
        for number, mutant in build.mutants.items():
            if mutant.key in detected or mutant.key in read_equivalent() or not re.match(arguments.areas, mutant.area):
                continue
            reaching_programs = [line for line in measurements if mutant.key in line["reached"]]
            remaining.append((number, reaching_programs))
        remaining.sort(key=lambda pair: sum(line["seconds"] for line in pair[1]))
        list(pool.map(lambda pair: run_mutant(build, *pair, tried.get(build.mutants[pair[0]].key, {}), arguments.leg, arguments.quick, run_log), remaining))
    return print_table(list(build.mutants.values()), run_log.lines)


if __name__ == "__main__":
    sys.exit(main())
