# SPDX-License-Identifier: Apache-2.0
"""Builds the bench programs that a call of bench/run needs, and installs what the build and the pictures need."""
import argparse
import glob
import importlib.util
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from .options import ROOT, Refused
from ..contestants import FAMILIES, REFERENCE
from .shapes import DTYPES
from .build_progress import Build

SUBJECTS = ROOT / "bench/cases/host"  # a file for each; its name is the subject's


class Failed(Exception):
    """Something did not work; exit status 1."""


def output_of(*command: str) -> str:
    """Empty where the command fails or is not there."""
    try:
        return subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def gpu_capability() -> str:
    """Such as 90; empty without a GPU."""
    found = output_of("nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader").split("\n")[0].replace(".", "")
    return found if found.isdigit() else ""


def choose_parts(o: argparse.Namespace) -> None:
    """The host, the GPU or both: the GPU part is built where there is nvcc and a reason to, measured where there is a GPU."""
    o.nvcc = os.environ.get("CUDACXX") or shutil.which("nvcc") or next(iter(glob.glob("/usr/local/cuda/bin/nvcc")), "")
    o.capability = gpu_capability()
    o.parts = ["host"] if o.cuda != "only-cuda" else []
    if o.cuda == "no-cuda":
        return
    if not o.nvcc:
        if o.cuda != "auto":
            raise Refused("there is no nvcc (CUDACXX can name one)")
        o.notices.append("This machine has a GPU but no nvcc, so only the host was measured (CUDACXX can name an nvcc)." if o.capability else
                         "This machine has no GPU, so only the host was measured.")
    elif not o.capability and o.cuda == "auto" and o.mode != "smoke":
        o.notices.append("This machine has no GPU, so only the host was measured.")
    else:
        o.parts.append("cuda")


def install(*packages: str, needed: bool = True) -> None:
    done = subprocess.run([ROOT / "tests/install_deps", *packages], stdout=sys.stderr, check=False)
    if needed and done.returncode != 0:
        raise Failed("what the bench needs is missing")


def install_what_is_missing() -> list[str]:
    """Returns what CMake must know of it. Google Benchmark may lie in .deps (tests/pack_deps fills it), for machines without
    a network; nothing is installed there then."""
    if (ROOT / ".deps/include/benchmark/benchmark.h").exists():
        install("g++", "cmake", "ninja-build")
        return [f"-DCMAKE_PREFIX_PATH={ROOT}/.deps"]
    install("g++", "cmake", "ninja-build", "libbenchmark-dev")
    install("python3-matplotlib", "libopenblas-dev", needed=False)
    return []


def python_with(module: str) -> str:
    """The first Python that has it; this one if there is none."""
    other = "/usr/bin/python3"  # of Debian's packages, which may not be the first one on the path
    asked = f"import sys, {module}; print(sys.version_info >= (3, 11))"
    return other if importlib.util.find_spec(module) is None and output_of(other, "-c", asked) == "True" else sys.executable


def configuration(o: argparse.Namespace) -> tuple[Path, list[str]]:
    """The folder of the build, and CMake's options."""
    name, cuda = "bench", "cuda" in o.parts
    options = [f"-DSLICESORT_CUDA={'ON' if cuda else 'OFF'}", f"-DSLICESORT_BENCH_HOST={'ON' if 'host' in o.parts else 'OFF'}"]
    name += "-cuda" * cuda + "-only" * ("host" not in o.parts)
    if o.mode == "smoke":
        name += "-smoke"
        # Nothing is timed in earnest, so compilers may be quick; -G is nvcc's word for no optimization of kernels. Where there is
        # a GPU, the kernels run as they are: with -G some need more registers than a block has.
        options += ["-DCMAKE_CXX_FLAGS_RELEASE=-O0", f"-DCMAKE_CUDA_FLAGS_RELEASE={'-O1' if o.capability else '-O0 -G'}"]
    subjects = ([REFERENCE.subject] if o.only else FAMILIES) if o.mode == "arena" else ()
    options += [f"-DSLICESORT_BENCH_DTYPES={';'.join(DTYPES[name] for name in o.shapes.built_dtypes())}",
                f"-DSLICESORT_BENCH_SUBJECTS={';'.join(subjects)}"]
    if cuda:
        # Where nothing will be measured, one type shows that it builds.
        measured = o.shapes.built_dtypes() if o.mode == "arena" else DTYPES
        options += [f"-DSLICESORT_BENCH_CUDA_DTYPES={';'.join(DTYPES[name] for name in measured) if o.capability else 'float'}", f"-DCMAKE_CUDA_COMPILER={o.nvcc}",
                    f"-DCMAKE_CUDA_ARCHITECTURES={os.environ.get('CUDAARCHS') or o.capability or '90'}"]
    return o.build_folder / name, options


