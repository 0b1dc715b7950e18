# SPDX-License-Identifier: Apache-2.0
"""Derives execution counts of machine instructions from the execution counts of PTX lines. ptxas records the PTX line of
every instruction (-lineinfo), and nvdisasm prints it (-gp).

The 128 bits of an instruction also encode its schedule: the cycles until the next issue, which of six scoreboards it holds
until its operands are read or its result is ready, and which ones it waits for (Jia et al., Dissecting the
NVIDIA Volta GPU architecture via microbenchmarking, arXiv 1804.06826, section 2.1)."""
import re
import shutil
import statistics
import subprocess
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

# The pipe that executes each opcode. Other instructions only take an issue cycle: branches, barriers, constants.
PIPES = {
    "alu": "BMSK F2FP FMNMX FSEL FSETP IABS IADD3 IMNMX ISETP LEA LOP3 MOV P2R PLOP3 PRMT R2P SEL SGXT SHF VIADD VIADDMNMX VIMNMX",
    "fma": "FADD FFMA FMUL HADD2 HFMA2 HMUL2",
    "imad": "IMAD",
    "fp64": "DADD DFMA DMUL DSETP",
    "xu": "BREV F2F F2I FLO I2F MUFU POPC",
    "lsu": "LD LDG LDGSTS LDS LDSM SHFL ST STG STS",
    "matrix": "HMMA",
}
# Cycles from issue to result of instructions that hold a scoreboard; 20 for others. LD reads another block's shared
# memory. LDG has two latencies, for device memory and for the L2 cache. Byte loads (csp's saved order) are sequential and
# nearly always hit the L1 cache.
LATENCIES = {"LDS": 30, "LDSM": 33, "SHFL": 24, "LDC": 30, "LD": 200, "LDGSTS": 30, "S2R": 30}
FAR_LATENCY, NEAR_LATENCY, BYTE_LOAD_LATENCY = 600, 280, 40
PIPE_OF = {opcode: pipe for pipe, opcodes in PIPES.items() for opcode in opcodes.split()}


@dataclass
class Instruction:
    opcode: str  # without modifiers
    operands: str  # with the modifiers in front
    line: int  # of the PTX text
    stall: int = 1  # cycles until the warp's next instruction
    result: int = 7  # scoreboard; 7: none
    operands_read: int = 7
    waits: tuple[int, ...] = ()


@dataclass
class Function:
    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)  # to the index of the next instruction
    registers: int = 0


def compile_kernels(ptx: Path) -> dict[str, Function]:
    """Compiles the kernels of a file. Returns them by mangled name."""
    for tool in ("ptxas", "nvdisasm"):
        if not shutil.which(tool):
            raise SystemExit(f"there is no {tool} in PATH (python3 -m pip install nvidia-cuda-nvdisasm has one)")
    with tempfile.TemporaryDirectory() as folder:
        cubin = f"{folder}/kernels.cubin"
        assembled = subprocess.run(["ptxas", "-arch=sm_90", "-lineinfo", "-v", str(ptx), "-o", cubin], check=True, capture_output=True, encoding="utf-8")
        found = parse_functions(subprocess.run(["nvdisasm", "-gp", "-c", "-hex", cubin], check=True, capture_output=True, encoding="utf-8").stdout)
    for block in (assembled.stdout + assembled.stderr).split("Compiling entry function '")[1:]:
        found[block[:block.index("'")]].registers = int(re.search(r"Used (\d+) registers", block)[1])
    return found


def parse_functions(disassembly: str) -> dict[str, Function]:
    found: dict[str, Function] = {}
    function, line = Function(), 0
    for text in disassembly.splitlines():
        if text.startswith("//--------------------- .text."):
            function, line = found.setdefault(re.match(r"//-+ \.text\.(\S+)", text)[1], Function()), 0
        elif line_note := re.match(r'\s*//## File ".nv_debug_ptx_txt", line (\d+)', text):
            line = int(line_note[1])
        elif label := re.match(r"([.$][\w$.]+):$", text):
            function.labels[label[1]] = len(function.instructions)
        elif code := re.match(r"\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+ )?\s*([A-Z]\w*)([^;]*);", text):
            function.instructions.append(Instruction(code[1], code[2], line))
        elif function.instructions and (control := re.match(r"\s+/\* 0x([0-9a-f]{16}) \*/$", text)):
            bits = int(control[1], 16) >> 41  # from bit 105 on
            function.instructions[-1].stall = bits & 15
            function.instructions[-1].result, function.instructions[-1].operands_read = bits >> 5 & 7, bits >> 8 & 7
            function.instructions[-1].waits = tuple(board for board in range(6) if bits >> 11 + board & 1)
    return found


