# SPDX-License-Identifier: Apache-2.0
"""Detects noise: other work on the machine before and during a run, and differences between rounds."""
import json
import os
import resource
import statistics
import time
from pathlib import Path

from ..results import load, replace_file

SAMPLE_SECONDS = 0.5  # length of the check before a run
# Limits above which there is a notice: shares of all processors' time, and relative spread of the rounds.
MAX_OTHERS_SHARE, MAX_STEAL_SHARE, MAX_SPREAD = 0.1, 0.01, 0.1


def process_seconds() -> float:
    """Returns the processor time of this process and of its children that have ended."""
    return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def machine_seconds() -> tuple[float, float]:
    """Returns the busy time of all processors, and the time that the hypervisor gave to other machines."""
    first = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:]
    user, nice, system, _idle, _wait, interrupts, soft, steal = (int(field) / os.sysconf("SC_CLK_TCK") for field in first[:8])
    return user + nice + system + interrupts + soft, steal


class NoiseWatch:
    """Watches the machine for other work. Without /proc/stat there are no notices."""

    def __init__(self, sample_seconds: float = SAMPLE_SECONDS) -> None:
        self.is_enabled = Path("/proc/stat").exists()
        self.notices: list[str] = []
        if self.is_enabled:
            self._start_period()
            time.sleep(sample_seconds)
            self.notices = self._describe_noise("before the run")
            self._start_period()

    def _start_period(self) -> None:
        self.start, self.process_start, self.machine_start = time.monotonic(), process_seconds(), machine_seconds()

    def _describe_noise(self, period: str) -> list[str]:
        elapsed, process, (busy, steal) = time.monotonic() - self.start, process_seconds(), machine_seconds()
        return describe_noise(period, os.cpu_count() or 1, elapsed, busy - self.machine_start[0] - (process - self.process_start), steal - self.machine_start[1],
                              os.getloadavg()[0])

    def end(self) -> list[str]:
        """Returns all notices. Every child process must have ended."""
        return self.notices + (self._describe_noise("during the run") if self.is_enabled else [])


def describe_noise(period: str, processors: int, elapsed: float, others: float, steal: float, load_average: float) -> list[str]:
    notices, total = [], processors * max(elapsed, 1e-9)
    if others > MAX_OTHERS_SHARE * total:
        notices.append(f"The machine was busy {period}: other processes took {others / elapsed:.1f} of its {processors} processors "
                       f"(load average {load_average:.1f}).")
    if steal > MAX_STEAL_SHARE * total:
        notices.append(f"The virtual machine got less than its share {period}: {steal / total:.0%} of the processors' time went to others (steal).")
    return notices


def describe_spread(path: Path) -> list[str]:
    """Returns a notice if the rounds of the cases differ much."""
    spreads = []
    for case in load(str(path))[1].values():
        times = case.times()
        if len(times) >= 4:
            low, _, high = statistics.quantiles(times, n=4, method="inclusive")
            spreads.append((high - low) / 2 / statistics.median(times))
    if not spreads or statistics.median(spreads) <= MAX_SPREAD:
        return []
    return [f"The rounds differ: half of the cases have an interquartile range of ±{statistics.median(spreads):.0%} or more."]


def record_notices(path: Path, notices: list[str]) -> list[str]:
    """Adds the notices, and one about the spread of the rounds, to the context of the results. Returns all notices."""
    if not path.exists():
        return notices
    notices = list(dict.fromkeys(notices)) + describe_spread(path)
    data = json.loads(path.read_text(encoding="utf-8"))
    data["context"]["noise"] = notices
    replace_file(path, json.dumps(data, indent=1))
    return notices
