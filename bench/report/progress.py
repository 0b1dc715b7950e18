# SPDX-License-Identifier: Apache-2.0
"""Progress of a long run: a line that is rewritten on a terminal, or else a new line every few seconds."""
import sys
import time

WIDTH = 24
INTERVAL = 5.0  # seconds between lines without a terminal


class Progress:
    """Work has any unit; `finished` is the work of an earlier run."""

    def __init__(self, total: float, finished: float = 0.0) -> None:
        self.total, self.finished, self.earlier = total, finished, finished
        self.current = 0.0
        self.start, self.last = time.monotonic(), -INTERVAL
        self.terminal = sys.stderr.isatty()

    def begin(self, work: float) -> None:
        self.current = work

    def done(self) -> None:
        self.finished += self.current
        self.current = 0.0

    def show(self, share: float, label: str) -> None:
        """Shows that `share` of the current work is done."""
        time_now = time.monotonic()
        if time_now - self.last < (0.1 if self.terminal else INTERVAL):
            return
        self.last = time_now
        done = self.finished + share * self.current
        total_share = min(done / self.total, 1.0)
        new, elapsed = done - self.earlier, time_now - self.start
        remaining = f"{clock(elapsed / new * (self.total - done))} left" if new > 0.02 * self.total else "        "
        if self.terminal:
            bar = "#" * round(total_share * WIDTH)
            print(f"\r\033[K  [{bar:.<{WIDTH}}] {total_share:4.0%} {remaining}  {label[:70]}", end="", file=sys.stderr, flush=True)
        else:
            print(f"  [{elapsed:4.0f} s] {total_share:4.0%} {remaining}  {label}", file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self.terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