def prepare(o: argparse.Namespace) -> None:
    """Everything before the build."""
    choose_parts(o)
    o.prefix = install_what_is_missing()


def go_on_where_pictures_are(argv: list[str]) -> None:
    """In a Python that has matplotlib; without any there are no pictures."""
    python = python_with("matplotlib")
    if python != sys.executable:
        os.execv(python, [python, "-m", "report.command", *argv])


def build(o: argparse.Namespace) -> dict[str, Path]:
    """The programs by part."""
    folder, options = configuration(o)
    options.append(f"-DSLICESORT_BENCH_WITH={';'.join(map(str, o.own))}")
    if not o.own:
        return build_from(o, ROOT, folder, options)
    # First what takes seconds: mistakes in the file, and in its names.
    build_targets(o, ROOT, folder, options, ["slicesort_bench_own"], ["slicesort_bench_alone"])
    check_names(folder / "bench/slicesort_bench_alone")
    return build_from(o, ROOT, folder, options, "slicesort_bench_with")


def check_names(program: Path) -> None:
    """Refuses operators of --with whose names cannot be."""
    listed = subprocess.run([program, "--benchmark_list_tests"], capture_output=True, encoding="utf-8", check=False)
    if listed.returncode != 0:
        raise Refused("--with: " + listed.stderr.strip().removeprefix("bench: "))
    names = {name.partition("/")[0] for name in listed.stdout.split()}
    if not names:
        raise Refused("--with: no operator is registered (slicesort::bench::contestant)")
    for name in sorted(names & {path.stem for path in SUBJECTS.glob("*.cpp")}):
        raise Refused(f"--with: two contestants are called {name}: the library has one")


def build_other(o: argparse.Namespace) -> dict[str, Path]:
    """The programs of the commit that --against names, from a copy of its files."""
    commit = output_of("git", "-C", str(ROOT), "rev-parse", "--short", "--verify", "--end-of-options", f"{o.against}^{{commit}}")
    if not commit:
        raise Refused(f"--against: there is no commit {o.against}")
    o.against = commit
    folder, options = configuration(o)
    folder = o.build_folder / f"{folder.name}-at-{commit}"
    source = folder / "source"
    if not source.exists():
        # Not a git worktree, which would be noted in a checkout that may be read-only.
        unpacked = folder / "unpacked"
        unpacked.mkdir(parents=True, exist_ok=True)
        with subprocess.Popen(["git", "-C", str(ROOT), "archive", commit], stdout=subprocess.PIPE) as files:
            subprocess.run(["tar", "-x", "-C", str(unpacked)], stdin=files.stdout, check=True)
        unpacked.rename(source)
    print(f"{commit}: ", end="", file=sys.stderr)
    return build_from(o, source, folder / "build", options)


def build_from(o: argparse.Namespace, source: Path, folder: Path, options: list[str], of_host: str = "slicesort_bench") -> dict[str, Path]:
    names = {"host": of_host, "cuda": "slicesort_bench_cuda"}
    programs = {part: folder / "bench" / names[part] for part in o.parts}
    begun = time.monotonic()
    build_targets(o, source, folder, options, [program.name for program in programs.values()])
    if "cuda" in o.parts:
        print(f"built in {time.monotonic() - begun:.0f} s", file=sys.stderr)
    return programs


def build_targets(o: argparse.Namespace, source: Path, folder: Path, options: list[str], *targets: list[str]) -> None:
    """One after the other; ends at the first that fails."""
    print(f"building {', '.join(name for names in targets for name in names)} (Release, {'-O0' if o.mode == 'smoke' else 'default flags'})",
          file=sys.stderr, flush=True)
    progress = Build()
    configure = ["cmake", "-S", str(source), "-B", str(folder), "-G", "Ninja", "--no-warn-unused-cli", "-DCMAKE_BUILD_TYPE=Release", "-DSLICESORT_BUILD_BENCH=ON",
                 "-DSLICESORT_BUILD_TESTS=OFF", "-DSLICESORT_BUILD_EXAMPLES=OFF", *options, *o.prefix]
    steps = [configure] + [["cmake", "--build", str(folder), "--target", *names] for names in targets]
    if not all(progress.run(step) for step in steps):
        print("\n".join(progress.last_lines), file=sys.stderr)
        raise Failed("the build failed")


def commit_of(folder: Path) -> str:
    """Of a checkout; with what is not committed, it says so."""
    commit = output_of("git", "-C", str(folder), "rev-parse", "--short", "HEAD")
    changed = commit and output_of("git", "-C", str(folder), "status", "--porcelain", "--", "include", "bench")
    return (commit or "unknown") + ("+changes" if changed else "")
