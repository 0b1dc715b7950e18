# SPDX-License-Identifier: Apache-2.0
"""Detects noise: other work on the machine before and during a run, and differences between rounds."""
import json
import os
import resource
import statistics
import time
from pathlib import Path

from ..results import load

SAMPLE = 0.5  # seconds of idle time before a run
# Limits for a notice: shares of all processors' time, and relative spread of rounds.
OTHERS, STEAL, SPREAD = 0.1, 0.01, 0.1


def process_seconds() -> float:
    """Processor time of this process and of its children that have ended."""
    return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def machine_seconds() -> tuple[float, float]:
    """Busy time of all processors, and time that the hypervisor gave to other machines."""
    first = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:]
    user, nice, system, _idle, _wait, interrupts, soft, steal = (int(field) / os.sysconf("SC_CLK_TCK") for field in first[:8])
    return user + nice + system + interrupts + soft, steal


class Watch:
    """Watches the machine. Without /proc/stat there are no notices."""

    def __init__(self, sample: float = SAMPLE) -> None:
        self.enabled = Path("/proc/stat").exists()
        self.notices: list[str] = []
        if self.enabled:
            self._begin()
            time.sleep(sample)
            self.notices = self._notices("before the run")
            self._begin()

    def _begin(self) -> None:
        self.start, self.process, self.machine = time.monotonic(), process_seconds(), machine_seconds()

    def _notices(self, period: str) -> list[str]:
        elapsed, process, (busy, steal) = time.monotonic() - self.start, process_seconds(), machine_seconds()
        return notices(period, os.cpu_count() or 1, elapsed, busy - self.machine[0] - (process - self.process), steal - self.machine[1],
                       os.getloadavg()[0])

    def end(self) -> list[str]:
        """Returns all notices. Every child process must have ended."""
        return self.notices + (self._notices("during the run") if self.enabled else [])


def notices(period: str, processors: int, elapsed: float, others: float, steal: float, load_average: float) -> list[str]:
    found, total = [], processors * max(elapsed, 1e-9)
    if others > OTHERS * total:
        found.append(f"The machine was busy {period}: other processes took {others / elapsed:.1f} of its {processors} processors "
                     f"(load average {load_average:.1f}).")
    if steal > STEAL * total:
        found.append(f"The virtual machine got less than its share {period}: {steal / total:.0%} of the processors' time went to others (steal).")
    return found


def spread_of(path: Path) -> list[str]:
    """A notice if the rounds of a case differ much."""
    spreads = []
    for case in load(str(path))[1].values():
        times = case.times()
        if len(times) >= 4:
            low, _, high = statistics.quantiles(times, n=4, method="inclusive")
            spreads.append((high - low) / 2 / statistics.median(times))
    if not spreads or statistics.median(spreads) <= SPREAD:
        return []
    return [f"The rounds differ: half of the cases have an interquartile range of ±{statistics.median(spreads):.0%} or more."]


def note(path: Path, found: list[str]) -> list[str]:
    """Adds the notices to the context of the results, and returns them with one about the spread."""
    if not path.exists():
        return found
    found = list(dict.fromkeys(found)) + spread_of(path)
    results = json.loads(path.read_text(encoding="utf-8"))
    results["context"]["noise"] = found
    path.write_text(json.dumps(results, indent=1), encoding="utf-8")
    return found
