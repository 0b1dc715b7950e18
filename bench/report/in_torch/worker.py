# SPDX-License-Identifier: Apache-2.0
"""Worker process that times PyTorch on one thread, round by round. Reads a JSON request per line; replies with JSON objects."""
import json
import resource
import statistics
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import torch

from ..entries import torch_implementations_of
from ..results import parse_case
from .implementations import Implementation, implementations_of

ROUND_SECONDS = 0.03  # minimum time per implementation and round
FLUSH_BYTES = 256 << 20  # more than the L2 cache of any GPU


def limit_memory() -> None:
    """Limits the address space, so that allocations fail before the machine runs out of memory."""
    free_kilobytes = next(int(line.split()[1]) for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines() if line.startswith("MemAvailable"))
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0])
    limit = pages * resource.getpagesize() + free_kilobytes * 1024 // 20 * 19
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))


@cache
def flush_buffer():
    return torch.zeros(FLUSH_BYTES // 4, dtype=torch.int32, device="cuda")


class ImplementationTimer:
    """Times one implementation of one case."""

    def __init__(self, name: str, implementation: str) -> None:
        self.case, self.implementation = parse_case(name), implementation
        self.seconds: list[float] = []
        self.calls, self.peak_bytes, self.failure = 0, None, ""
        self.on_gpu = self.case.backend == "cuda"

    def make_call(self, implementation: Implementation) -> Callable:
        direction = self.case.direction
        if direction not in ("training", "backward"):
            return torch.inference_mode()(implementation.call)
        implementation.leaves = [leaf.requires_grad_() for leaf in implementation.leaves]
        with torch.set_grad_enabled(direction == "backward"):
            y = implementation.call()
        dy = torch.rand_like(y)
        if direction == "backward":
            return lambda: torch.autograd.grad(y, implementation.leaves, dy, retain_graph=True)

        def step() -> None:
            for leaf in implementation.leaves:
                leaf.grad = None
            implementation.call().backward(dy)
        return step

    def time_calls(self, call: Callable, count: int) -> float:
        if self.on_gpu:
            buffer = flush_buffer()
            start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            seconds = []
            for _ in range(count):
                # Flushes the L2 cache by reading, because dirty lines would be written back during the timed call.
                buffer.amax()
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
        """Times calls on new tensors after a warm-up. Keeps no memory between rounds."""
        if self.failure:
            return
        try:
            if self.on_gpu:
                flush_buffer()
                torch.cuda.empty_cache()
                before = torch.cuda.memory_allocated()
                torch.cuda.reset_peak_memory_stats()
            call = self.make_call(next(candidate for candidate in implementations_of(self.case) if candidate.name == self.implementation))
            if not self.seconds or self.seconds[0] < 1:
                self.time_calls(call, 1)
                call_seconds = self.time_calls(call, 1)
                self.calls = max(1, min(1000, round(ROUND_SECONDS / max(call_seconds, 1e-6))))
            self.seconds.append(self.time_calls(call, self.calls))
            if self.on_gpu:
                self.peak_bytes = torch.cuda.max_memory_allocated() - before
        except (torch.OutOfMemoryError, MemoryError):
            self.failure = "out of memory"
        except Exception as error:  # other implementations are still timed
            message = str(error) or type(error).__name__
            self.failure = "out of memory" if "can't allocate memory" in message or "out of memory" in message else message.splitlines()[0]

    def make_result(self) -> dict:
        name = f"baseline_{self.implementation}" + self.case.name[len(self.case.subject):]
        if self.failure:
            return {"name": name, "failed": self.failure}
        peak = {"peak_bytes": self.peak_bytes} if self.peak_bytes is not None else {}
        return {"name": name, "seconds": self.seconds, "calls": self.calls, **peak}


def main() -> None:
    torch.set_num_threads(1)
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
    if not gpu:  # CUDA reserves more address space than memory
        limit_memory()
    timers: list[ImplementationTimer] = []
    print(json.dumps({"context": {"torch": torch.__version__, "gpu": gpu, "threads": torch.get_num_threads()}}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        if "begin" in request:
            timers = [ImplementationTimer(name, implementation) for name in request["begin"] for implementation in torch_implementations_of(parse_case(name))]
            if not gpu:
                timers = [timer for timer in timers if not timer.on_gpu]
            reply: dict = {"begun": len(timers)}
        elif "round" in request:
            for timer in timers:
                timer.time_round()
            reply = {"timed": len(timers)}
        else:
            reply = {"results": [timer.make_result() for timer in timers]}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
