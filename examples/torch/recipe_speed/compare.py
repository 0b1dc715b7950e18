#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the recipes of examples/recipes, and the same layers in PyTorch, against softmax attention on one thread, float:
`python examples/torch/recipe_speed/compare.py 1024`. Prints processor times, their ratios and the peak memory. Checks
first that both compute the same. Takes minutes. `--table recurrences` has pointwise attention, MEGA and state spaces,
and `--table sums` decaying_sum with its forms in PyTorch."""
import argparse
import ctypes
import gc
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import in_torch
import recurrent_in_torch
import torch
from recurrences import convolve, make_kernel

HERE = Path(__file__).resolve().parent
HEADS, CHANNELS = 1, 64
ROUND_SECONDS = 0.03  # minimum of an entry in a round
RANK, LANDMARKS, TAPS, WINDOW, PROJECTED, BLOCK, CHUNK, ROUNDS, HALF_STEPS = 256, 64, 33, 64, 128, 64, 64, 4, 3
# The `size` of make_layer in layers.cpp.
SIZES = {"nystromformer": LANDMARKS, "long_short": WINDOW, "sinkhorn_transformer": BLOCK, "reformer": CHUNK, "sinkformer": HALF_STEPS,
         "mega_chunk": recurrent_in_torch.CHUNK, "spade": recurrent_in_torch.WINDOW, "decaying_sum": 1,
         "decaying_sum_mega": recurrent_in_torch.MEGA_STATES}
IMPLEMENTATIONS = {**in_torch.IMPLEMENTATIONS, **recurrent_in_torch.IMPLEMENTATIONS}
TABLES = {"attention": in_torch.IMPLEMENTATIONS, "recurrences": ["softmax_attention", *recurrent_in_torch.IMPLEMENTATIONS]}
PASSES = ("forward", "forward + backward")
SUM_CHANNELS, SUM_ROWS = 1024, 2 ** 15  # rows of all samples
STATE_NUMBERS = 2 ** 25  # limit of the forms that store every state


class Array(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("extents", ctypes.c_int64 * 4)]

    def __init__(self, tensor):
        super().__init__(tensor.data_ptr(), (ctypes.c_int64 * 4)(*tensor.shape))


def load_layers():
    with tempfile.TemporaryDirectory() as folder:
        library = f"{folder}/layers.so"
        subprocess.run(["g++", "-std=c++17", "-O2", "-shared", "-fPIC", f"-I{HERE}/../../../include", str(HERE / "layers.cpp"),
                        "-o", library, "-pthread"], check=True)
        layers = ctypes.CDLL(library)
    layers.make_layer.restype = ctypes.c_void_p
    layers.make_layer.argtypes = [ctypes.c_char_p, ctypes.c_int64, ctypes.POINTER(Array), Array, Array, ctypes.POINTER(Array)]
    for name in ("forward_layer", "backward_layer", "delete_layer"):
        getattr(layers, name).argtypes = [ctypes.c_void_p]
    return layers


def make_inputs(recipe, length):
    """The inputs of a recipe, and how many of them have a gradient."""
    rows = (1, HEADS, length, CHANNELS)
    q, k, v = (torch.randn(rows) for _ in range(3))
    if recipe in recurrent_in_torch.SUMS:
        states, directions = SIZES[recipe], 2 if recipe == "decaying_sum_mega" else 1
        batch = max(1, min(8, SUM_ROWS // length))
        return recurrent_in_torch.make_sums(states, directions, batch, length, SUM_CHANNELS), 3
    if recipe in recurrent_in_torch.IMPLEMENTATIONS:
        inputs = recurrent_in_torch.make_inputs(recipe, length)
        return inputs, len(inputs)
    if recipe == "linformer":
        e, f = (torch.randn(1, HEADS, RANK, length) / length ** 0.5 for _ in range(2))
        return [q, k, v, e, f], 5
    if recipe == "nystromformer":
        return [q, k, v, torch.randn(1, HEADS, 1, TAPS)], 4
    if recipe == "synthesizer":
        return [v, torch.randn(1, HEADS, 128, length).repeat(1, 1, length // 128, 1)], 2
    if recipe == "long_short":
        return [q, k, v, torch.randn(1, 1, length, HEADS * CHANNELS), torch.randn(1, HEADS, HEADS * CHANNELS, PROJECTED) / 8], 5
    if recipe == "sinkhorn_transformer":
        return [q, k, v, torch.randn(1, HEADS, length // BLOCK, length // BLOCK)], 4
    if recipe == "reformer":
        q, rotations = ((x * 16).round() / 16 for x in (q, torch.randn(1, ROUNDS, length // CHUNK // 2, CHANNELS)))
        return [q, v, rotations], 2  # products are exact, so that all find the same buckets
    return [q, k, v], 3


class RecipeCall:
    """Forward, or forward and backward, of a layer of layers.cpp."""

    def __init__(self, layers, recipe, inputs, gradients, with_backward, dy):
        self.layers, self.with_backward = layers, with_backward
        self.y = torch.zeros_like(dy)
        self.grads = [torch.zeros_like(x) for x in inputs[:gradients]] if with_backward else []
        self.tensors = inputs, dy  # keeps their memory
        input_views = (Array * len(inputs))(*map(Array, inputs))
        grad_views = (Array * len(self.grads))(*map(Array, self.grads)) if with_backward else None
        self.layer = layers.make_layer(recipe.encode(), SIZES.get(recipe, 0), input_views, Array(self.y), Array(dy), grad_views)
        assert self.layer, recipe

    def __call__(self):
        failed = self.layers.forward_layer(self.layer) or (self.with_backward and self.layers.backward_layer(self.layer))
        assert not failed

    def close(self):
        self.layers.delete_layer(self.layer)


class TorchCall:
    """The same of an implementation of in_torch.py."""

    def __init__(self, implementation, inputs, gradients, with_backward, dy):
        self.implementation, self.with_backward, self.dy = implementation, with_backward, dy
        self.grads = []
        self.leaves = [x.requires_grad_(with_backward) for x in inputs[:gradients]]
        self.constants = inputs[gradients:]

    def __call__(self):
        if not self.with_backward:
            with torch.inference_mode():
                self.y = self.implementation(*self.leaves, *self.constants)
            return
        y = self.implementation(*self.leaves, *self.constants)
        self.grads = torch.autograd.grad(y, self.leaves, self.dy)
        self.y = y.detach()

    def close(self):
        pass


class Entry:
    """A recipe by the library, or by an implementation in torch; forward, or forward and backward."""

    def __init__(self, recipe, with_backward, layers=None, implementation=None):
        self.recipe, self.with_backward, self.layers, self.implementation = recipe, with_backward, layers, implementation
        self.calls = 1  # in a round
        self.seconds = []

    def make_call(self, length):
        torch.manual_seed(0)
        inputs, gradients = make_inputs(self.recipe, length)
        rows = inputs[0].shape
        dy = torch.randn(*rows[:3], rows[3] * (2 if self.recipe == "spade" else 1))
        if self.layers:
            return RecipeCall(self.layers, self.recipe, inputs, gradients, self.with_backward, dy)
        return TorchCall(self.implementation, inputs, gradients, self.with_backward, dy)

    def warm_up(self, length):
        """Returns y and the gradients."""
        call = self.make_call(length)
        call()
        start = time.process_time()
        call()
        self.calls = max(1, min(100, round(ROUND_SECONDS / (time.process_time() - start))))
        call.close()
        return [call.y, *call.grads]

    def time_round(self, length):
        call = self.make_call(length)
        if self.calls > 1:
            call()
        start = time.process_time()
        for _ in range(self.calls):
            call()
        self.seconds.append((time.process_time() - start) / self.calls)
        call.close()

    def measure_megabytes(self, length):
        """Returns the peak memory of data and call, in a child process, whose first call loads code."""
        read_end, write_end = os.pipe()
        child = os.fork()
        if child == 0:
            call = self.make_call(length)
            call()
            call.close()
            del call
            gc.collect()
            ctypes.CDLL(None).malloc_trim(0)
            before = status_kilobytes("VmRSS")
            call = self.make_call(length)
            Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # resets VmHWM
            call()
            os.write(write_end, str(status_kilobytes("VmHWM") - before).encode())
            os._exit(0)
        os.close(write_end)
        with os.fdopen(read_end) as pipe:
            kilobytes = int(pipe.read())
        os.waitpid(child, 0)
        return kilobytes * 1024 / 1e6


def status_kilobytes(name):
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(f"{name}:")))


def check_and_warm_up(ours, theirs, length):
    """Compares the results, relative to the largest element of each tensor."""
    for a, b in zip(ours.warm_up(length), theirs.warm_up(length), strict=True):
        difference = ((a - b).abs().max() / b.abs().max()).item()
        if not difference < 1e-3:
            sys.exit(f"{ours.recipe}: results differ by {difference:.1e}")


def median_ratio(a, b):
    return statistics.median(x / y for x, y in zip(a.seconds, b.seconds))


def milliseconds(entry):
    return f"{1e3 * statistics.median(entry.seconds):.3g}"


def time_rounds(entries, length, rounds):
    """Rounds time every entry once, in a random order."""
    in_rounds = list(entries)
    for _ in range(rounds):
        random.shuffle(in_rounds)
        for entry in in_rounds:
            entry.time_round(length)


def print_table(layers, recipes, length, rounds):
    pairs = {(recipe, with_backward): [Entry(recipe, with_backward, layers), Entry(recipe, with_backward, implementation=IMPLEMENTATIONS[recipe])]
             for recipe in recipes for with_backward in (False, True)}
    for ours, theirs in pairs.values():
        check_and_warm_up(ours, theirs, length)
    time_rounds([entry for pair in pairs.values() for entry in pair], length, rounds)
    print(f"\nN = {length}, medians of {rounds} rounds\n\n| layer | pass | ours, ms | softmax : ours | MB | torch, ms | sdpa : torch | MB "
          "| torch : ours |\n|" + "---|" * 9, flush=True)
    for (recipe, with_backward), (ours, theirs) in pairs.items():
        softmax, sdpa = pairs["softmax_attention", with_backward]
        print(f"| {recipe} | {PASSES[with_backward]} | {milliseconds(ours)} | {median_ratio(softmax, ours):.2f} "
              f"| {ours.measure_megabytes(length):.0f} | {milliseconds(theirs)} | {median_ratio(sdpa, theirs):.2f} "
              f"| {theirs.measure_megabytes(length):.0f} | {median_ratio(theirs, ours):.2f} |", flush=True)


class Copy(Entry):
    """A copy of the rows, the least that reads and writes them."""

    def make_call(self, length):
        call = super().make_call(length)
        y = torch.ones_like(call.leaves[0])  # touches its pages
        call.implementation = lambda x, a, w: y.copy_(x)
        return call


class StoredKernel(Entry):
    """The FFT form with a kernel from an earlier call, as in inference with constant weights."""

    def make_call(self, length):
        call = super().make_call(length)
        _, a, w = call.leaves
        kernel = make_kernel(a[0, :, 0], w[0, :, 0], length, 1 if self.recipe == "decaying_sum" else 2)
        call.implementation = lambda x, a, w: convolve(x[:, 0], kernel)[:, None]
        return call


def print_sums(layers, length, rounds):
    """Times decaying_sum and its forms in torch. Those that store every state are left out where these are too many."""
    for recipe, forms in recurrent_in_torch.SUMS.items():
        columns = [*forms, "FFT, kernel stored", "copy"]
        x, a, _ = make_inputs(recipe, length)[0]
        print(f"\n{recipe}, ms (ratio to ours), medians of {rounds} rounds\n\n| [batch, N, channels] | pass | ours | {' | '.join(columns)} |\n"
              + "|---" * (len(columns) + 3) + "|")
        fits = x.numel() * a.size(1) <= STATE_NUMBERS
        for with_backward in (False, True):
            ours = Entry(recipe, with_backward, layers)
            entries = {name: Entry(recipe, with_backward, implementation=form) for name, form in forms.items() if fits or name == "FFT"}
            for theirs in entries.values():
                check_and_warm_up(ours, theirs, length)
            if not with_backward:
                more = {"FFT, kernel stored": StoredKernel(recipe, False), "copy": Copy(recipe, False)}
                for entry in more.values():
                    entry.warm_up(length)
                entries |= more
            time_rounds([ours, *entries.values()], length, rounds)
            cells = [f"{milliseconds(entries[name])} ({median_ratio(entries[name], ours):.2f})" if name in entries else "" for name in columns]
            print(f"| {[x.size(0), *x.shape[2:]]} | {PASSES[with_backward]} | {milliseconds(ours)} | {' | '.join(cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lengths", type=int, nargs="*", default=[1024, 4096, 16384], metavar="LENGTH", help="multiples of 128")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--table", choices=(*TABLES, "sums"), default="attention")
    parser.add_argument("--without", nargs="+", default=[], metavar="LAYER", help="layers of the table to leave out")
    arguments = parser.parse_args()
    if "softmax_attention" in arguments.without:
        parser.error("--without softmax_attention: the other layers are compared with it")
    torch.set_num_threads(1)
    shape = f"[1, {HEADS}, N, {CHANNELS}]" if arguments.table != "sums" else f"[batch, N, {SUM_CHANNELS}]"
    print(f"torch {torch.__version__}, {platform.machine()}, {torch.backends.cpu.get_cpu_capability()}, {shape}")
    layers = load_layers()
    for length in arguments.lengths:
        torch.compiler.reset()  # each length has its own compilations, whose number is limited
        if arguments.table == "sums":
            print_sums(layers, length, arguments.rounds)
        else:
            print_table(layers, [recipe for recipe in TABLES[arguments.table] if recipe not in arguments.without], length, arguments.rounds)


if __name__ == "__main__":
    main()
