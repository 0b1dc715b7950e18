# SPDX-License-Identifier: Apache-2.0
# Functions of .ci/run and .ci/nightly, which set `only` and `logs`: legs, one line each, and their sum.
TIMEFORMAT='%U %S'  # a leg's processor seconds
mkdir -p "$logs"
: >"$logs/verdicts"  # a word for each leg: passed, failed, skipped
: >"$logs/seconds"   # processor seconds and name of each leg

# leg NAME COMMAND...: runs it silently; the end of its output is shown when it fails. Status 77: it skipped itself.
leg() {
  local name=$1 log start status seconds
  shift
  [[ $name =~ $only ]] || return 0
  log=$logs/${name//[^a-zA-Z0-9+]/-}.log
  start=$EPOCHREALTIME
  { time "$@" >"$log" 2>&1 </dev/null; } 2>"$log.cpu"
  status=$?
  awk -v name="$name" '{ print $1 + $2, name }' "$log.cpu" >>"$logs/seconds"
  seconds=$(awk "{ printf \"%6.1f s (cpu %6.1f)\", $EPOCHREALTIME - $start, \$1 + \$2 }" "$log.cpu")
  if [ "$status" -eq 0 ]; then
    echo passed >>"$logs/verdicts"
    echo "ok   $seconds  $name"
  elif [ "$status" -eq 77 ]; then
    skip "$name" "$(tail -n 1 "$log")"
  else
    echo failed >>"$logs/verdicts"
    printf '%s\n' "FAIL $seconds  $name (status $status)" "$(tail -n 40 "$log" | sed 's/^/     | /')"
  fi
}
skip() {
  [[ $1 =~ $only ]] || return 0
  echo skipped >>"$logs/verdicts"
  echo "skip                         $1: $2"
}
suite() { leg "suite: $1" tests/run --werror --exclude '^lint_' "${@:2}"; }

# Processor seconds of one compilation that has nothing to do with the library: the unit that legs are measured in. Every
# processor compiles it at once, as in legs; the least of two rounds counts, since other work only adds.
yardstick() {
  local round job
  for round in 1 2; do
    for job in $(seq "$(nproc)"); do
      { time g++ -std=c++17 -O2 -c tests/compile/yardstick.cpp -o "$logs/yardstick-$job.o"; } 2>&1 &
    done
    wait
  done | awk '{ s = $1 + $2; if (least == "" || s < least) least = s } END { print least }'
}

# The last lines: processor seconds of all legs, and "N passed, N failed". Status 1: a leg failed.
finish() {
  local passed failed skipped
  passed=$(grep -c passed "$logs/verdicts") failed=$(grep -c failed "$logs/verdicts") skipped=$(grep -c skipped "$logs/verdicts")
  awk '{ sum += $1 } END { printf "processor seconds: %.0f\n", sum }' "$logs/seconds"
  [ "$skipped" -eq 0 ] || echo "skipped: $skipped"
  echo "$passed passed, $failed failed"
  [ "$failed" -eq 0 ]
}
