# SPDX-License-Identifier: Apache-2.0
"""Whether this package does what it says, on tiny cases: python3 -m report.smoke FOLDER RESULTS.json [the arena's flags].
An arena is interrupted and goes on; its table, pictures and page are there; a planted change is found, and nothing else;
csp's groups, which RESULTS.json has, are drawn; the programs know the cases that the targets and the sweep ask for, and
verdicts on made-up results are right."""
import importlib.util
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from .results import case_named
from .sweep import expressions, LENGTHS
from .targets import gpu_targets, targets


def run(module: str, *arguments: str, status: int = 0) -> str:
    done = subprocess.run([sys.executable, "-m", f"report.{module}", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == status, f"{module}: status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def interrupted_arena(journal: Path, results: list[Path], flags: list[str]) -> str:
    """Stops an arena as Ctrl-C would once a group of its cases is kept, leaves half a line behind, and runs it again."""
    first = subprocess.Popen([sys.executable, "-m", "report.arena", *flags], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    while first.poll() is None and not (journal.exists() and '"group"' in journal.read_text(encoding="utf-8")):
        time.sleep(0.01)
    first.send_signal(signal.SIGINT)
    said = first.communicate()[0]
    assert first.returncode == 130, f"interrupted: status {first.returncode}\n{said}"
    kept = journal.read_text(encoding="utf-8")
    journal.write_text(kept + '{"part": "host", "gro', encoding="utf-8")
    again = run("arena", *flags)
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
    text = page.read_text(encoding="utf-8")
    names = {row["name"] for part in results for row in part["benchmarks"]}
    assert text.count("<tr>") == len(names) + 1, "a case is missing in the page's table"
    outside = re.findall(r'(?:src|href)="(?!#)[^"]*"', text)
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


def known_cases(part: str, flags: list[str]) -> set[str] | None:
    """None where that program is not built."""
    if f"--{part}" not in flags:
        return None
    program = flags[flags.index(f"--{part}") + 1]
    return set(subprocess.run([program, "--benchmark_list_tests"], check=True, capture_output=True, text=True).stdout.split())


def check_targets(flags: list[str]) -> None:
    """Of the element types that are built; a processor may lack a forced instruction set."""
    for part, asked in (("host", targets()), ("cuda", gpu_targets())):
        known = known_cases(part, flags)
        if known is None:
            continue
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
    asked = sum(target.asked != "beside it" for target in gpu_targets())
    assert f"{asked} of {asked} measured targets met" in judge(0)
    rows[0] = {"name": rows[0]["name"], "run_type": "iteration", "error_occurred": True, "error_message": "planted"}
    assert "failed: planted" in judge(1)


def check_sweep(folder: Path, flags: list[str]) -> None:
    """It has every operator of the host in every direction and element type that is built, and finds a planted cliff."""
    known = known_cases("host", flags)
    if known is None:
        return
    swept = [name for name in known if any(re.search(expression, name) for expression in expressions())]
    directions = {(case.subject, case.direction, case.dtype, case.n) for case in map(case_named, swept)}
    for case in map(case_named, known):
        if case.direction != "training" and not case.subject.startswith("baseline") and "@" not in case.subject:
            missing = [n for n in LENGTHS if (case.subject, case.direction, case.dtype, n) not in directions]
            assert not missing, f"the sweep lacks {case.subject} {case.direction} {case.dtype} at N = {missing}"
    rows = [{"name": name, "run_type": "iteration", "ns_per_element": 1} for name in swept]
    made_up = folder / "sweep.json"

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


def main() -> int:
    folder = Path(sys.argv[1])
    path = folder / "arena.json"
    drawing = importlib.util.find_spec("matplotlib") is not None
    flags = [*sys.argv[3:], "--json", str(path), "--smoke", "--rounds", "4", "--lengths", "37", "--batch", "2"]
    run("verdicts")
    of_gpu = path.with_name("arena-cuda.json")
    said = interrupted_arena(path.with_suffix(".partial.jsonl"), [path, of_gpu], flags)
    files = [file for file in (path, of_gpu) if file.exists()]
    results = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    if drawing:
        assert said.count(".png") == said.count(".svg") == 4 * len(files), said
    check_page(path.with_suffix(".html"), results)
    check_compare(files[0], results[0])
    check_targets(flags)
    check_sweep(folder, flags)
    check_verdicts(folder)
    if path in files:
        said = run("show", sys.argv[2])
        assert not drawing or "csp_group_size.png" in said, said
    print("the arena is interrupted, goes on, and is drawn; a planted change is found")
    return 0


if __name__ == "__main__":
    sys.exit(main())
