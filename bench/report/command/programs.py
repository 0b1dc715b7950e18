# SPDX-License-Identifier: Apache-2.0
"""Bench programs of one call: their command lines and results."""
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

# The threads of a case are those of the operator; a BLAS has one.
ONE_THREAD = {name: "1" for name in ("OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")}
SECONDARY = re.compile(r".*-(cuda|torch|against|before\d*)")  # results that are not the host's


def folder_of_results(options: argparse.Namespace) -> Path:
    """The folder of --build; with --program, the current folder; else the checkout."""
    return (options.build or (Path.cwd() if options.host_program else ROOT)) / "bench-results"


def default_results(options: argparse.Namespace) -> Path:
    return folder_of_results(options) / f"{options.mode}{options.shapes.suffix()}.json"


def newest_results(options: argparse.Namespace) -> Path:
    """Newest results of the host in that mode, of any settings."""
    found = [path for path in folder_of_results(options).glob(f"{options.mode}*.json") if not SECONDARY.fullmatch(path.stem)]
    return max(found, key=lambda path: path.stat().st_mtime, default=default_results(options))


def beside(path: Path, ending: str) -> Path:
    return path.with_name(path.stem + ending + path.suffix)


def count_cases(path: Path) -> int:
    """Number of cases in a file; 0 without results."""
    try:
        return len(load(str(path))[1])
    except BadResults:
        return 0


class EarlierResults:
    """Copies of the results that a run overwrites. Restored if the run has no results; kept under another name if they have more
    cases than the new ones."""

    def __init__(self, paths: list[Path], scratch: Path) -> None:
        self.paths = paths
        self.copies = {path: Path(shutil.copy2(path, scratch / f"earlier-{i}.json")) for i, path in enumerate(paths) if path.exists()}

    def keep_larger(self) -> list[str]:
        """Restores or keeps earlier results, and returns notices."""
        notices, measured = [], any(map(count_cases, self.paths))
        for path, copy in self.copies.items():
            before, after = count_cases(copy), count_cases(path)
            if not measured:
                shutil.copy2(copy, path)
            elif before > after:
                candidates = (beside(path, f"-before{i or ''}") for i in itertools.count())
                target = next(candidate for candidate in candidates if count_cases(candidate) <= before)
                shutil.copy2(copy, target)
                notices.append(f"{path.name} held {before} cases and now holds {after}; the earlier run is kept as {target.name}.")
        return notices


class Programs:
    """Programs by part (host, cuda); `base` are those of the commit of --against."""

    def __init__(self, options: argparse.Namespace, paths: dict[str, Path], base: dict[str, Path], scratch: Path) -> None:
        os.environ.update(ONE_THREAD)
        self.options, self.paths, self.base, self.scratch = options, paths, base, scratch
        self.commit = commit_of(ROOT)
        if options.json is None:
            options.json = scratch / "smoke.json" if options.mode == "smoke" else default_results(options)
        options.json.parent.mkdir(parents=True, exist_ok=True)
        self.results = {"host": options.json, "cuda": beside(options.json, "-cuda")}
        self.base_results = {part: beside(self.results[part], "-against") for part in base}
        self.torch = beside(options.json, "-torch")
        self.earlier = EarlierResults([*self.measured_here(), self.torch], scratch)
        self.nothing_measured = False  # true if this machine lacks a requirement

    def measured_here(self) -> list[Path]:
        """Result files of the parts that this run measures."""
        return [self.results[part] for part in self.paths]

    def command(self, part: str) -> list[str]:
        """Command line of a program, with the flags of every call."""
        return self._command(self.paths[part], self.commit)

    def base_command(self, part: str) -> list[str]:
        return self._command(self.base[part], self.options.against)

    def _command(self, program: Path, commit: str) -> list[str]:
        return [str(program), "--text", str(self.options.text), *self.options.shapes.flags(), f"--benchmark_context=commit={commit}"]

    def names(self, part: str, regex: str) -> list[str]:
        """Names of the matching cases."""
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
        """Times the matching cases without printing Google Benchmark's table. False if the program failed."""
        try:
            done = subprocess.run(self.command(part) + [f"--benchmark_out={results}", "--benchmark_out_format=json", "--progress",
                                                        f"--benchmark_filter={regex}", *flags, *self.options.flags],
                                  stdout=subprocess.PIPE, encoding="utf-8", timeout=limit, check=False)
            status, output = f"status {done.returncode}", done.stdout
        except subprocess.TimeoutExpired as timeout:
            status, output = f"stopped after {limit:g} s", (timeout.stdout or b"").decode(errors="replace")
        reasons = [line for line in output.splitlines() if line.startswith("nothing measured")]
        self.nothing_measured = bool(reasons)
        if reasons:
            print("\n".join(reasons))
        if status != "status 0":
            print(f"bench/run: the bench program failed ({status})", file=sys.stderr)
        return status == "status 0"
