# SPDX-License-Identifier: Apache-2.0
"""Progress of a long run: a line that is rewritten on a terminal, or else a new line every few seconds."""
import sys
import time

WIDTH = 24
INTERVAL = 5.0  # seconds between lines without a terminal


class Progress:
    """Progress in any unit of work. An earlier run did `finished_work`."""

    def __init__(self, total: float, finished_work: float = 0.0) -> None:
        self.total_work, self.finished_work, self.earlier_work = total, finished_work, finished_work
        self.current_work = 0.0
        self.start, self.last_shown = time.monotonic(), -INTERVAL
        self.is_terminal = sys.stderr.isatty()

    def begin_work(self, work: float) -> None:
        self.current_work = work

    def finish_work(self) -> None:
        self.finished_work += self.current_work
        self.current_work = 0.0

    def show(self, share: float, label: str) -> None:
        """Shows that `share` of the current work is done."""
        time_now = time.monotonic()
        if time_now - self.last_shown < (0.1 if self.is_terminal else INTERVAL):
            return
        self.last_shown = time_now
        done_work = self.finished_work + share * self.current_work
        share_of_total = min(done_work / self.total_work, 1.0)
        new, elapsed = done_work - self.earlier_work, time_now - self.start
        remaining = f"{format_clock(elapsed / new * (self.total_work - done_work))} left" if new > 0.02 * self.total_work else "        "
        if self.is_terminal:
            bar = "#" * round(share_of_total * WIDTH)
            print(f"\r\033[K  [{bar:.<{WIDTH}}] {share_of_total:4.0%} {remaining}  {label[:70]}", end="", file=sys.stderr, flush=True)
        else:
            print(f"  [{elapsed:4.0f} s] {share_of_total:4.0%} {remaining}  {label}", file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self.is_terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def format_clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
