# SPDX-License-Identifier: Apache-2.0
"""Smoke test of bench/run --smoke, on tiny cases. An interrupted arena resumes and writes its table, pictures and page; compare finds
only an injected change; csp's time by group size is drawn. The programs have all cases of the targets and of the sweep, and both are
evaluated on synthetic results."""
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from .command.options import ROOT
from .command.programs import Programs
from .entries import CUSTOM_POLICY, entry_of, torch_implementations_of
from .results import parse_case
from .sweep import expressions, LENGTHS
from .targets import gpu_targets, targets

TINY = ("--batch", "2", "--lengths", "37", "--channels", "24")


def run_module(module: str, *arguments: str, status: int = 0) -> str:
    process = subprocess.run([sys.executable, "-m", f"report.{module}", *arguments], capture_output=True, encoding="utf-8", check=False)
    assert process.returncode == status, f"{process.stdout}{process.stderr}\n{module}: status {process.returncode}"
    return process.stdout + process.stderr


def make_interrupting_program(program: Path, folder: Path) -> Path:
    """Makes a bench program that interrupts the arena when it is started for the second group. A signal from outside can arrive in a
    destructor, where Python ignores it."""
    script, starts = folder / "interrupting", folder / "starts"
    script.write_text(f"""#!/bin/sh
case "$*" in *--arena*)
  echo >>'{starts}'
  [ "$(wc -l <'{starts}')" -ne 2 ] || {{ kill -INT $PPID; exec sleep 60; }} ;;
esac
exec '{program}' "$@"
""", encoding="utf-8")
    script.chmod(0o755)
    return script


