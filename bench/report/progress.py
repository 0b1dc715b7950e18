# SPDX-License-Identifier: Apache-2.0
"""How far a long run is: a line that is rewritten on a terminal, elsewhere a line every few seconds."""
import sys
import time

WIDTH = 24
EVERY = 5.0  # seconds between lines where there is no terminal


class Progress:
    """Work is counted in any unit; `finished` was done by an earlier run."""

    def __init__(self, total: float, finished: float = 0.0) -> None:
        self.total, self.finished, self.earlier = total, finished, finished
        self.current = 0.0
        self.start, self.last = time.monotonic(), -EVERY
        self.terminal = sys.stderr.isatty()

    def begin(self, work: float) -> None:
        self.current = work

    def done(self) -> None:
        self.finished += self.current
        self.current = 0.0

    def show(self, share: float, what: str) -> None:
        """`share` of the current work is done."""
        now = time.monotonic()
        if now - self.last < (0.1 if self.terminal else EVERY):
            return
        self.last = now
        at = self.finished + share * self.current
        part = min(at / self.total, 1.0)
        new, elapsed = at - self.earlier, now - self.start
        left = f"{clock(elapsed / new * (self.total - at))} left" if new > 0.02 * self.total else "        "
        if self.terminal:
            bar = "#" * round(part * WIDTH)
            print(f"\r\033[K  [{bar:.<{WIDTH}}] {part:4.0%} {left}  {what[:70]}", end="", file=sys.stderr, flush=True)
        else:
            print(f"  [{elapsed:4.0f} s] {part:4.0%} {left}  {what}", file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self.terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
