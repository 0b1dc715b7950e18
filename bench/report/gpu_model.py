# SPDX-License-Identifier: Apache-2.0
"""The time that the GPU's targets are expected to take on an H200, by the model of docs/gpu_model.md: from what was counted
of the first blocks of every launch (tests/ptx/counters/*.txt). python3 -m report.gpu_model prints the tables; --check
compares those on the page with them, --update writes them there."""
import argparse
import math
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from .results import table
from .targets import Level, gpu_targets

ROOT = Path(__file__).resolve().parents[2]
COUNTERS = ROOT / "tests/ptx/counters"
PAGE = ROOT / "docs/gpu_model.md"


@dataclass(frozen=True)
class Device:
    """An H200, as it is believed to be; sources are on the page."""
    multiprocessors: int = 132
    clock: float = 1.9e9
    registers: int = 65536  # of a multiprocessor
    shared: int = 228 * 1024
    threads: int = 2048
    blocks: int = 32
    schedulers: int = 4  # each issues one instruction of a warp a cycle
    alu: float = 16  # lanes of a scheduler: instructions of 32 lanes take two cycles
    fma: float = 32
    imad: float = 16
    fp64: float = 16
    xu: float = 4
    matrix: float = 512 * 0.63  # multiply-adds of a scheduler and cycle by mma.sync
    memory: float = 4.3e12  # bytes a second, read and written
    l2: float = 5.5e12
    port: float = 64  # bytes a cycle between the L2 cache and one multiprocessor
    network: float = 14  # bytes a cycle between one multiprocessor and others of its cluster
    clustered: int = 128  # multiprocessors that clusters of more than two blocks can fill
    barrier: float = 40  # cycles
    launch: float = 3e-6  # seconds, of each


EXPECTED = Device()
SLOW = replace(EXPECTED, clock=1.7e9, matrix=512 * 0.55, memory=4.1e12, l2=4.2e12, network=7, clustered=120, barrier=100, launch=5e-6)
FAST = replace(EXPECTED, clock=1.98e9, matrix=512 * 0.66, memory=4.5e12, l2=7e12, network=28, clustered=132, barrier=20, launch=2e-6)
SHARPNESS = {SLOW: 1.5, EXPECTED: 3, FAST: 8}  # of `together`

# What a launch must move between device memory and the L2 cache, in bytes an element of x: tensors, not what was asked for.
# Kernels that are not named move what they asked for.
TRAFFIC = {
    ("slicing_sort", "f32"): 10, ("slicing_sort", "bf16"): 6,
    ("csp", "G:2"): 8.0625, ("csp", "G:16"): 9, ("csp", "G:64"): 9,
}
# Kernels whose blocks first read, then work, then write: one that has its multiprocessor to itself overlaps none of it.
IN_TURN = ("exchange_pairs", "mix_tile", "permute_tile", "sort_short_groups", "sort_tile")
# Kernels that read again and again what is in the L2 cache.
FROM_L2 = ("attention_", "link_gradient", "mix_tile", "query_")


