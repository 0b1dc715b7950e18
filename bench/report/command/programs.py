# SPDX-License-Identifier: Apache-2.0
"""The bench programs of one call: what they are called with, and where their results go."""
import argparse
import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from ..results import BadResults, load
from .build import ROOT, commit_of

# Cases say how many threads they have; a BLAS has one.
ONE_THREAD = {name: "1" for name in ("OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")}


BESIDE = re.compile(r".*-(cuda|torch|against|before\d*)")  # names of files beside the host's results


def folder_of_results(o: argparse.Namespace) -> Path:
    """Beside the build where that has a place of its own; with a user's program, the current folder."""
    return (o.build or (Path.cwd() if o.host_program else ROOT)) / "bench-results"


def default_results(o: argparse.Namespace) -> Path:
    return folder_of_results(o) / f"{o.mode}{o.shapes.suffix()}.json"


def newest_results(o: argparse.Namespace) -> Path:
    """The host's newest results of that mode, of any settings."""
    found = [path for path in folder_of_results(o).glob(f"{o.mode}*.json") if not BESIDE.fullmatch(path.stem)]
    return max(found, key=lambda path: path.stat().st_mtime, default=default_results(o))


def beside(path: Path, ending: str) -> Path:
    return path.with_name(path.stem + ending + path.suffix)


def count_cases(path: Path) -> int:
    """0 where there are no results."""
    try:
        return len(load(str(path))[1])
    except BadResults:
        return 0


class Earlier:
    """Results that lie where a run writes its own. A run without results leaves them there; if they have more cases than the
    run's, they are kept beside those."""

    def __init__(self, paths: list[Path], scratch: Path) -> None:
        self.paths = paths
        self.copies = {path: Path(shutil.copy2(path, scratch / f"earlier-{i}.json")) for i, path in enumerate(paths) if path.exists()}

    def keep_larger(self) -> list[str]:
        """Notices of what was kept."""
        said, measured = [], any(map(count_cases, self.paths))
        for path, copy in self.copies.items():
            before, now = count_cases(copy), count_cases(path)
            if not measured:
                shutil.copy2(copy, path)
            elif before > now:
                places = (beside(path, f"-before{i or ''}") for i in itertools.count())
                place = next(place for place in places if count_cases(place) <= before)
                shutil.copy2(copy, place)
                said.append(f"{path.name} held {before} cases and now holds {now}; the earlier run is kept as {place.name}.")
        return said


class Programs:
    """`others` are those of the commit that --against names."""

    def __init__(self, o: argparse.Namespace, paths: dict[str, Path], others: dict[str, Path], scratch: Path) -> None:
        os.environ.update(ONE_THREAD)
        self.o, self.paths, self.others, self.scratch = o, paths, others, scratch
        self.commit = commit_of(ROOT)
        if o.json is None:
            o.json = scratch / "smoke.json" if o.mode == "smoke" else default_results(o)
        o.json.parent.mkdir(parents=True, exist_ok=True)
        self.results = {"host": o.json, "cuda": beside(o.json, "-cuda")}
        self.results_of_others = {part: beside(self.results[part], "-against") for part in others}
        self.torch = beside(o.json, "-torch")
        self.earlier = Earlier([*self.measured_here(), self.torch], scratch)
        self.nothing_measured = False  # this machine lacks what a program needs

    def measured_here(self) -> list[Path]:
        """Results of the parts that this run measures; those of another part stay."""
        return [self.results[part] for part in self.paths]

    def command(self, part: str) -> list[str]:
        """The program with what every call of it takes."""
        return self._command(self.paths[part], self.commit)

    def command_of_other(self, part: str) -> list[str]:
        return self._command(self.others[part], self.o.against)

    def _command(self, program: Path, commit: str) -> list[str]:
        return [str(program), "--text", str(self.o.text), *self.o.shapes.flags(), f"--benchmark_context=commit={commit}"]

    def names(self, part: str, regex: str) -> list[str]:
        """Of the cases that match."""
        done = subprocess.run(self.command(part) + ["--benchmark_list_tests", f"--benchmark_filter={regex}"],
                              stdout=subprocess.PIPE, encoding="utf-8", check=False)
        if done.returncode != 0:
            sys.exit(done.returncode)
        return done.stdout.split()

    def forget_results(self) -> None:
        for path in (*self.measured_here(), self.torch):
            path.unlink(missing_ok=True)

    def measured(self, part: str) -> bool:
        path = self.results[part]
        return path.exists() and path.stat().st_size > 0

    def timed(self, part: str, results: Path, regex: str, *flags: str, limit: float | None = None) -> bool:
        """Times what matches. Google Benchmark's own table goes nowhere."""
        try:
            done = subprocess.run(self.command(part) + [f"--benchmark_out={results}", "--benchmark_out_format=json", "--progress",
                                                        f"--benchmark_filter={regex}", *flags, *self.o.flags],
                                  stdout=subprocess.PIPE, encoding="utf-8", timeout=limit, check=False)
            status, said = f"status {done.returncode}", done.stdout
        except subprocess.TimeoutExpired as late:
            status, said = f"stopped after {limit:g} s", (late.stdout or b"").decode(errors="replace")
        why = [line for line in said.splitlines() if line.startswith("nothing measured")]
        self.nothing_measured = bool(why)
        if why:
            print("\n".join(why))
        if status != "status 0":
            print(f"bench/run: the bench program failed ({status})", file=sys.stderr)
        return status == "status 0"
