# SPDX-License-Identifier: Apache-2.0
"""How often the instructions of the machine code run, from how often lines of the PTX did. ptxas notes for every
instruction which line of PTX it was made of (-lineinfo), and nvdisasm prints that (-gp).

An instruction of 128 bits also says when its warp may go on: how many cycles later the next one issues, which of six
scoreboards it holds until its operands were read, which until its result is there, and for which it waits (Jia et al., Dissecting the NVIDIA Volta GPU
architecture via microbenchmarking, arXiv 1804.06826, section 2.1)."""
import re
import shutil
import statistics
import subprocess
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

# Who executes an instruction. What is not named here needs an issue slot only: branches, barriers, constants.
PIPES = {
    "alu": "BMSK F2FP FMNMX FSEL FSETP IABS IADD3 IMNMX ISETP LEA LOP3 MOV P2R PLOP3 PRMT R2P SEL SGXT SHF VIADD VIADDMNMX VIMNMX",
    "fma": "FADD FFMA FMUL HADD2 HFMA2 HMUL2",
    "imad": "IMAD",
    "fp64": "DADD DFMA DMUL DSETP",
    "xu": "BREV F2F F2I FLO I2F MUFU POPC",
    "lsu": "LD LDG LDGSTS LDS LDSM SHFL ST STG STS",
    "matrix": "HMMA",
}
# Cycles from issue to result of what holds a scoreboard: 20 if not named. LD reads another block's shared memory here. LDG
# is given two latencies, of device memory and of the L2 cache; but bytes are read one after the other (the places of csp),
# nearly always from the L1 cache.
LATENCIES = {"LDS": 30, "LDSM": 33, "SHFL": 24, "LDC": 30, "LD": 200, "LDGSTS": 30, "S2R": 30}
FAR, NEAR, BYTES = 600, 280, 40
PIPE_OF = {opcode: pipe for pipe, opcodes in PIPES.items() for opcode in opcodes.split()}


@dataclass
class Instruction:
    opcode: str  # without modifiers
    operands: str  # and the modifiers before them
    line: int  # of the PTX
    stall: int = 1  # cycles until the warp's next instruction
    result: int = 7  # scoreboards; 7: none
    operands_read: int = 7
    waits: tuple[int, ...] = ()


@dataclass
class Function:
    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)  # and the index of the instruction behind it
    registers: int = 0


def compiled(ptx: Path) -> dict[str, Function]:
    """The kernels of a file, by their mangled names."""
    for tool in ("ptxas", "nvdisasm"):
        if not shutil.which(tool):
            raise SystemExit(f"there is no {tool} in PATH (python3 -m pip install nvidia-cuda-nvdisasm has one)")
    with tempfile.TemporaryDirectory() as folder:
        cubin = f"{folder}/kernels.cubin"
        assembled = subprocess.run(["ptxas", "-arch=sm_90", "-lineinfo", "-v", str(ptx), "-o", cubin], check=True, capture_output=True, encoding="utf-8")
        found = functions(subprocess.run(["nvdisasm", "-gp", "-c", "-hex", cubin], check=True, capture_output=True, encoding="utf-8").stdout)
    for block in (assembled.stdout + assembled.stderr).split("Compiling entry function '")[1:]:
        found[block[:block.index("'")]].registers = int(re.search(r"Used (\d+) registers", block)[1])
    return found


def functions(disassembly: str) -> dict[str, Function]:
    found: dict[str, Function] = {}
    function, line = Function(), 0
    for text in disassembly.splitlines():
        if text.startswith("//--------------------- .text."):
            function, line = found.setdefault(re.match(r"//-+ \.text\.(\S+)", text)[1], Function()), 0
        elif note := re.match(r'\s*//## File ".nv_debug_ptx_txt", line (\d+)', text):
            line = int(note[1])
        elif label := re.match(r"([.$][\w$.]+):$", text):
            function.labels[label[1]] = len(function.instructions)
        elif code := re.match(r"\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+ )?\s*([A-Z]\w*)([^;]*);", text):
            function.instructions.append(Instruction(code[1], code[2], line))
        elif function.instructions and (control := re.match(r"\s+/\* 0x([0-9a-f]{16}) \*/$", text)):
            bits = int(control[1], 16) >> 41  # from bit 105 on
            function.instructions[-1].stall = bits & 15
            function.instructions[-1].result, function.instructions[-1].operands_read = bits >> 5 & 7, bits >> 8 & 7
            function.instructions[-1].waits = tuple(one for one in range(6) if bits >> 11 + one & 1)
    return found


