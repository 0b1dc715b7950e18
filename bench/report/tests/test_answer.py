# SPDX-License-Identifier: Apache-2.0
"""The table that a run ends with, of made-up results, and results that are no results."""
import contextlib
import io
import json
from pathlib import Path

from report.answer import WIDTH, answer, rows_of_answer, slower
from report.arena_table import notices_of, rows_of
from report.compare import compare
from report.contestants import CONTESTANTS, FAMILIES
from report.journal import Journal
from report.page import made_up
from report.results import BadResults, load
from report.show import report_arena
from report.tests import InFolder


class Answer(InFolder):
    def setUp(self) -> None:
        super().setUp()
        self.files, _ = made_up.write(self.folder)
        self.context, self.rows = rows_of(str(self.files[0]))

    def shown(self, n: int) -> list:
        return [row for row in self.rows if row.case.n == n]

    def test_each_operator_once_by_family(self) -> None:
        for n in made_up.LENGTHS:
            lines = answer(self.shown(n)).splitlines()
            self.assertIn(f"at {n} rows", lines[0])
            self.assertLessEqual(max(map(len, lines)), WIDTH)
            body = lines[lines.index("yours"):]
            self.assertEqual([line for line in body if not line.startswith(" ")], ["yours", *dict.fromkeys(FAMILIES.values())])
            operators = [line.split("  ")[1] for line in body if line.startswith(" ")]
            self.assertEqual(len(operators), len({row.label for row in self.shown(n) if row.case.dtype == "f32"}))
            self.assertEqual(len(operators), len(set(operators)))

    def test_what_a_row_says(self) -> None:
        said = answer(self.rows)  # of all lengths, the longest
        self.assertRegex(said, r"\n  slicing-sort +[0-9.]+x +[0-9.]+x \([0-9.]+ \.\. [0-9.]+\) +[0-9.]+ m?s +[0-9.]+ MB +bit for bit\n")
        self.assertRegex(said, r"\n  streaming +1 +1 +[0-9.]+ m?s +[0-9.]+ MB +to \de-0\d\n")
        self.assertRegex(said, r"\n  materialized \(OpenBLAS\) +OOM +OOM\n")
        self.assertRegex(said, r"\n  my_mixer_of_gat\w*\.\. .* unchecked\n")

    def test_what_is_slower_says_why(self) -> None:
        found = [row for row in rows_of_answer(self.shown(1024)) if row.against and row.against.verdict == "slower"]
        labels = list(dict.fromkeys(row.label for row in found))
        self.assertIn("Linear Transformer", labels)
        said = slower(self.shown(1024))
        self.assertEqual([line.partition(" is slower: ")[0] for line in said], labels)
        self.assertTrue(any("the whole map of weights" in line for line in said if line.startswith("softmax, materialized")), said)
        self.assertTrue(all("%" in line for line in said), said)

    def test_every_family_has_a_row_by_default(self) -> None:
        self.assertEqual({who.family for who in CONTESTANTS if who.main}, set(FAMILIES.values()))
        self.assertEqual([who.family for who in CONTESTANTS if not who.own],
                         sorted((who.family for who in CONTESTANTS if not who.own), key=list(FAMILIES.values()).index))

    def test_notices_come_once_and_the_answer_last(self) -> None:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            notices = report_arena(self.files[:1], self.folder / "none", self.folder / "page.html", with_pictures=False)
        self.assertEqual(notices, notices_of(self.context, self.rows))
        self.assertEqual([notice.partition(":")[0] for notice in notices], ["WARNING", "NOISE"])
        for word in ("WARNING", "NOISE"):
            self.assertNotIn(word, out.getvalue())
        self.assertGreater(out.getvalue().index("How many times as fast"), out.getvalue().index("page.html"))


class Hostile(InFolder):
    """Files that somebody hands in: a message, and no traceback."""

    def setUp(self) -> None:
        super().setUp()
        self.path = self.folder / "results.json"

    def test_results(self) -> None:
        name = "csp/host/forward/f32/own/text/B:1/N:2/C:3"
        for text in ("[" * 200000, '{"a":' * 200000, "", "[]", "{}", "\0", '{"context": [1], "benchmarks": []}', '{"context": {}, "benchmarks": 1}',
                     '{"context": {}, "benchmarks": [1]}', '{"context": {}, "benchmarks": [{"name": 1}]}',
                     json.dumps({"context": {}, "benchmarks": [{"name": name}]}),
                     json.dumps({"context": {}, "benchmarks": [{"name": name, "ns_per_element": []}]})):
            self.path.write_text(text, encoding="utf-8")
            with self.assertRaises(BadResults, msg=text[:60]) as why:
                load(str(self.path))
            self.assertIn("cannot read results", str(why.exception))
            with self.assertRaises(BadResults, msg=text[:60]):
                compare(str(self.path), str(self.path))

    def test_journal(self) -> None:
        for text in ("[" * 200000 + "\n", "[]\n", "1\n"):
            self.path.write_text(text, encoding="utf-8")
            with contextlib.redirect_stderr(io.StringIO()):
                self.assertEqual(Journal(self.path, {"a": 1}, fresh=False).lines, [{"key": {"a": 1}}])
