# SPDX-License-Identifier: Apache-2.0
"""A bench program in the arena: it times one group of cases and prints JSON, an object a line."""
import json
import subprocess
import threading
from collections.abc import Callable

PASSED_ON = 200  # lines of a program's stderr that are kept, to be shown if it fails


class Broken(Exception):
    """The program ended before its time; other groups have programs of their own."""


class NothingMeasured(Exception):
    """The program says that this machine lacks what it needs."""


class Program:
    """Its output is read line by line. It does not outlive this process."""

    def __init__(self, command: list[str], show: Callable[[dict], None]) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
        self.show = show  # called with each step that is no result
        self.results: list[dict] = []
        self.context: dict = {}
        self.complaints: list[str] = []
        self.reader = threading.Thread(target=self._drain, daemon=True)
        self.reader.start()

    def _drain(self) -> None:
        for line in self.process.stderr:
            self.complaints = (self.complaints + [line.rstrip()])[-PASSED_ON:]

    def __enter__(self) -> "Program":
        return self

    def __exit__(self, *_) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait()
        self.reader.join()

    def advance(self) -> bool:
        """Reads until the program waits for its next round (true) or ends (false)."""
        for text in self.process.stdout:
            if text.startswith("nothing measured"):
                raise NothingMeasured(text.strip())
            line = json.loads(text)
            if line.get("step") == "round":
                return True
            if "step" in line:
                self.show(line)
            elif "context" in line:
                self.context = line["context"]
            else:
                self.results.append(line)
        self.process.wait()
        return False

    def start_round(self) -> None:
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    @property
    def status(self) -> int:
        return self.process.returncode