def run_interrupted_arena(run_log: Path, results: list[Path], flags: list[str]) -> str:
    """Runs an arena that is interrupted after its first group, truncates the log, and resumes. Returns the output of the resumed run."""
    interrupted = subprocess.run([sys.executable, "-m", "report.command", *flags], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", check=False)
    output = interrupted.stdout
    assert interrupted.returncode == 130, f"{output}\ninterrupted: status {interrupted.returncode}"
    logged = run_log.read_text(encoding="utf-8")
    run_log.write_text(logged + '{"part": "host", "gro', encoding="utf-8")
    output_of_resumed_run = run_module("command", *flags)
    assert "resuming" in output_of_resumed_run, f"{output_of_resumed_run}\nno finished group"
    assert not run_log.exists()
    rows = [row for path in results if path.exists() for row in json.loads(path.read_text(encoding="utf-8"))["benchmarks"]]
    for line in logged.splitlines():  # must not have been timed again
        case = json.loads(line).get("case")
        if case:
            times = [row["real_time"] for row in rows if row["name"] == case["name"]]
            assert times == [seconds * 1e6 for seconds in case["seconds"]], case["name"]
    return output_of_resumed_run


def check_page(page: Path, results: list[dict]) -> None:
    """Checks that the page has every case and needs no other file; report.page.check tests it in a browser."""
    text = page.read_text(encoding="utf-8")
    island = re.search(r'<script type="application/json" id="results">(.*?)</script>', text, re.DOTALL)
    names = {row["name"] for file in results for row in file["benchmarks"]}
    assert {row["case"] for row in json.loads(island[1])["rows"]} == names, "a case is missing in the page"
    external = re.findall(r'(?:src|href)="(?!#)[^"]*"', text.replace(island[0], ""))
    assert not external, f"the page needs other files: {external}"


def check_compare(path: Path, results: dict) -> None:
    output = run_module("compare", str(path), str(path))
    assert " 0 faster, 0 slower" in output, output
    slowed_case = results["benchmarks"][0]["name"]
    for row in results["benchmarks"]:
        if row["name"] == slowed_case:
            row["ns_per_element"] *= 10  # more than noise
    slowed_results = path.with_name("changed.json")
    slowed_results.write_text(json.dumps(results), encoding="utf-8")
    output = run_module("compare", str(path), str(slowed_results))
    slower = [line for line in output.splitlines() if slowed_case in line and "slower" in line and "0.10x" in line]
    assert len(slower) == 1 and " 0 faster, 1 slower" in output, output


def check_custom(programs: Programs, output: str, results: list[dict]) -> None:
    """Checks that the operators of --with are in the table, compared with softmax attention in every direction."""
    names = {row["name"] for file in results for row in file["benchmarks"] if entry_of(parse_case(row["name"])).is_custom}
    assert bool(names) == bool(programs.options.custom), f"{programs.options.custom} has the cases {names}"
    for case in map(parse_case, names):
        assert not torch_implementations_of(case), f"{case.name} has torch implementations"
        lines = [line for line in output.splitlines() if line.startswith(case.subject + " ") and f" {case.dtype} " in line]
        assert lines and all(re.search(r"\dx", line) for line in lines), f"{output}\n{case.name} is not compared"


def check_targets(programs: Programs) -> None:
    """Checks that the programs have all cases of the targets, for the built element types. A CPU may lack a forced instruction set."""
    for backend, backend_targets in (("host", targets()), ("cuda", gpu_targets())):
        if backend not in programs.paths:
            continue
        known_names = set(programs.case_names(backend, ""))
        built = {parse_case(name).dtype for name in known_names}
        for case in (parse_case(name) for target in backend_targets for name in target.cases()):
            missing = case.name not in known_names and case.dtype in built
            assert not missing or "torch" in case.subject or "@" in case.subject, f"no case {case.name}"


def check_targets_table(folder: Path) -> None:
    """Checks that synthetic GPU results, ten times as fast as required, meet every target, and that a failed case misses its target."""
    row = {"run_type": "iteration", "items_per_second": 1e14, "flops_per_second": 1e16, "share_of_copy": 10, "share_of_peak": 1,
           "workspace_bytes": 0, "kernels": 1}
    rows = [{**row, "name": name, "ns_per_element": 100 if name.startswith("baseline") else 1}
            for name in dict.fromkeys(name for target in gpu_targets() for name in target.cases())]
    synthetic = folder / "synthetic.json"

    def judge(status: int) -> str:
        synthetic.write_text(json.dumps({"context": {}, "benchmarks": rows}), encoding="utf-8")
        return run_module("targets", str(synthetic), status=status)
    promised = sum(target.at_least != 0 for target in gpu_targets())
    assert f"{promised} of {promised} measured targets met" in judge(0)
    rows[0] = {"name": rows[0]["name"], "run_type": "iteration", "error_occurred": True, "error_message": "injected"}
    assert "failed: injected" in judge(1)


def check_sweep(programs: Programs) -> None:
    """Checks that the sweep has every host operator in every direction and built element type, and finds an injected cliff."""
    if "host" not in programs.paths:
        return
    known_names = programs.case_names("host", "")
    swept = [name for name in known_names if any(re.search(expression, name) for expression in expressions())]
    directions = {(case.subject, case.direction, case.dtype, case.n) for case in map(parse_case, swept)}
    for case in map(parse_case, known_names):
        if case.direction != "training" and case.policy != CUSTOM_POLICY and not case.subject.startswith("baseline") and "@" not in case.subject:
            missing = [n for n in LENGTHS if (case.subject, case.direction, case.dtype, n) not in directions]
            assert not missing, f"the sweep lacks {case.subject} {case.direction} {case.dtype} at N = {missing}"
    rows = [{"name": name, "run_type": "iteration", "ns_per_element": 1} for name in swept]
    synthetic = programs.scratch / "sweep.json"

    def judge(status: int) -> str:
        synthetic.write_text(json.dumps({"context": {}, "benchmarks": rows}), encoding="utf-8")
        return run_module("sweep", str(synthetic), status=status)
    assert f"{len(swept) // 3} of {len(swept) // 3} are" in judge(0)
    cliff = next(row for row in rows if "/N:4096/" in row["name"])
    cliff["ns_per_element"] = 1.2
    assert judge(1).count("MISSED") == 1
    cliff["ns_per_element"] = 1.1
    judge(0)
    rows.remove(cliff)
    judge(2)


def run_tests(programs: Programs) -> None:
    program = {"SLICESORT_BENCH_PROGRAM": str(programs.paths["host"])} if "host" in programs.paths else {}
    process = subprocess.run([sys.executable, "-m", "unittest", "discover", "-s", ROOT / "bench/report/tests", "-t", ROOT / "bench"],
                             env={**os.environ, **program}, capture_output=True, encoding="utf-8", check=False)
    assert process.returncode == 0, process.stdout + process.stderr


def check(programs: Programs) -> None:
    """Tests the arena and everything that uses its results, with the programs of this bench/run call."""
    path = programs.scratch / "arena.json"
    can_draw = importlib.util.find_spec("matplotlib") is not None
    paths = dict(programs.paths)
    first = next(iter(paths))
    paths[first] = make_interrupting_program(paths[first], programs.scratch)
    flags = [f"--{'program' if backend == 'host' else 'cuda-program'}={program}" for backend, program in paths.items()]
    flags += ["--arena", "--all", *TINY, "--json", str(path), "--rounds", "4", "--round-seconds", "0.002", "--text", str(programs.options.text)]
    gpu_path = path.with_name("arena-cuda.json")
    output = run_interrupted_arena(path.with_suffix(".partial.jsonl"), [path, gpu_path], flags)
    files = [file for file in (path, gpu_path) if file.exists()]
    results = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    if can_draw:
        drawn = [len([*file.with_suffix("").glob(f"*-*.{kind}")]) for file in files for kind in ("png", "svg")]
        assert drawn == [8] * 2 * len(files), drawn
        run_module("pictures.check")
    check_page(path.with_suffix(".html"), results)
    check_custom(programs, output, results)
    check_compare(files[0], results[0])
    check_targets(programs)
    check_sweep(programs)
    check_targets_table(programs.scratch)
    run_tests(programs)
    if path in files:
        output = run_module("show", str(programs.options.json))
        assert not can_draw or (programs.options.json.with_suffix("") / "csp_group_size-dark.png").exists(), output
    print("the arena resumes after an interruption and is drawn; an injected change is found")
