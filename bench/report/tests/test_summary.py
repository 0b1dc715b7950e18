# SPDX-License-Identifier: Apache-2.0
"""Tests of the summary with synthetic results, and of invalid files."""
import contextlib
import io
import json

from report.arena_table import load_rows, notices_of
from report.compare import compare
from report.entries import CUSTOM_FAMILY, ENTRIES, FAMILIES
from report.page import synthetic
from report.results import BadResults, load
from report.run_log import RunLog
from report.show import report_arena
from report.summary import WIDTH, format_summary, reasons_for_slower, select_rows
from report.tests import InFolder


class Summary(InFolder):
    def setUp(self) -> None:
        super().setUp()
        self.files, _ = synthetic.write(self.folder)
        self.context, self.rows = load_rows(str(self.files[0]))

    def rows_of_length(self, n: int) -> list:
        return [row for row in self.rows if row.case.n == n]

    def test_each_operator_once_by_family(self) -> None:
        for n in synthetic.LENGTHS:
            lines = format_summary(self.rows_of_length(n)).splitlines()
            self.assertIn(f"at {n} rows", lines[0])
            self.assertLessEqual(max(map(len, lines)), WIDTH)
            body = lines[lines.index(CUSTOM_FAMILY):]
            self.assertEqual([line for line in body if not line.startswith(" ")], [CUSTOM_FAMILY, *FAMILIES])
            operators = [line.split("  ")[1] for line in body if line.startswith(" ")]
            self.assertEqual(len(operators), len({row.label for row in self.rows_of_length(n) if row.case.dtype == "f32"}))
            self.assertEqual(len(operators), len(set(operators)))

    def test_cells_of_a_row(self) -> None:
        text = format_summary(self.rows)  # the longest length
        self.assertRegex(text, r"\n  slicing-sort +[0-9.]+x +[0-9.]+x \([0-9.]+ \.\. [0-9.]+\) +[0-9.]+ m?s +[0-9.]+ MB +bit for bit\n")
        self.assertRegex(text, r"\n  streaming +1 +1 +[0-9.]+ m?s +[0-9.]+ MB +to \de-0\d\n")
        self.assertRegex(text, r"\n  materialized \(OpenBLAS\) +OOM +OOM\n")
        self.assertRegex(text, r"\n  my_mixer_of_gat\w*\.\. .* unchecked\n")

    def test_slower_rows_have_reasons(self) -> None:
        found = [row for row in select_rows(self.rows_of_length(1024)) if row.speedup and row.speedup.outcome == "slower"]
        labels = list(dict.fromkeys(row.label for row in found))
        self.assertIn("Linear Transformer", labels)
        lines = reasons_for_slower(self.rows_of_length(1024))
        self.assertEqual([line.partition(" is slower: ")[0] for line in lines], labels)
        self.assertTrue(any("the map of weights" in line for line in lines if line.startswith("softmax, materialized")), lines)
        self.assertTrue(all("%" in line for line in lines), lines)

    def test_every_family_has_a_row_by_default(self) -> None:
        self.assertEqual({entry.family for entry in ENTRIES if entry.is_default}, set(FAMILIES))
        self.assertEqual([entry.family for entry in ENTRIES if not entry.is_custom],
                         sorted((entry.family for entry in ENTRIES if not entry.is_custom), key=FAMILIES.index))

    def test_notices_come_once_and_the_summary_last(self) -> None:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            notices = report_arena(self.files[:1], self.folder / "none", self.folder / "page.html", with_pictures=False)
        self.assertEqual(notices, notices_of(self.context, self.rows))
        self.assertEqual([notice.partition(":")[0] for notice in notices], ["WARNING", "NOISE"])
        for word in ("WARNING", "NOISE"):
            self.assertNotIn(word, out.getvalue())
        self.assertGreater(out.getvalue().index("How many times as fast"), out.getvalue().index("page.html"))


class InvalidFiles(InFolder):
    """Invalid files cause an error message instead of a traceback."""

    def setUp(self) -> None:
        super().setUp()
        self.path = self.folder / "results.json"

    def test_results(self) -> None:
        name = "csp/host/forward/f32/custom/text/B:1/N:2/C:3"
        for text in ("[" * 200000, '{"a":' * 200000, "", "[]", "{}", "\0", '{"context": [1], "benchmarks": []}', '{"context": {}, "benchmarks": 1}',
                     '{"context": {}, "benchmarks": [1]}', '{"context": {}, "benchmarks": [{"name": 1}]}',
                     json.dumps({"context": {}, "benchmarks": [{"name": name}]}),
                     json.dumps({"context": {}, "benchmarks": [{"name": name, "ns_per_element": []}]})):
            self.path.write_text(text, encoding="utf-8")
            with self.assertRaises(BadResults, msg=text[:60]) as raised:
                load(str(self.path))
            self.assertIn("cannot read results", str(raised.exception))
            with self.assertRaises(BadResults, msg=text[:60]):
                compare(str(self.path), str(self.path))

    def test_run_log(self) -> None:
        for text in ("[" * 200000 + "\n", "[]\n", "1\n"):
            self.path.write_text(text, encoding="utf-8")
            with contextlib.redirect_stderr(io.StringIO()):
                self.assertEqual(RunLog(self.path, {"a": 1}, fresh=False).lines, [{"key": {"a": 1}}])
