# SPDX-License-Identifier: Apache-2.0
"""Benchmark programs of one bench/run call: their command lines and result files."""
import argparse
import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from ..results import BadResults, load
from .build import ROOT, describe_commit

# Only the operator is multithreaded; a BLAS runs on one thread.
ONE_THREAD = {name: "1" for name in ("OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")}
NON_HOST_RESULTS = re.compile(r".*-(cuda|torch|against|before\d*)")  # results of CUDA, torch, the baseline, and earlier runs


def results_folder(options: argparse.Namespace) -> Path:
    """Returns the folder of results: below --build if given, else the current folder with --program, else the checkout."""
    return (options.build or (Path.cwd() if options.host_program else ROOT)) / "bench-results"


def default_results_path(options: argparse.Namespace) -> Path:
    return results_folder(options) / f"{options.mode}{options.shapes.suffix()}.json"


def find_newest_results(options: argparse.Namespace) -> Path:
    """Finds the newest host results of options.mode, with any settings."""
    found = [path for path in results_folder(options).glob(f"{options.mode}*.json") if not NON_HOST_RESULTS.fullmatch(path.stem)]
    return max(found, key=lambda path: path.stat().st_mtime, default=default_results_path(options))


def sibling(path: Path, suffix: str) -> Path:
    """Appends a suffix to the stem: x.json, "-cuda" -> x-cuda.json."""
    return path.with_name(path.stem + suffix + path.suffix)


def count_cases(path: Path) -> int:
    """Counts the cases in a file; 0 without results."""
    try:
        return len(load(str(path))[1])
    except BadResults:
        return 0


class EarlierResults:
    """Backs up the results that a run overwrites. Restores them if the run has no results; keeps them under another name if they
    have more cases."""

    def __init__(self, paths: list[Path], scratch: Path) -> None:
        self.paths = paths
        self.copies = {path: Path(shutil.copy2(path, scratch / f"earlier-{i}.json")) for i, path in enumerate(paths) if path.exists()}

    def restore_or_archive(self) -> list[str]:
        """Restores or archives the earlier results. Returns notices for the user."""
        notices, has_results = [], any(map(count_cases, self.paths))
        for path, copy in self.copies.items():
            before, after = count_cases(copy), count_cases(path)
            if not has_results:
                shutil.copy2(copy, path)
            elif before > after:
                candidates = (sibling(path, f"-before{i or ''}") for i in itertools.count())
                target = next(candidate for candidate in candidates if not candidate.exists())
                shutil.copy2(copy, target)
                notices.append(f"{path.name} held {before} cases and now holds {after}; the earlier run is kept as {target.name}.")
        return notices


class Programs:
    """Benchmark programs by backend (host, cuda); `baseline` holds the programs of the --against commit."""

    def __init__(self, options: argparse.Namespace, paths: dict[str, Path], baseline: dict[str, Path], scratch: Path) -> None:
        os.environ.update(ONE_THREAD)
        self.options, self.paths, self.baseline, self.scratch = options, paths, baseline, scratch
        self.commit = describe_commit(ROOT)
        if options.json is None:
            options.json = scratch / "smoke.json" if options.mode == "smoke" else default_results_path(options)
        options.json.parent.mkdir(parents=True, exist_ok=True)
        self.results = {"host": options.json, "cuda": sibling(options.json, "-cuda")}
        self.baseline_results = {backend: sibling(self.results[backend], "-against") for backend in baseline}
        self.torch_results = sibling(options.json, "-torch")
        self.earlier_results = EarlierResults([*self.result_files(), self.torch_results], scratch)
        self.nothing_measured = False  # true if the last run skipped every case, for example without a GPU

    def result_files(self) -> list[Path]:
        """Returns the result files of the backends of this run."""
        return [self.results[backend] for backend in self.paths]

    def command(self, backend: str) -> list[str]:
        """Returns the command line of a program, with the flags of every call."""
        return self._command_line(self.paths[backend], self.commit)

    def baseline_command(self, backend: str) -> list[str]:
        return self._command_line(self.baseline[backend], self.options.against)

    def _command_line(self, program: Path, commit: str) -> list[str]:
        return [str(program), "--text", str(self.options.text), *self.options.shapes.flags(), f"--benchmark_context=commit={commit}"]

    def case_names(self, backend: str, regex: str) -> list[str]:
        """Lists the names of the matching cases."""
        process = subprocess.run(self.command(backend) + ["--benchmark_list_tests", f"--benchmark_filter={regex}"],
                                 stdout=subprocess.PIPE, encoding="utf-8", check=False)
        if process.returncode != 0:
            sys.exit(process.returncode)
        return process.stdout.split()

    def delete_results(self) -> None:
        for path in (*self.result_files(), self.torch_results):
            path.unlink(missing_ok=True)

    def has_results(self, backend: str) -> bool:
        path = self.results[backend]
        return path.exists() and path.stat().st_size > 0

    def run_timed(self, backend: str, results: Path, regex: str, *flags: str, limit: float | None = None) -> bool:
        """Times the matching cases without printing Google Benchmark's table. Returns false if the program failed."""
        try:
            process = subprocess.run(self.command(backend) + [f"--benchmark_out={results}", "--benchmark_out_format=json", "--progress",
                                                              f"--benchmark_filter={regex}", *flags, *self.options.flags],
                                     stdout=subprocess.PIPE, encoding="utf-8", timeout=limit, check=False)
            status, output = f"status {process.returncode}", process.stdout
        except subprocess.TimeoutExpired as timeout:
            status, output = f"stopped after {limit:g} s", (timeout.stdout or b"").decode(errors="replace")
        reasons = [line for line in output.splitlines() if line.startswith("nothing measured")]
        self.nothing_measured = bool(reasons)
        if reasons:
            print("\n".join(reasons))
        if status != "status 0":
            print(f"bench/run: the bench program failed ({status})", file=sys.stderr)
        return status == "status 0"
