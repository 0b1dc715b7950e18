# SPDX-License-Identifier: Apache-2.0
"""Tests of a group's rounds with a program that prints fixed results: what the log has after a failure, the turns of cases that do not
fit in memory together, and the replacement of files."""
import json
import sys
from pathlib import Path
from unittest import mock

from report.progress import Progress
from report.ratios import speedup
from report.results import BadResults, load, parse_case, replace_file
from report.rounds import CaseGroup, run_group
from report.run_log import RunLog, write_results
from report.tests import InFolder

NAME = "csp/host/forward_values/f32/aligned-G:2/text/B:1/N:4/C:1/T:1"
REFERENCE = "softmax_attention/host/forward_values/f32/streaming-full-H:1/text/B:1/N:4/C:1/T:1"
PROGRAM = """
import json
print(json.dumps({"context": {"cpu": "none"}}), flush=True)
for _ in range(2):
    print(json.dumps({"step": "round"}), flush=True)
    input()
for name in NAMES:
    print(json.dumps({"name": name, "seconds": [1.0, 2.0], "traffic_bytes": 8, "copy_bytes_per_second": 8.0}))
"""


class Torch:
    """A worker of torch whose process ends before it replies, or not."""
    context = {"torch": "none"}

    def __init__(self, fails: bool) -> None:
        self.fails, self.rounds = fails, 0

    def begin_group(self, cases: list[str]) -> None:
        self.rounds = 0

    def time_round(self) -> None:
        self.rounds += 1

    def end_group(self) -> list[dict]:
        if self.fails:
            raise BadResults("torch's process ended (status 1)")
        return [{"name": f"baseline_torch_gather_sort{NAME[len('csp'):]}", "seconds": [3.0] * self.rounds}]


class Rounds(InFolder):
    def setUp(self) -> None:
        super().setUp()
        self.path = self.folder / "log.jsonl"
        self.group = CaseGroup("host", "forward_values", "f32", "text", 4, 1, [parse_case(NAME)])
        self.commands = {key: [sys.executable, "-c", PROGRAM.replace("NAMES", repr([NAME]))] for key in ("host", "against-host")}

    def open_log(self) -> RunLog:
        return RunLog(self.path, {"key": 1}, fresh=False)

    def is_finished(self) -> bool:
        return self.open_log().has_all_cases("host", self.group.id, {NAME})

    def run_group(self, torch: Torch) -> None:
        run_group(self.group, self.commands, self.open_log(), Progress(1, 0), torch)

    def test_torch_that_ends_early_leaves_the_group_unfinished(self) -> None:
        with self.assertRaises(BadResults):
            self.run_group(Torch(fails=True))
        self.assertFalse(self.is_finished())
        self.assertEqual(len(self.open_log().lines), 1)
        self.run_group(Torch(fails=False))
        self.assertTrue(self.is_finished())
        log = self.open_log()
        self.assertEqual([len(log.results(part)[1]) for part in ("host", "against-host", "torch")], [1, 1, 1])
        self.assertEqual(log.results("torch")[1][0]["seconds"], [3.0, 3.0])

    def test_a_log_that_ends_early_is_unfinished(self) -> None:
        """A process killed while it writes leaves a part of the lines; none but all of them make a finished group."""
        self.run_group(Torch(fails=False))
        lines = self.path.read_text(encoding="utf-8").splitlines(keepends=True)
        for count in range(len(lines) + 1):
            self.path.write_text("".join(lines[:count]), encoding="utf-8")
            self.assertEqual(self.is_finished(), count == len(lines), lines[:count])

    def test_turns(self) -> None:
        """Times of different turns are not paired by round."""
        log = self.open_log()
        for name, turn in ((REFERENCE, {}), (NAME, {"turn": 1})):
            seconds = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
            log.add({"part": "host", "context": {}}, {"part": "host", "group": "g", "case": {"name": name, "seconds": seconds, **turn}})
        write_results(self.folder / "out.json", log, "host", {})
        cases = load(str(self.folder / "out.json"))[1]
        self.assertEqual([case.turn for case in cases.values()], [0, 1])
        ratio = speedup(cases[REFERENCE], cases[NAME])
        self.assertLess(ratio.low, 1)
        self.assertGreater(ratio.high, 1)
        self.assertEqual(speedup(cases[REFERENCE], cases[REFERENCE]).outcome, "same")

    def test_files_are_replaced(self) -> None:
        path, link = self.folder / "out.json", self.folder / "link.json"
        link.symlink_to(path)
        replace_file(link, json.dumps([1]))
        self.assertTrue(link.is_symlink())
        with mock.patch.object(Path, "write_text", side_effect=OSError("no space")), self.assertRaises(OSError):
            replace_file(path, json.dumps([2]))
        self.assertEqual(json.loads(path.read_text(encoding="utf-8")), [1])
        self.assertEqual({file.name for file in self.folder.iterdir()}, {"out.json", "link.json"})