@dataclass(frozen=True)
class Launch:
    body: str
    columns: dict[str, int]

    def block(self, name: str) -> float:
        """A count of one block of one launch."""
        return self.columns[name] / (self.columns["launches"] * self.columns["counted"])

    @property
    def warps(self) -> int:
        return -(-self.columns["threads"] // 32)

    def resident(self, device: Device) -> int:
        """Blocks that a multiprocessor holds."""
        of_warp = -(-self.columns["registers"] * 32 // 256) * 256
        found = [device.registers // (of_warp * self.warps), device.shared // (self.columns["shared"] + 1024),
                 device.threads // (32 * self.warps), device.blocks, max(1, -(-self.columns["blocks"] // device.multiprocessors))]
        return max(1, min(found))


def together(device: Device, *times: float) -> float:
    """Of things that overlap, but not wholly."""
    p = SHARPNESS[device]
    return sum(time ** p for time in times) ** (1 / p)


def busy(launch: Launch, device: Device) -> dict[str, float]:
    """Cycles for which a block keeps each part of a multiprocessor busy."""
    lanes, count = 32 / device.schedulers, launch.block
    return {
        "issue": count("issued") / device.schedulers,
        "ALU": count("alu") * lanes / device.alu,
        "FMA": max(count("imad") * lanes / device.imad, (count("imad") + count("fma")) * lanes / device.fma),
        "FP64": count("fp64") * lanes / device.fp64,
        "XU": count("xu") * lanes / device.xu,
        "matrix": count("matrix") * 2048 / device.schedulers / device.matrix,
        "network": count("remote") * 32 / device.network,
        # Global memory passes where shared memory does, a line of 128 bytes a cycle at best.
        "shared": count("wavefronts") + count("shuffles") + max(count("accesses"), count("sectors") / 4),
    }


def traffic(case: str, launch: Launch, elements: int) -> float:
    """Bytes between device memory and the L2 cache, of a block."""
    subject, _, direction, dtype, policy = case.split("/")[:5]
    found = TRAFFIC.get((subject, dtype)) or TRAFFIC.get((subject, policy.split("-")[-1]))
    main = found is not None and launch.columns["blocks"] > 1000
    if launch.body.startswith("mix_tile"):
        found, main = {"forward_values": 8, "forward": 8 + 4 * 11, "backward": 20}[direction], True
    elif launch.body.startswith("link_gradient"):
        found, main = 8, True
    elif launch.body.startswith("attention_"):
        found, main = (8 if "forward" in launch.body else 12), True
    return found * elements / launch.columns["blocks"] if main else launch.block("sectors") * 32


def cycles(case: str, launch: Launch, elements: int, device: Device) -> tuple[float, str]:
    """Of a block, if its multiprocessor is as full of them as it can be: time over blocks; and what bounds it."""
    parts = busy(launch, device)
    waits = launch.block("near" if launch.body.startswith(FROM_L2) else "far") / launch.warps
    parts["latency"] = (waits + launch.block("barriers") * device.barrier) / launch.resident(device)
    share = device.clock * device.multiprocessors  # of the device's bandwidth, for a multiprocessor's cycle
    parts["memory"] = traffic(case, launch, elements) * share / device.memory
    parts["L2"] = launch.block("sectors") * 32 * share / device.l2
    most = max(parts, key=lambda name: parts[name])
    pipes = max(parts[name] for name in busy(launch, device))
    overlapped = together(device, pipes, parts["latency"], max(parts["memory"], parts["L2"]))
    in_turn = launch.body.startswith(IN_TURN) and launch.resident(device) == 1
    return overlapped + (launch.block("sectors") * 32 / device.port if in_turn else 0), most


def seconds(case: str, launch: Launch, elements: int, device: Device) -> tuple[float, str]:
    """Of all launches on this grid."""
    resident = launch.resident(device)
    multiprocessors = device.clustered if launch.columns["cluster"] > 2 else device.multiprocessors
    waves = math.ceil(launch.columns["blocks"] / (multiprocessors * resident))
    each, most = cycles(case, launch, elements, device)
    return launch.columns["launches"] * (waves * resident * each / device.clock + device.launch), most


@dataclass
class Case:
    name: str
    elements: int
    launches: list[Launch]

    def time(self, device: Device) -> tuple[float, str]:
        """Seconds of all elements of the case, and what bounds the longest launch."""
        times = [seconds(self.name, launch, self.elements, device) for launch in self.launches]
        batch, length, channels = (int(part.split(":")[1]) for part in self.name.split("/")[-3:])
        return sum(time for time, _ in times) * batch * length * channels / self.elements, max(times)[1]


def read_cases() -> list[Case]:
    texts = [(COUNTERS / name).read_text(encoding="utf-8") for name in ("golden.txt", "machine_code.txt")]
    cases: list[Case] = []
    columns = [re.search(r"^case and kernels +(.*)$", text, re.MULTILINE)[1].split() for text in texts]
    rows = [[line for line in text.splitlines() if not line.startswith(("#", "case and"))] for text in texts]
    for of_ptx, of_machine in zip(*rows, strict=True):
        if head := re.match(r"(\S+)  (\d+) elements$", of_ptx):
            cases.append(Case(head[1], int(head[2]), []))
            continue
        numbers = {}
        for line, names in zip((of_ptx, of_machine), columns):
            words = line.rsplit(maxsplit=len(names))
            body = words[0].strip()
            numbers.update(zip(names, map(int, words[1:])))
        cases[-1].launches.append(Launch(body, numbers))
    return cases


def bytes_of(case: Case) -> float:
    """That the benches count for an element, for a share of a copy's speed."""
    subject, _, direction, dtype, policy = case.name.split("/")[:5]
    if subject == "linear_attention":
        return (7 if direction == "backward" else 4) * {"f32": 4, "f64": 8}.get(dtype, 2)
    if subject == "sparse_mix":
        return 8 + 4 * 12 * (13 if "chord" in policy else 3) / 512
    return TRAFFIC.get((subject, dtype)) or TRAFFIC.get((subject, policy.split("-")[-1]), 0)


def measure(target: Level, case: Case, device: Device) -> float:
    """In the target's unit."""
    time = case.time(device)[0]
    batch, length, channels = (int(part.split(":")[1]) for part in case.name.split("/")[-3:])
    elements = batch * length * channels
    if target.counter == "items_per_second":
        return elements / time / target.scale
    if target.counter == "share_of_copy":
        return elements * bytes_of(case) / time / device.memory / target.scale
    products = 5 if "/backward/" in case.name else 2
    return products * 2 * elements * length / time / target.scale


def targets_table(cases: list[Case]) -> list[list[str]]:
    named = {case.name: case for case in cases}
    rows = [["target", "asked", "expected", "slow .. fast", "bound by", "by the model"]]
    for target in gpu_targets():
        if not isinstance(target, Level) or target.at_least is None:
            continue
        promised = target.at_least > 0
        if not promised and target.case not in named:
            continue  # its kernels were not counted yet
        case = named[target.case]
        low, expected, high = (measure(target, case, device) for device in (SLOW, EXPECTED, FAST))
        rows.append([target.what.removeprefix("GPU "), f"{target.at_least:g} {target.unit}" if promised else f"no promise, {target.unit}",
                     f"{expected:.0f}", f"{low:.0f} .. {high:.0f}", case.time(EXPECTED)[1],
                     "" if not promised else "met" if expected >= target.at_least else "missed"])
    return rows


def counters_table(cases: list[Case]) -> list[list[str]]:
    """Of the launch that takes longest, for an element."""
    rows = [["case", "kernel", "PTX", "machine code", "wavefronts", "/ ideal", "sectors, B", "asked, B", "barriers", "divergent", "blocks"]]
    for case in cases:
        launch = max(case.launches, key=lambda one: seconds(case.name, one, case.elements, EXPECTED))
        each = launch.columns["launches"] * launch.columns["blocks"] / case.elements
        count = {name: launch.block(name) * each for name in ("instructions", "issued", "wavefronts", "sectors", "bytes", "divergent")}
        ideal = launch.columns["ideal"]
        name = "/".join(part for part in case.name.split("/") if part not in ("cuda", "normal", "C:512"))
        rows.append([name, launch.body.split("<")[0].removesuffix("_kernel"), f"{32 * count['instructions']:.0f}", f"{32 * count['issued']:.0f}",
                     f"{32 * count['wavefronts']:.0f}", f"{launch.columns['wavefronts'] / ideal:.2f}" if ideal else "-",
                     f"{32 * count['sectors']:.1f}", f"{count['bytes']:.1f}", f"{launch.block('barriers'):.0f}", f"{launch.block('divergent'):.0f}",
                     f"{launch.resident(EXPECTED)}"])
    return rows


def markdown(rows: list[list[str]]) -> str:
    return "\n".join(["| " + " | ".join(rows[0]) + " |", "|---" * len(rows[0]) + "|", *("| " + " | ".join(row) + " |" for row in rows[1:])])


def with_tables(page: str, tables: dict[str, list[list[str]]]) -> str:
    for name, rows in tables.items():
        begin, end = f"<!-- {name}, from report.gpu_model -->", "<!-- end -->"
        before, found, rest = page.partition(begin)
        if not found:
            raise SystemExit(f"{PAGE} has no {begin}")
        page = f"{before}{begin}\n{markdown(rows)}\n{end}" + rest.partition(end)[2]
    return page


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    cases = read_cases()
    tables = {"targets": targets_table(cases), "counters": counters_table(cases)}
    if not arguments.check and not arguments.update:
        print("\n\n".join(table(rows) for rows in tables.values()))
        return 0
    page = PAGE.read_text(encoding="utf-8")
    now = with_tables(page, tables)
    if arguments.update:
        PAGE.write_text(now, encoding="utf-8")
    elif now != page:
        print(f"{PAGE.name}: its tables are not those of report.gpu_model --update")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
