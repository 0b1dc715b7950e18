# SPDX-License-Identifier: Apache-2.0
"""Times PyTorch round by round: reads a JSON object a line, answers with one. Runs where torch is, on one thread."""
import json
import resource
import statistics
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import torch

from ..contestants import torch_forms_of
from ..results import case_named
from .forms import Form, forms_of

SHORT = 0.03  # seconds that a form is timed at least in a round
FLUSH_BYTES = 256 << 20  # beyond any GPU's L2 cache


def bound_memory() -> None:
    """What does not fit shall fail, and not take the machine with it."""
    free = next(int(line.split()[1]) for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines() if line.startswith("MemAvailable"))
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0])
    limit = pages * resource.getpagesize() + free * 1024 // 20 * 19
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))


@cache
def flush_memory():
    return torch.zeros(FLUSH_BYTES // 4, dtype=torch.int32, device="cuda")


class FormTimer:
    """One form of one case."""

    def __init__(self, name: str, form: str) -> None:
        self.case, self.form = case_named(name), form
        self.seconds: list[float] = []
        self.calls, self.peak, self.failed = 0, None, ""
        self.on_gpu = self.case.backend == "cuda"

    def timed_call(self, form: Form) -> Callable:
        direction = self.case.direction
        if direction not in ("training", "backward"):
            return torch.inference_mode()(form.call)
        form.leaves = [leaf.requires_grad_() for leaf in form.leaves]
        with torch.set_grad_enabled(direction == "backward"):
            y = form.call()
        dy = torch.rand_like(y)
        if direction == "backward":
            return lambda: torch.autograd.grad(y, form.leaves, dy, retain_graph=True)

        def step() -> None:
            for leaf in form.leaves:
                leaf.grad = None
            form.call().backward(dy)
        return step

    def time_calls(self, call: Callable, count: int) -> float:
        if self.on_gpu:
            flush = flush_memory()
            start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            seconds = []
            for _ in range(count):
                # From a cold L2 cache, as our program times. It is filled by reading: what was written would go back to
                # memory while the call is timed.
                flush.amax()
                start.record()
                call()
                stop.record()
                stop.synchronize()
                seconds.append(start.elapsed_time(stop) * 1e-3)
            return statistics.median(seconds)
        begin = time.perf_counter()
        for _ in range(count):
            call()
        return (time.perf_counter() - begin) / count

    def time_round(self) -> None:
        """Fresh tensors, a warm-up, and the time of a call; nothing is held between rounds."""
        if self.failed:
            return
        try:
            if self.on_gpu:
                flush_memory()
                torch.cuda.empty_cache()
                before = torch.cuda.memory_allocated()
                torch.cuda.reset_peak_memory_stats()
            call = self.timed_call(next(f for f in forms_of(self.case) if f.name == self.form))
            if not self.seconds or self.seconds[0] < 1:
                self.time_calls(call, 1)
                one = self.time_calls(call, 1)
                self.calls = max(1, min(1000, round(SHORT / max(one, 1e-6))))
            self.seconds.append(self.time_calls(call, self.calls))
            if self.on_gpu:
                self.peak = torch.cuda.max_memory_allocated() - before
        except (torch.OutOfMemoryError, MemoryError):
            self.failed = "out of memory"
        except Exception as error:  # whatever torch has against this form, the others are timed
            text = str(error) or type(error).__name__
            self.failed = "out of memory" if "can't allocate memory" in text or "out of memory" in text else text.splitlines()[0]

    def result(self) -> dict:
        name = f"baseline_{self.form}" + self.case.name[len(self.case.subject):]
        if self.failed:
            return {"name": name, "failed": self.failed}
        more = {"peak_bytes": self.peak} if self.peak is not None else {}
        return {"name": name, "seconds": self.seconds, "calls": self.calls, **more}


def main() -> None:
    torch.set_num_threads(1)
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
    if not gpu:  # CUDA reserves more addresses than there is memory
        bound_memory()
    timers: list[FormTimer] = []
    print(json.dumps({"context": {"torch": torch.__version__, "gpu": gpu, "threads": torch.get_num_threads()}}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        if "begin" in asked:
            timers = [FormTimer(name, form) for name in asked["begin"] for form in torch_forms_of(case_named(name))]
            if not gpu:
                timers = [timer for timer in timers if not timer.on_gpu]
            answer: dict = {"begun": len(timers)}
        elif "round" in asked:
            for timer in timers:
                timer.time_round()
            answer = {"timed": len(timers)}
        else:
            answer = {"results": [timer.result() for timer in timers]}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
