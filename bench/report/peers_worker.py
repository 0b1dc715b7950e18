# SPDX-License-Identifier: Apache-2.0
"""Times PyTorch turn by turn for the arena: reads a JSON object a line, answers with one. Runs where torch is, on one
thread."""
import json
import resource
import sys
import time
from pathlib import Path

import torch

from .contestants import torch_forms_of
from .results import case_named
from .torch_forms import Form, forms_of

SHORT = 0.03  # seconds that a turn lasts at least


def bound_memory() -> None:
    """What does not fit shall fail, and not take the machine with it."""
    free = next(int(line.split()[1]) for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable"))
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + free * 1024 // 20 * 19
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))


class Race:
    """One form of one case."""

    def __init__(self, name: str, form: str) -> None:
        self.case, self.form = case_named(name), form
        self.seconds: list[float] = []
        self.calls, self.peak, self.failed = 0, None, ""
        self.on_gpu = self.case.backend == "cuda"

    def run(self, form: Form, dy) -> None:
        if self.case.direction != "training":
            with torch.inference_mode():
                form.call()
            return
        for leaf in form.leaves:
            leaf.grad = None
        form.call().backward(dy)

    def times(self, form: Form, dy, calls: int) -> float:
        if self.on_gpu:
            start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            for _ in range(calls):
                self.run(form, dy)
            stop.record()
            stop.synchronize()
            return start.elapsed_time(stop) * 1e-3 / calls
        begin = time.perf_counter()
        for _ in range(calls):
            self.run(form, dy)
        return (time.perf_counter() - begin) / calls

    def turn(self) -> None:
        """Fresh tensors, a warm-up, and the time of a call; nothing is held between turns."""
        if self.failed:
            return
        try:
            if self.on_gpu:
                torch.cuda.empty_cache()
                before = torch.cuda.memory_allocated()
                torch.cuda.reset_peak_memory_stats()
            form = next(f for f in forms_of(self.case) if f.name == self.form)
            dy = None
            if self.case.direction == "training":
                form.leaves = [leaf.requires_grad_() for leaf in form.leaves]
                with torch.no_grad():
                    dy = torch.rand_like(form.call())
            if not self.seconds or self.seconds[0] < 1:
                self.times(form, dy, 1)
                one = self.times(form, dy, 1)
                self.calls = max(1, min(1000, round(SHORT / max(one, 1e-6))))
            self.seconds.append(self.times(form, dy, self.calls))
            if self.on_gpu:
                self.peak = torch.cuda.max_memory_allocated() - before
        except (torch.OutOfMemoryError, MemoryError):
            self.failed = "out of memory"
        except RuntimeError as error:
            text = str(error)
            self.failed = "out of memory" if "can't allocate memory" in text or "out of memory" in text else text.splitlines()[0]

    def result(self) -> dict:
        name = f"baseline_{self.form}" + self.case.name[len(self.case.subject):]
        if self.failed:
            return {"name": name, "failed": self.failed}
        more = {"peak_bytes": self.peak} if self.peak is not None else {}
        return {"name": name, "seconds": self.seconds, "calls": self.calls, **more}


def main() -> None:
    torch.set_num_threads(1)
    bound_memory()
    races: list[Race] = []
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
    print(json.dumps({"context": {"torch": torch.__version__, "gpu": gpu, "threads": torch.get_num_threads()}}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        if "begin" in asked:
            races = [Race(name, form) for name in asked["begin"] for form in torch_forms_of(case_named(name))]
            if not gpu:
                races = [race for race in races if not race.on_gpu]
            answer: dict = {"begun": len(races)}
        elif "turn" in asked:
            for race in races:
                race.turn()
            answer = {"turned": True}
        else:
            answer = {"results": [race.result() for race in races]}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