def basic_blocks(function: Function) -> list[range]:
    code = function.instructions
    edges = {0, len(code), *function.labels.values()}
    edges |= {i + 1 for i, instruction in enumerate(code) if instruction.opcode in ("BRA", "BRX", "EXIT", "RET", "CALL", "BSYNC", "WARPSYNC")}
    return [range(first, last) for first, last in zip(sorted(edges), sorted(edges)[1:])]


def latency_cycles(function: Function, times: list[float], global_memory_latency: int) -> float:
    """Returns the cycles of the warps if each runs alone: issue cycles and waits for scoreboards."""
    latencies = {**LATENCIES, "LDG": global_memory_latency}
    ready, total = dict.fromkeys(range(8), 0), 0.0  # by scoreboard, relative to the start of the block
    for block in basic_blocks(function):
        if times[block.start] == 0:
            continue
        for _ in range(2):  # the second pass starts with the scoreboards of the first, as in a loop
            cycle = 0
            for instruction in (function.instructions[i] for i in block):
                cycle = max([cycle, *(ready[board] for board in instruction.waits)])
                is_byte_load = instruction.opcode == "LDG" and ".U8" in instruction.operands
                result = BYTE_LOAD_LATENCY if is_byte_load else latencies.get(instruction.opcode, 20)
                for board, cycles in ((instruction.result, result), (instruction.operands_read, 20)):
                    ready[board] = max(ready[board], cycle + cycles)
                cycle += max(instruction.stall, 1)
            ready = {board: max(time - cycle, 0) for board, time in ready.items()}
        total += times[block.start] * cycle
    return total


def executions(function: Function, executed: dict[int, int]) -> list[float]:
    """Returns the execution count of each instruction, from the number of warps that executed each PTX line.

    All instructions of a basic block run equally often. The block's count is the median over its instructions that access
    memory, multiply matrices or synchronize, which ptxas does not move to another block, or over all if there are none. If
    a line has the same instruction in several blocks (unrolled loops), they share the line's count equally."""
    code = function.instructions
    blocks = basic_blocks(function)
    copy_counts = defaultdict(int)
    for block in blocks:
        for source_key in {(code[i].line, code[i].opcode) for i in block}:
            copy_counts[source_key] += 1
    times = [0.0] * len(code)
    for block in blocks:
        unmoved = [i for i in block if PIPE_OF.get(code[i].opcode) in ("lsu", "matrix") or code[i].opcode == "BAR"]
        count = statistics.median([executed.get(code[i].line, 0) / copy_counts[code[i].line, code[i].opcode] for i in unmoved or block])
        times[block.start:block.stop] = [count] * len(block)
    # A subroutine, for example of a division, runs as often as it is called.
    routine_starts = sorted(i for label, i in function.labels.items() if label.startswith("$__internal"))
    for first, last in zip(routine_starts, [*routine_starts[1:], len(code)]):
        names = [label for label, i in function.labels.items() if i == first]
        calls = sum(count for instruction, count in zip(code, times)
                    if instruction.opcode == "CALL" and any(f"({name})" in instruction.operands for name in names))
        times[first:last] = [calls] * (last - first)
    return times


def instruction_counts(function: Function, executed: dict[int, int]) -> Counter:
    """Counts warp instructions: in total ("issued"), by pipe and by opcode. Also the cycles of the warps if each runs alone,
    with global memory far (device) or near (L2 cache)."""
    times = executions(function, executed)
    counts: Counter = Counter({"far": latency_cycles(function, times, FAR_LATENCY), "near": latency_cycles(function, times, NEAR_LATENCY)})
    for instruction, count in zip(function.instructions, times):
        counts["issued"] += count
        counts[instruction.opcode] += count
        if instruction.opcode in PIPE_OF:
            counts[PIPE_OF[instruction.opcode]] += count
    return counts
