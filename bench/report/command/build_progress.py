# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of a build and shows ninja's progress, [n/m]."""
import os
import re
import signal
import subprocess
import sys
import time
from collections import deque

INTERVAL = 15.0  # seconds between lines without a terminal


class Build:
    def __init__(self) -> None:
        self.last_lines: deque[str] = deque(maxlen=40)
        self.is_terminal = sys.stderr.isatty()
        self.start, self.last_shown = time.monotonic(), 0.0

    def run(self, command: list[str]) -> bool:
        """Runs a command; true if it succeeds. An interruption also ends all processes that the command started."""
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, encoding="utf-8",
                              errors="replace", process_group=0) as process:
            try:
                for line in process.stdout:
                    self.last_lines.append(line.rstrip())
                    self.show(line)
            except BaseException:
                os.killpg(process.pid, signal.SIGTERM)
                raise
            finally:
                if self.is_terminal:
                    print("\r\033[K", end="", file=sys.stderr, flush=True)
        return process.returncode == 0

    def show(self, line: str) -> None:
        progress = re.match(r"\[(\d+)/(\d+)\] (.*)", line)
        if not progress:
            return
        label = f"[{progress[1]}/{progress[2]}] {progress[3].split('/')[-1].removesuffix('.o')}"
        elapsed = time.monotonic() - self.start
        if self.is_terminal:
            print(f"\r\033[K  {label[:100]}", end="", file=sys.stderr, flush=True)
        elif elapsed - self.last_shown >= INTERVAL:
            self.last_shown = elapsed
            print(f"  [{elapsed:4.0f} s] {label}", file=sys.stderr, flush=True)