def blocks_of(function: Function) -> list[range]:
    code = function.instructions
    edges = {0, len(code), *function.labels.values()}
    edges |= {i + 1 for i, one in enumerate(code) if one.opcode in ("BRA", "BRX", "EXIT", "RET", "CALL", "BSYNC", "WARPSYNC")}
    return [range(first, last) for first, last in zip(sorted(edges), sorted(edges)[1:])]


def alone(function: Function, times: list[float], global_memory: int) -> float:
    """Cycles of warps that wait for nobody else: their instructions one after the other, and what they wait for."""
    latencies = {**LATENCIES, "LDG": global_memory}
    ready, total = dict.fromkeys(range(8), 0), 0.0  # of scoreboards, relative to the block's begin
    for block in blocks_of(function):
        if times[block.start] == 0:
            continue
        for _ in range(2):  # the second time as in a loop
            now = 0
            for one in (function.instructions[i] for i in block):
                now = max([now, *(ready[board] for board in one.waits)])
                cycles = BYTES if one.opcode == "LDG" and ".U8" in one.operands else latencies.get(one.opcode, 20)
                for board, cycles in ((one.result, cycles), (one.operands_read, 20)):
                    ready[board] = max(ready[board], now + cycles)
                now += max(one.stall, 1)
            ready = {board: max(at - now, 0) for board, at in ready.items()}
        total += times[block.start] * now
    return total


def executions(function: Function, executed: dict[int, int]) -> list[float]:
    """Of every instruction; `executed` says how often warps ran each line.

    Whole blocks run equally often, so instructions that ptxas has moved to another block do no harm: a block's number is
    the median of its instructions that access memory, multiply matrices or synchronize, which do not move, or of all if
    there are none. If the same instruction was made of a line in several blocks (unrolled loops), each has its share."""
    code = function.instructions
    blocks = blocks_of(function)
    copies = defaultdict(int)
    for block in blocks:
        for made in {(code[i].line, code[i].opcode) for i in block}:
            copies[made] += 1
    times = [0.0] * len(code)
    for block in blocks:
        fixed = [i for i in block if PIPE_OF.get(code[i].opcode) in ("lsu", "matrix") or code[i].opcode == "BAR"]
        often = statistics.median([executed.get(code[i].line, 0) / copies[code[i].line, code[i].opcode] for i in fixed or block])
        times[block.start:block.stop] = [often] * len(block)
    # A routine that is called (a division, say) runs as often as its calls.
    routines = sorted(i for label, i in function.labels.items() if label.startswith("$__internal"))
    for first, last in zip(routines, [*routines[1:], len(code)]):
        names = [label for label, i in function.labels.items() if i == first]
        calls = sum(often for one, often in zip(code, times) if one.opcode == "CALL" and any(f"({name})" in one.operands for name in names))
        times[first:last] = [calls] * (last - first)
    return times


def mix(function: Function, executed: dict[int, int]) -> Counter:
    """Warp instructions: all ("issued"), by pipe and by opcode; and the cycles that the warps would take alone,
    with global memory far or near."""
    times = executions(function, executed)
    counts: Counter = Counter({"far": alone(function, times, FAR), "near": alone(function, times, NEAR)})
    for one, often in zip(function.instructions, times):
        counts["issued"] += often
        counts[one.opcode] += often
        if one.opcode in PIPE_OF:
            counts[PIPE_OF[one.opcode]] += often
    return counts
