# SPDX-License-Identifier: Apache-2.0
"""Builds the bench programs. Installs the dependencies of the build and of the pictures."""
import argparse
import glob
import importlib.util
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from ..entries import ENTRIES, REFERENCE
from .build_progress import Build
from .options import ROOT, UsageError
from .shapes import DTYPES

SUBJECTS = ROOT / "bench/cases/host"  # contains SUBJECT.cpp for every subject but the recipes
RECIPE_DTYPES = {"f32", "bf16"}  # the recipes are long to compile, so bf16 only with --dtypes


class Failed(Exception):
    """A failure with exit status 1."""


def output_of(*command: str) -> str:
    """Returns the output of a command; empty if it fails or is missing."""
    try:
        return subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def find_gpu_capability() -> str:
    """Returns the compute capability, such as 90; empty without a GPU."""
    capability = output_of("nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader").split("\n")[0].replace(".", "")
    return capability if capability.isdigit() else ""


def choose_backends(options: argparse.Namespace) -> None:
    """Selects host, GPU or both. By default the GPU requires nvcc and a device."""
    options.nvcc = os.environ.get("CUDACXX") or shutil.which("nvcc") or next(iter(glob.glob("/usr/local/cuda/bin/nvcc")), "")
    options.capability = find_gpu_capability()
    options.backends = ["host"] if options.cuda != "only-cuda" else []
    if options.cuda == "no-cuda":
        return
    if not options.nvcc:
        if options.cuda != "auto":
            raise UsageError("there is no nvcc (CUDACXX can name one)")
        options.notices.append("This machine has a GPU but no nvcc, so only the host was measured (CUDACXX can name an nvcc)." if options.capability else
                               "This machine has no GPU, so only the host was measured.")
    elif not options.capability and options.cuda == "auto" and options.mode != "smoke":
        options.notices.append("This machine has no GPU, so only the host was measured.")
    else:
        options.backends.append("cuda")


def install(*packages: str, needed: bool = True) -> None:
    process = subprocess.run([ROOT / "tests/install_deps", *packages], stdout=sys.stderr, check=False)
    if needed and process.returncode != 0:
        raise Failed(f"could not install {' '.join(packages)}")


def install_dependencies() -> list[str]:
    """Installs missing packages and returns options for CMake. Google Benchmark may be in .deps, filled by tests/pack_deps for
    machines without a network."""
    if (ROOT / ".deps/include/benchmark/benchmark.h").exists():
        install("g++", "cmake", "ninja-build")
        return [f"-DCMAKE_PREFIX_PATH={ROOT}/.deps"]
    install("g++", "cmake", "ninja-build", "libbenchmark-dev")
    install("python3-matplotlib", "libopenblas-dev", needed=False)
    return []


def python_with(module: str) -> str:
    """Finds a Python that has the module: this one, or else Debian's. Returns this one if none has it."""
    debian = "/usr/bin/python3"
    test = f"import sys, {module}; print(sys.version_info >= (3, 11))"
    return debian if importlib.util.find_spec(module) is None and output_of(debian, "-c", test) == "True" else sys.executable


def cmake_configuration(options: argparse.Namespace) -> tuple[Path, list[str]]:
    """Returns the build folder and the options for CMake."""
    name, cuda = "bench", "cuda" in options.backends
    cmake_options = [f"-DSLICESORT_CUDA={'ON' if cuda else 'OFF'}", f"-DSLICESORT_BENCH_HOST={'ON' if 'host' in options.backends else 'OFF'}"]
    name += "-cuda" * cuda + "-only" * ("host" not in options.backends)
    if options.mode == "smoke":
        name += "-smoke"
        # Compiles without optimization, because times do not matter; -G disables nvcc's optimization. On a GPU, unoptimized kernels
        # would need more registers than a block has.
        cmake_options += ["-DCMAKE_CXX_FLAGS_RELEASE=-O0", f"-DCMAKE_CUDA_FLAGS_RELEASE={'-O1' if options.capability else '-O0 -G'}"]
    subjects = ([REFERENCE.subject] if options.only else dict.fromkeys(entry.source for entry in ENTRIES)) if options.mode == "arena" else ()
    recipe_dtypes = RECIPE_DTYPES.intersection(options.shapes.dtypes if options.mode == "arena" and options.shapes.dtypes else ["f32"])
    cmake_options += [f"-DSLICESORT_BENCH_DTYPES={';'.join(DTYPES[name] for name in options.shapes.built_dtypes())}",
                      f"-DSLICESORT_BENCH_RECIPE_DTYPES={';'.join(DTYPES[name] for name in sorted(recipe_dtypes))}",
                      f"-DSLICESORT_BENCH_SUBJECTS={';'.join(subjects)}"]
    if cuda:
        # Without a GPU, one type suffices to test the build.
        dtypes = options.shapes.built_dtypes() if options.mode == "arena" else DTYPES
        cmake_options += [f"-DSLICESORT_BENCH_CUDA_DTYPES={';'.join(DTYPES[name] for name in dtypes) if options.capability else 'float'}",
                          f"-DCMAKE_CUDA_COMPILER={options.nvcc}",
                          f"-DCMAKE_CUDA_ARCHITECTURES={os.environ.get('CUDAARCHS') or options.capability or '90'}"]
    return options.build_folder / name, cmake_options


