#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns CTest's results into one line, "N passed, N failed": every doctest case counts as one test, any
other program as one. Exit status 1 if something failed or nothing ran."""
import re
import sys
import xml.etree.ElementTree as ElementTree

CASES = re.compile(r"\[doctest\] test cases:\s+\d+ \|\s+(\d+) passed \|\s+(\d+) failed \|\s+(\d+) skipped")


def main() -> int:
    passed = failed = skipped = 0
    for test in ElementTree.parse(sys.argv[1]).getroot().iter("testcase"):
        status = test.get("status")
        counts = CASES.search(test.findtext("system-out") or "")
        if status in ("notrun", "disabled"):
            # CTest says "notrun" both for a skip (a result code) and for a program that is not there.
            reason = test.find("skipped")
            if reason is not None and "SKIP" in (reason.get("message") or ""):
                skipped += 1
            else:
                failed += 1
        elif counts:
            ok, bad, left_out = (int(n) for n in counts.groups())
            passed, skipped = passed + ok, skipped + left_out
            # A program can fail outside its cases: a sanitizer's report, a crash at exit.
            failed += max(bad, 0 if status == "run" else 1)
        elif status == "run":
            passed += 1
        else:
            failed += 1
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
