# SPDX-License-Identifier: Apache-2.0
"""The results of a long run, from which an interrupted run continues."""
import json
import threading
from pathlib import Path


class RunLog:
    """A file with a line of JSON for each result."""

    def __init__(self, path: Path) -> None:
        self.path, self.lock = path, threading.Lock()
        self.lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []

    def add(self, line: dict) -> None:
        with self.lock, self.path.open("a", encoding="utf-8") as file:
            self.lines.append(line)
            file.write(json.dumps(line) + "\n")