def prepare(options: argparse.Namespace) -> None:
    """Selects the backends and installs their dependencies."""
    choose_backends(options)
    options.prefix = install_dependencies()


def restart_with_matplotlib(argv: list[str]) -> None:
    """Restarts in a Python that has matplotlib, if there is one."""
    python = python_with("matplotlib")
    if python != sys.executable:
        os.execv(python, [python, "-m", "report.command", *argv])


def build(options: argparse.Namespace) -> dict[str, Path]:
    """Builds the programs and returns their paths by backend."""
    folder, cmake_options = cmake_configuration(options)
    cmake_options.append(f"-DSLICESORT_BENCH_WITH={';'.join(map(str, options.custom))}")
    if not options.custom:
        return build_checkout(options, ROOT, folder, cmake_options)
    # Finds errors in the file and its names before building the library's operators.
    build_targets(options, ROOT, folder, cmake_options, ["slicesort_bench_custom"], ["slicesort_bench_names"])
    check_names(folder / "bench/slicesort_bench_names")
    return build_checkout(options, ROOT, folder, cmake_options, "slicesort_bench_with")


def check_names(program: Path) -> None:
    """Raises UsageError if --with registers operators with invalid names."""
    process = subprocess.run([program, "--benchmark_list_tests"], capture_output=True, encoding="utf-8", check=False)
    if process.returncode != 0:
        raise UsageError("--with: " + process.stderr.strip().removeprefix("bench: "))
    names = {name.partition("/")[0] for name in process.stdout.split()}
    if not names:
        raise UsageError("--with: no operator is registered (slicesort::bench::entry)")
    for name in sorted(names & {*(path.stem for path in SUBJECTS.glob("*.cpp")), *(entry.subject for entry in ENTRIES)}):
        raise UsageError(f"--with: two entries are named {name}: one is the library's")


def build_baseline(options: argparse.Namespace) -> dict[str, Path]:
    """Builds the programs of the --against commit from a copy of its files."""
    commit = output_of("git", "-C", str(ROOT), "rev-parse", "--short", "--verify", "--end-of-options", f"{options.against}^{{commit}}")
    if not commit:
        raise UsageError(f"--against: there is no commit {options.against}")
    options.against = commit
    folder, cmake_options = cmake_configuration(options)
    folder = options.build_folder / f"{folder.name}-at-{commit}"
    source = folder / "source"
    if not source.exists():
        # A git worktree would write to the checkout, which may be read-only.
        unpacked = folder / "unpacked"
        unpacked.mkdir(parents=True, exist_ok=True)
        with subprocess.Popen(["git", "-C", str(ROOT), "archive", commit], stdout=subprocess.PIPE) as files:
            subprocess.run(["tar", "-x", "-C", str(unpacked)], stdin=files.stdout, check=True)
        unpacked.rename(source)
    print(f"{commit}: ", end="", file=sys.stderr)
    return build_checkout(options, source, folder / "build", cmake_options)


def build_checkout(options: argparse.Namespace, source: Path, folder: Path, cmake_options: list[str], host_target: str = "slicesort_bench") -> dict[str, Path]:
    names = {"host": host_target, "cuda": "slicesort_bench_cuda"}
    programs = {backend: folder / "bench" / names[backend] for backend in options.backends}
    start = time.monotonic()
    build_targets(options, source, folder, cmake_options, [program.name for program in programs.values()])
    if "cuda" in options.backends:
        print(f"built in {time.monotonic() - start:.0f} s", file=sys.stderr)
    return programs


def build_targets(options: argparse.Namespace, source: Path, folder: Path, cmake_options: list[str], *targets: list[str]) -> None:
    """Builds the targets in order, up to the first failure."""
    print(f"building {', '.join(name for names in targets for name in names)} (Release, {'-O0' if options.mode == 'smoke' else 'default flags'})",
          file=sys.stderr, flush=True)
    progress = Build()
    configure = ["cmake", "-S", str(source), "-B", str(folder), "-G", "Ninja", "--no-warn-unused-cli", "-DCMAKE_BUILD_TYPE=Release", "-DSLICESORT_BUILD_BENCH=ON",
                 "-DSLICESORT_BUILD_TESTS=OFF", "-DSLICESORT_BUILD_EXAMPLES=OFF", *cmake_options, *options.prefix]
    steps = [configure] + [["cmake", "--build", str(folder), "--target", *names] for names in targets]
    if not all(progress.run(step) for step in steps):
        print("\n".join(progress.last_lines), file=sys.stderr)
        raise Failed("the build failed")


def describe_commit(folder: Path) -> str:
    """Returns the commit of a checkout, marked if there are uncommitted changes."""
    commit = output_of("git", "-C", str(folder), "rev-parse", "--short", "HEAD")
    has_changes = commit and output_of("git", "-C", str(folder), "status", "--porcelain", "--", "include", "bench")
    return (commit or "unknown") + ("+changes" if has_changes else "")
