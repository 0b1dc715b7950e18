# SPDX-License-Identifier: Apache-2.0
# Summarizes CTest's results (JUnit XML) in one line, "N passed, N failed, N skipped". A doctest case counts as one test, and
# so does any other program. Exits with 1 if a test failed or none passed. awk does not require Python, which a machine
# with a GPU may lack.

function flush_test() {
  if (status == "") return
  if (status == "notrun" || status == "disabled") {
    # CTest reports "notrun" both for skipped tests and for missing programs.
    if (!skip) failed++
    else skipped += is_doctest ? doctest_skipped : 1
  } else if (is_doctest) {
    passed += doctest_passed
    skipped += doctest_skipped
    # A program can fail outside its cases, by a sanitizer's report or a crash at exit.
    failed += (doctest_failed > 0 || status == "run") ? doctest_failed : 1
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
  skip = is_doctest = 0
}
/<skipped [^>]*SKIP/ { skip = 1 }
# Parses "[doctest] test cases:   4 |   4 passed | 0 failed | 0 skipped".
/\[doctest\] test cases:/ {
  split($0, fields, "|")
  doctest_passed = fields[2] + 0
  doctest_failed = fields[3] + 0
  doctest_skipped = fields[4] + 0
  is_doctest = 1
}
END {
  flush_test()
  line = (passed + 0) " passed, " (failed + 0) " failed"
  if (skipped > 0) line = line ", " skipped " skipped"
  print line
  exit (failed > 0 || passed + 0 == 0)
}
