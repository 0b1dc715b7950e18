# SPDX-License-Identifier: Apache-2.0
"""Whether the machine was busy with something else: before a run, while it went on, and by what its rounds say."""
import json
import os
import resource
import statistics
import time
from pathlib import Path

from ..results import load

SAMPLE = 0.5  # seconds that this process is idle to see what others do
OTHERS = 0.1  # of all processors' time: worth a word
STEAL = 0.01
SPREAD = 0.1


def own_seconds() -> float:
    """Processor time of this process and of those that it has waited for."""
    return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def machine_seconds() -> tuple[float, float]:
    """Time that all processors worked, and that the hypervisor gave to other machines."""
    first = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:]
    user, nice, system, _idle, _wait, interrupts, soft, steal = (int(field) / os.sysconf("SC_CLK_TCK") for field in first[:8])
    return user + nice + system + interrupts + soft, steal


class Watch:
    """Looks at the machine from now on. Where there is no /proc/stat it sees nothing."""

    def __init__(self, sample: float = SAMPLE) -> None:
        self.known = Path("/proc/stat").exists()
        self.said: list[str] = []
        if self.known:
            self._begin()
            time.sleep(sample)
            self.said = self._sentences("before the run")
            self._begin()

    def _begin(self) -> None:
        self.start, self.own, self.machine = time.monotonic(), own_seconds(), machine_seconds()

    def _sentences(self, when: str) -> list[str]:
        passed, own, (busy, steal) = time.monotonic() - self.start, own_seconds(), machine_seconds()
        return sentences(when, os.cpu_count() or 1, passed, busy - self.machine[0] - (own - self.own), steal - self.machine[1], os.getloadavg()[0])

    def end(self) -> list[str]:
        """What there is to say; empty for a quiet machine. Every process that was started must have been waited for."""
        return self.said + (self._sentences("during the run") if self.known else [])


def sentences(when: str, processors: int, passed: float, others: float, steal: float, load_average: float) -> list[str]:
    said, all_time = [], processors * max(passed, 1e-9)
    if others > OTHERS * all_time:
        said.append(f"The machine was busy {when}: other processes took {others / passed:.1f} of its {processors} processors "
                    f"(load average {load_average:.1f}).")
    if steal > STEAL * all_time:
        said.append(f"The virtual machine got less than its share {when}: {steal / all_time:.0%} of the processors' time went to others (steal).")
    return said


def spread_of(path: Path) -> list[str]:
    """How much the rounds of one case differ, where that is worth a word."""
    spreads = []
    for case in load(str(path))[1].values():
        times = case.times()
        if len(times) >= 4:
            low, _, high = statistics.quantiles(times, n=4, method="inclusive")
            spreads.append((high - low) / 2 / statistics.median(times))
    if not spreads or statistics.median(spreads) <= SPREAD:
        return []
    return [f"The rounds differ: in half of the cases the middle half of the times spans ±{statistics.median(spreads):.0%} or more."]


def note(path: Path, said: list[str]) -> list[str]:
    """Puts what was noticed into the context of the results, and returns all of it."""
    if not path.exists():
        return said
    said = list(dict.fromkeys(said)) + spread_of(path)
    results = json.loads(path.read_text(encoding="utf-8"))
    results["context"]["noise"] = said
    path.write_text(json.dumps(results, indent=1), encoding="utf-8")
    return said
