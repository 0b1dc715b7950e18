# SPDX-License-Identifier: Apache-2.0
# Functions that .ci/run and .ci/nightly share. The scripts set `only`, a regex of leg names, and the folder `logs`.
# Legs choose their compilers and flags.
unset CC CXX CFLAGS CXXFLAGS LDFLAGS CMAKE_BUILD_TYPE CMAKE_GENERATOR
command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
TIMEFORMAT='%U %S'  # a leg's processor seconds
mkdir -p "$logs"
: >"$logs/results"  # one line per leg: passed, failed or skipped
: >"$logs/seconds"  # processor seconds and name of each leg

# leg NAME COMMAND...: runs the command and prints one line; if it fails, also the end of its output. Status 77 means skipped.
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
    echo passed >>"$logs/results"
    echo "ok   $seconds  $name"
  elif [ "$status" -eq 77 ]; then
    skip "$name" "$(tail -n 1 "$log")"
  else
    echo failed >>"$logs/results"
    printf '%s\n' "FAIL $seconds  $name (status $status)" "$(tail -n 40 "$log" | sed 's/^/     | /')"
  fi
}
skip() {
  [[ $1 =~ $only ]] || return 0
  echo skipped >>"$logs/results"
  echo "skip                         $1: $2"
}
suite() { leg "suite: $1" tests/run --werror --exclude '^lint_' "${@:2}"; }

# Prints the yardstick of the budget: the processor seconds to compile a file that does not depend on the library. All
# processors compile it at once, as legs do. The smaller of two rounds is taken, since other work only adds time.
yardstick() {
  local round job
  for round in 1 2; do
    for job in $(seq "$(nproc)"); do
      { time g++ -std=c++17 -O2 -c tests/compile/yardstick.cpp -o "$logs/yardstick-$job.o"; } 2>&1 &
    done
    wait
  done | awk '{ s = $1 + $2; if (minimum == "" || s < minimum) minimum = s } END { print minimum }'
}

# Prints the processor seconds of all legs and "N passed, N failed". Returns 1 if a leg failed, or if none was selected.
finish() {
  local passed failed skipped
  passed=$(grep -c passed "$logs/results") failed=$(grep -c failed "$logs/results") skipped=$(grep -c skipped "$logs/results")
  awk '{ sum += $1 } END { printf "processor seconds: %.0f\n", sum }' "$logs/seconds"
  [ "$skipped" -eq 0 ] || echo "skipped: $skipped"
  [ -s "$logs/results" ] || echo "no leg has a name that matches '$only'"
  echo "$passed passed, $failed failed"
  [ "$failed" -eq 0 ] && [ -s "$logs/results" ]
}
