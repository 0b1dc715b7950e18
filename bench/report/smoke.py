# SPDX-License-Identifier: Apache-2.0
"""Whether this package does what it says, on tiny cases, for bench/run --smoke. An arena is interrupted and goes on; its
table, pictures and page are there; a planted change is found, and nothing else; csp's groups are drawn; the programs
know the cases that the targets and the sweep ask for, and verdicts on made-up results are right."""
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from .command.options import ROOT
from .command.programs import Programs
from .contestants import OWN_POLICY, torch_forms_of
from .results import case_named
from .sweep import expressions, LENGTHS
from .targets import gpu_targets, targets

TINY = ("--batch", "2", "--lengths", "37", "--channels", "24")


def run(module: str, *arguments: str, status: int = 0) -> str:
    done = subprocess.run([sys.executable, "-m", f"report.{module}", *arguments], capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == status, f"{module}: status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def interrupted_arena(journal: Path, results: list[Path], flags: list[str]) -> str:
    """Stops an arena as Ctrl-C would once a group of its cases is kept, leaves half a line behind, and runs it again."""
    first = subprocess.Popen([sys.executable, "-m", "report.command", *flags], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")
    while first.poll() is None and not (journal.exists() and '"group"' in journal.read_text(encoding="utf-8")):
        time.sleep(0.01)
    first.send_signal(signal.SIGINT)
    said = first.communicate()[0]
    assert first.returncode == 130, f"interrupted: status {first.returncode}\n{said}"
    kept = journal.read_text(encoding="utf-8")
    journal.write_text(kept + '{"part": "host", "gro', encoding="utf-8")
    again = run("command", *flags)
    assert "going on" in again, again
    assert not journal.exists()
    rows = [row for path in results if path.exists() for row in json.loads(path.read_text(encoding="utf-8"))["benchmarks"]]
    for line in kept.splitlines():  # what was kept was not timed again
        case = json.loads(line).get("case")
        if case:
            times = [row["real_time"] for row in rows if row["name"] == case["name"]]
            assert times == [seconds * 1e6 for seconds in case["seconds"]], case["name"]
    return again


def check_page(page: Path, results: list[dict]) -> None:
    """It carries every case and names no file but the results; report.page.check looks at it in a browser."""
    text = page.read_text(encoding="utf-8")
    island = re.search(r'<script type="application/json" id="results">(.*?)</script>', text, re.DOTALL)
    names = {row["name"] for part in results for row in part["benchmarks"]}
    assert {row["case"] for row in json.loads(island[1])["rows"]} == names, "a case is missing in the page"
    outside = re.findall(r'(?:src|href)="(?!#)[^"]*"', text.replace(island[0], ""))
    assert not outside, f"the page needs other files: {outside}"


def check_compare(path: Path, results: dict) -> None:
    said = run("compare", str(path), str(path))
    assert " 0 faster, 0 slower" in said, said
    victim = results["benchmarks"][0]["name"]
    for row in results["benchmarks"]:
        if row["name"] == victim:
            row["ns_per_element"] *= 10  # far beyond what a busy machine does to a tiny call
    changed = path.with_name("changed.json")
    changed.write_text(json.dumps(results), encoding="utf-8")
    said = run("compare", str(path), str(changed))
    slower = [line for line in said.splitlines() if victim in line and "slower" in line and "0.10x" in line]
    assert len(slower) == 1 and " 0 faster, 1 slower" in said, said


def check_own(p: Programs, said: str, results: list[dict]) -> None:
    """Operators of --with stand in the table, in every pass beside softmax attention."""
    own = {row["name"] for part in results for row in part["benchmarks"] if case_named(row["name"]).policy == OWN_POLICY}
    assert bool(own) == bool(p.o.own), f"of {p.o.own} there is {own}"
    for case in map(case_named, own):
        assert not torch_forms_of(case), f"{case.name} is none of torch's"
        lines = [line for line in said.splitlines() if line.startswith(case.subject + " ") and f" {case.dtype} " in line]
        assert lines and all(re.search(r"\dx", line) for line in lines), f"{case.name} is not compared in\n{said}"


def check_targets(p: Programs) -> None:
    """Of the element types that are built; a processor may lack a forced instruction set."""
    for part, asked in (("host", targets()), ("cuda", gpu_targets())):
        if part not in p.paths:
            continue
        known = set(p.names(part, ""))
        built = {case_named(name).dtype for name in known}
        for case in (case_named(name) for target in asked for name in target.cases()):
            missing = case.name not in known and case.dtype in built
            assert not missing or "torch" in case.subject or "@" in case.subject, f"no case {case.name}"


def check_verdicts(folder: Path) -> None:
    """Made-up results of the GPU, ten times as fast as asked, meet every target; a case that fails misses its own."""
    row = {"run_type": "iteration", "items_per_second": 1e14, "flops_per_second": 1e16, "share_of_copy": 10, "share_of_peak": 1,
           "workspace_bytes": 0, "kernels": 1}
    rows = [{**row, "name": name, "ns_per_element": 100 if name.startswith("baseline") else 1}
            for name in dict.fromkeys(name for target in gpu_targets() for name in target.cases())]
    made_up = folder / "made_up.json"

    def judge(status: int) -> str:
        made_up.write_text(json.dumps({"context": {}, "benchmarks": rows}), encoding="utf-8")
        return run("targets", str(made_up), status=status)
    asked = sum(target.at_least != 0 for target in gpu_targets())  # of 0: a figure, and no promise
    assert f"{asked} of {asked} measured targets met" in judge(0)
    rows[0] = {"name": rows[0]["name"], "run_type": "iteration", "error_occurred": True, "error_message": "planted"}
    assert "failed: planted" in judge(1)


def check_sweep(p: Programs) -> None:
    """It has every operator of the host in every direction and element type that is built, and finds a planted cliff."""
    if "host" not in p.paths:
        return
    known = p.names("host", "")
    swept = [name for name in known if any(re.search(expression, name) for expression in expressions())]
    directions = {(case.subject, case.direction, case.dtype, case.n) for case in map(case_named, swept)}
    for case in map(case_named, known):
        if case.direction != "training" and case.policy != OWN_POLICY and not case.subject.startswith("baseline") and "@" not in case.subject:
            missing = [n for n in LENGTHS if (case.subject, case.direction, case.dtype, n) not in directions]
            assert not missing, f"the sweep lacks {case.subject} {case.direction} {case.dtype} at N = {missing}"
    rows = [{"name": name, "run_type": "iteration", "ns_per_element": 1} for name in swept]
    made_up = p.scratch / "sweep.json"

    def judge(status: int) -> str:
        made_up.write_text(json.dumps({"context": {}, "benchmarks": rows}), encoding="utf-8")
        return run("sweep", str(made_up), status=status)
    assert f"{len(swept) // 3} of {len(swept) // 3} are" in judge(0)
    cliff = next(row for row in rows if "/N:4096/" in row["name"])
    cliff["ns_per_element"] = 1.2
    assert judge(1).count("MISSED") == 1
    cliff["ns_per_element"] = 1.1
    judge(0)
    rows.remove(cliff)
    judge(2)


def run_tests(p: Programs) -> None:
    of_program = {"SLICESORT_BENCH_PROGRAM": str(p.paths["host"])} if "host" in p.paths else {}
    done = subprocess.run([sys.executable, "-m", "unittest", "discover", "-s", ROOT / "bench/report/tests", "-t", ROOT / "bench"],
                          env={**os.environ, **of_program}, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def check(p: Programs) -> None:
    """Tries the arena with the programs of that call, whose results of the tiny cases are there."""
    path = p.scratch / "arena.json"
    drawing = importlib.util.find_spec("matplotlib") is not None
    flags = [f"--{'program' if part == 'host' else 'cuda-program'}={program}" for part, program in p.paths.items()]
    flags += ["--arena", "--all", *TINY, "--json", str(path), "--rounds", "4", "--round-seconds", "0.002", "--text", str(p.o.text)]
    of_gpu = path.with_name("arena-cuda.json")
    said = interrupted_arena(path.with_suffix(".partial.jsonl"), [path, of_gpu], flags)
    files = [file for file in (path, of_gpu) if file.exists()]
    results = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    if drawing:
        drawn = [len([*file.with_suffix("").glob(f"*-*.{kind}")]) for file in files for kind in ("png", "svg")]
        assert drawn == [8] * 2 * len(files), drawn
        run("pictures.check")
    check_page(path.with_suffix(".html"), results)
    check_own(p, said, results)
    check_compare(files[0], results[0])
    check_targets(p)
    check_sweep(p)
    check_verdicts(p.scratch)
    run_tests(p)
    if path in files:
        said = run("show", str(p.o.json))
        assert not drawing or (p.o.json.with_suffix("") / "csp_group_size-dark.png").exists(), said
    print("the arena is interrupted, goes on, and is drawn; a planted change is found")
