# SPDX-License-Identifier: Apache-2.0
# Turns CTest's results (JUnit XML) into one line, "N passed, N failed, N skipped": every doctest case
# counts as one test, any other program as one. Exit status 1 if something failed or nothing ran.
# awk and not Python: it is on every machine that can run the tests.

function flush_test() {
  if (status == "") return
  if (status == "notrun" || status == "disabled") {
    # CTest says "notrun" both for a skip and for a program that is not there.
    if (!skip) failed++
    else skipped += counted ? left_out : 1
  } else if (counted) {
    passed += good
    skipped += left_out
    # A program can fail outside its cases: a sanitizer's report, a crash at exit.
    failed += (bad > 0 || status == "run") ? bad : 1
  } else if (status == "run") {
    passed++
  } else {
    failed++
  }
  status = ""
}

/<testcase / {
  flush_test()
  match($0, /status="[a-z]*"/)
  status = substr($0, RSTART + 8, RLENGTH - 9)
  skip = counted = 0
}
/<skipped [^>]*SKIP/ { skip = 1 }
# [doctest] test cases:   4 |   4 passed | 0 failed | 0 skipped
/\[doctest\] test cases:/ {
  split($0, part, "|")
  good = part[2] + 0
  bad = part[3] + 0
  left_out = part[4] + 0
  counted = 1
}
END {
  flush_test()
  line = (passed + 0) " passed, " (failed + 0) " failed"
  if (skipped > 0) line = line ", " skipped " skipped"
  print line
  exit (failed > 0 || passed + 0 == 0)
}
