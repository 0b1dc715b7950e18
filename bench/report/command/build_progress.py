# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of a build and shows how far they are: ninja counts its steps itself, [n/m]."""
import os
import re
import signal
import subprocess
import sys
import time
from collections import deque

EVERY = 15.0  # seconds between lines where there is no terminal


class Build:
    def __init__(self) -> None:
        self.last_lines: deque[str] = deque(maxlen=40)
        self.terminal = sys.stderr.isatty()
        self.last = self.start = time.monotonic()

    def run(self, command: list[str]) -> bool:
        """Whether it ended well. If this process is interrupted, so is the command with all that it has started."""
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
                if self.terminal:
                    print("\r\033[K", end="", file=sys.stderr, flush=True)
        return process.returncode == 0

    def show(self, line: str) -> None:
        step = re.match(r"\[(\d+)/(\d+)\] (.*)", line)
        if not step:
            return
        what = f"[{step[1]}/{step[2]}] {step[3].split('/')[-1].removesuffix('.o')}"
        now = time.monotonic()
        if self.terminal:
            print(f"\r\033[K  {what[:100]}", end="", file=sys.stderr, flush=True)
        elif now - self.last >= EVERY:
            self.last = now
            print(f"  [{now - self.start:4.0f} s] {what}", file=sys.stderr, flush=True)
