# SPDX-License-Identifier: Apache-2.0
"""The build as a user meets it: its progress, Ctrl-C, and packages that are missing. Compilers, cmake and apt are played by
scripts."""
import os
import pty
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from report.command.options import ROOT

SLOW_CMAKE = """#!/bin/sh
[ "$1" != --build ] && exit 0
echo '[1/7] Building CXX object a/b/first.cpp.o'
sleep 60 & echo $! >"$PIDS"
wait
"""
# A linker and a preprocessor that find everything but what $LACKS names.
COMPILER = """#!/bin/sh
cat >/dev/null
case "$*" in *-l"$LACKS"*) exit 1 ;; esac
exit 0
"""


def ends(process: int) -> bool:
    """Soon; a zombie, which nobody has waited for, has ended."""
    for _ in range(100):
        try:
            if Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.05)
    return False


class Build(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.environment = {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}", "PIDS": str(self.folder / "pids"),
                            "CXX": str(self.folder / "compiler"), "LACKS": "nothing"}
        self.script("compiler", COMPILER)
        self.script("apt-get", '#!/bin/sh\necho "$@" >>"$PIDS"\n')
        self.script("sudo", '#!/bin/sh\n[ "$1" != -n ] || shift\nexec "$@"\n')

    def script(self, name: str, text: str) -> None:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    def installs(self, lacks: str, package: str) -> str:
        done = subprocess.run([ROOT / "tests/install_deps", package], env={**self.environment, "LACKS": lacks}, capture_output=True, encoding="utf-8", check=True)
        return done.stdout

    def test_a_header_of_the_reference_blas_is_no_openblas(self) -> None:
        self.assertIn("installing: libopenblas-dev", self.installs("openblas", "libopenblas-dev"))
        self.assertEqual(self.installs("nothing", "libopenblas-dev"), "")

    def test_interrupted_while_it_builds(self) -> None:
        self.script("cmake", SLOW_CMAKE)
        for terminal in (False, True):
            ours, theirs = pty.openpty()
            # In a group of its own, as a shell starts it: Ctrl-C reaches the group, but the signal of `timeout` one process.
            run = subprocess.Popen([ROOT / "bench/run", "--list", "--no-cuda", "--build", str(self.folder / "build")], env=self.environment,
                                   stdout=subprocess.PIPE, stderr=theirs if terminal else subprocess.PIPE, encoding="utf-8", start_new_session=True)
            pids = self.folder / "pids"
            late = time.monotonic() + 60
            while not pids.exists() and time.monotonic() < late and run.poll() is None:
                time.sleep(0.02)
            time.sleep(0.2)
            run.send_signal(signal.SIGINT)
            said = run.communicate(timeout=30)[1] or os.read(ours, 10000).decode()
            os.close(ours)
            os.close(theirs)
            self.assertEqual(run.returncode, 130, said)
            self.assertIn("interrupted", said)
            self.assertNotIn("the build failed", said)
            if terminal:
                self.assertIn("\r\033[K  [1/7] first.cpp", said)
            self.assertTrue(ends(int(pids.read_text(encoding="utf-8"))), "what it had started goes on")
            pids.unlink()


if __name__ == "__main__":
    unittest.main()
