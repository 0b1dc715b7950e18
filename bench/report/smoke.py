#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether the arena's scripts do what they say, on tiny cases: smoke.py FOLDER [arena.py's flags]. An arena is interrupted
and goes on; its table, pictures and page are there; a planted change is found, and nothing else."""
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path


def run(module: str, *arguments: str, status: int = 0) -> str:
    done = subprocess.run([sys.executable, "-m", f"report.{module}", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == status, f"{module}: status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def interrupted_arena(results: Path, flags: list[str]) -> str:
    """Stops an arena as Ctrl-C would once a group of its cases is kept, leaves half a line behind, and runs it again."""
    journal = results.with_suffix(".partial.jsonl")
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
    rows = json.loads(results.read_text(encoding="utf-8"))["benchmarks"]
    for line in kept.splitlines():  # what was kept was not timed again
        case = json.loads(line).get("case")
        if case:
            times = [row["real_time"] for row in rows if row["name"] == case["name"]]
            assert times == [seconds * 1e6 for seconds in case["seconds"]], case["name"]
    return again


def check_page(page: Path, results: dict) -> None:
    text = page.read_text(encoding="utf-8")
    names = {row["name"] for row in results["benchmarks"]}
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


def main() -> int:
    folder = Path(sys.argv[1])
    path = folder / "arena.json"
    flags = [*sys.argv[2:], "--json", str(path), "--smoke", "--rounds", "4", "--lengths", "37", "--batch", "2"]
    run("verdicts")
    said = interrupted_arena(path, flags)
    results = json.loads(path.read_text(encoding="utf-8"))
    if "--draw-with" in flags:
        assert said.count(".png") == said.count(".svg") == 4, said
    check_page(path.with_suffix(".html"), results)
    check_compare(path, results)
    print("the arena is interrupted, goes on, and is drawn; a planted change is found")
    return 0


if __name__ == "__main__":
    sys.exit(main())
