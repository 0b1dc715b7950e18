# SPDX-License-Identifier: Apache-2.0
"""Tests of the build: progress, Ctrl-C and missing packages. Scripts replace compilers, cmake and apt."""
import os
import pty
import select
import signal
import subprocess
import time

from report.command.options import ROOT
from report.tests import InFolder

SLOW_CMAKE = """#!/bin/sh
[ "$1" != --build ] && exit 0
echo '[1/7] Building CXX object a/b/first.cpp.o'
sleep infinity & echo $! >"$PIDS"
wait
"""
# Logs its targets. The programs print the names $NAMES and the error $ERROR and return $STATUS.
QUICK_CMAKE = """#!/bin/sh
[ "$1" = --build ] || exit 0
shift 3; echo "$@" >>"$PIDS"
mkdir -p "$FOLDER/bench"
for target; do
  printf '#!/bin/sh\nfor name in %s; do echo "$name/host/forward"; done\necho "bench: $ERROR" >&2\nexit $STATUS\n' "$NAMES" >"$FOLDER/bench/$target"
  chmod +x "$FOLDER/bench/$target"
done
"""
# A linker and preprocessor that find everything except $LACKS.
COMPILER = """#!/bin/sh
cat >/dev/null
case "$*" in *-l"$LACKS"*) exit 1 ;; esac
exit 0
"""


def wait_for_end(process: int) -> None:
    """Waits for the end of a process that is not a child of this one."""
    try:
        ended = os.pidfd_open(process)
    except ProcessLookupError:
        return
    try:
        select.select([ended], [], [])
    finally:
        os.close(ended)


def read_terminal(end: int) -> bytes:
    """Reads new output; empty once all writers have closed the terminal."""
    try:
        return os.read(end, 10000)
    except OSError:  # EIO on Linux
        return b""


class Build(InFolder):
    def setUp(self) -> None:
        super().setUp()
        self.environment = {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}", "PIDS": str(self.folder / "pids"),
                            "CXX": str(self.folder / "compiler"), "LACKS": "nothing"}
        self.write_script("compiler", COMPILER)
        self.write_script("apt-get", '#!/bin/sh\necho "$@" >>"$PIDS"\n')
        self.write_script("sudo", '#!/bin/sh\n[ "$1" != -n ] || shift\nexec "$@"\n')

    def write_script(self, name: str, text: str) -> None:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    def install(self, lacks: str, package: str) -> str:
        process = subprocess.run([ROOT / "tests/install_deps", package], env={**self.environment, "LACKS": lacks}, capture_output=True, encoding="utf-8", check=True)
        return process.stdout

    def list_custom_operators(self, names: str, error: str = "", status: int = 0) -> tuple[int, str, list[str]]:
        """Runs bench/run --with --list. Returns status, output and built targets."""
        self.write_script("cmake", QUICK_CMAKE)
        pids = self.folder / "pids"
        pids.unlink(missing_ok=True)
        process = subprocess.run([ROOT / "bench/run", "--list", "--with", ROOT / "examples/arena/reverse.cpp", "--build", str(self.folder / "build"), "--no-cuda"],
                                 env={**self.environment, "FOLDER": str(self.folder / "build/bench"), "NAMES": names, "ERROR": error, "STATUS": str(status)},
                                 capture_output=True, encoding="utf-8", check=False)
        return process.returncode, process.stdout + process.stderr, [line for line in pids.read_text(encoding="utf-8").split() if "slicesort" in line]

    def test_names_are_checked_before_the_library_is_built(self) -> None:
        first = ["slicesort_bench_custom", "slicesort_bench_names"]
        self.assertEqual(self.list_custom_operators("mine")[::2], (0, [*first, "slicesort_bench_with"]))
        for names, error, status in (("", "an entry is named 'prefix mean'", 2), ("mine csp", "two entries are named csp", 0), ("", "no operator is registered", 0)):
            returned, text, built = self.list_custom_operators(names, error if status else "", status)
            self.assertEqual((returned, built), (2, first), text)
            self.assertIn(f"bench/run: --with: {error}", text)
            self.assertNotIn("Traceback", text)

    def test_notices_come_once_and_last(self) -> None:
        self.write_script("nvidia-smi", "#!/bin/sh\nexit 1\n")
        self.write_script("nvcc", "#!/bin/sh\n")
        self.write_script("cmake", QUICK_CMAKE)
        process = subprocess.run([ROOT / "bench/run", "--list", "--build", str(self.folder / "build")],
                                 env={**self.environment, "FOLDER": str(self.folder / "build/bench"), "NAMES": "mine", "ERROR": "", "STATUS": "0"},
                                 capture_output=True, encoding="utf-8", check=True)
        self.assertEqual(process.stderr.count("no GPU"), 1, process.stderr)
        self.assertIn("no GPU", process.stderr.splitlines()[-1])
        self.assertNotIn("CMake", process.stderr)

    def test_a_header_of_the_reference_blas_is_not_openblas(self) -> None:
        self.assertIn("installing: libopenblas-dev", self.install("openblas", "libopenblas-dev"))
        self.assertEqual(self.install("nothing", "libopenblas-dev"), "")

    def test_interrupted_while_it_builds(self) -> None:
        self.write_script("cmake", SLOW_CMAKE)
        for terminal in (False, True):
            our_end, program_end = pty.openpty()
            # Starts a separate process group, like a shell. The signal reaches only one process, as from `timeout`.
            run = subprocess.Popen([ROOT / "bench/run", "--list", "--no-cuda", "--build", str(self.folder / "build")], env=self.environment,
                                   stdout=subprocess.PIPE, stderr=program_end if terminal else subprocess.PIPE, encoding="utf-8", start_new_session=True)
            pids = self.folder / "pids"
            os.close(program_end)
            while run.poll() is None and not (pids.exists() and pids.read_text(encoding="utf-8")):
                time.sleep(0.02)
            shown = b""
            while terminal and b"first.cpp" not in shown and (output_part := read_terminal(our_end)):
                shown += output_part
            run.send_signal(signal.SIGINT)
            output = run.communicate()[1]
            if terminal:
                while output_part := read_terminal(our_end):
                    shown += output_part
                output = shown.decode()
            os.close(our_end)
            self.assertEqual(run.returncode, 130, output)
            self.assertIn("interrupted", output)
            self.assertNotIn("the build failed", output)
            if terminal:
                self.assertIn("\r\033[K  [1/7] first.cpp", output)
            wait_for_end(int(pids.read_text(encoding="utf-8")))  # its child process
            pids.unlink()
