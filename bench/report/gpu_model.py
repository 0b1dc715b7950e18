# SPDX-License-Identifier: Apache-2.0
"""Expected times of the GPU targets on an H200, by the model of docs/gpu_model.md. Reads the counters of the first blocks of every
launch (tests/ptx/counters/*.txt). python3 -m report.gpu_model prints the tables, --check compares the page with them, --update writes
them to the page. --measured RESULTS.json compares the results of bench/run --targets on a GPU with the model."""
import argparse
import math
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from .results import format_table, load
from .targets import Level, gpu_targets

ROOT = Path(__file__).resolve().parents[2]
COUNTERS = ROOT / "tests/ptx/counters"
PAGE = ROOT / "docs/gpu_model.md"


@dataclass(frozen=True)
class Device:
    """Assumed properties of an H200. The page has the sources."""
    multiprocessors: int = 132
    clock: float = 1.9e9
    registers: int = 65536  # per multiprocessor
    shared: int = 228 * 1024
    threads: int = 2048
    blocks: int = 32
    schedulers: int = 4  # each issues one warp instruction per cycle
    alu: float = 16  # lanes per scheduler: an instruction of 32 lanes takes two cycles
    fma: float = 32
    imad: float = 16
    fp64: float = 16
    xu: float = 4
    matrix: float = 512 * 0.63  # multiply-adds per scheduler and cycle by mma.sync
    memory: float = 4.3e12  # bytes per second, read and written
    l2: float = 5.5e12
    port: float = 64  # bytes per cycle between the L2 cache and one multiprocessor
    network: float = 14  # bytes per cycle between the multiprocessors of a cluster
    clustered: int = 128  # multiprocessors available to clusters of more than two blocks
    barrier: float = 40  # cycles
    launch: float = 3e-6  # seconds per launch
    overlap: float = 3  # exponent of `overlap_times`


EXPECTED = Device()
SLOW = replace(EXPECTED, clock=1.7e9, matrix=512 * 0.55, memory=4.1e12, l2=4.2e12, network=7, clustered=120, barrier=100, launch=5e-6,
               overlap=1.5)
FAST = replace(EXPECTED, clock=1.98e9, matrix=512 * 0.66, memory=4.5e12, l2=7e12, network=28, clustered=132, barrier=20, launch=2e-6,
               overlap=8)

# Bytes per element of x that a launch moves between device memory and the L2 cache, from the sizes of its tensors. Other
# kernels move the sectors that they request.
TRAFFIC = {
    ("slicing_sort", "f32"): 10, ("slicing_sort", "bf16"): 6,
    ("csp", "G:2"): 8.0625, ("csp", "G:16"): 9, ("csp", "G:64"): 9,
}
# Kernels whose blocks load, compute and store in sequence. A single resident block overlaps none of these.
SERIAL = ("exchange_pairs", "mix_tile", "permute_tile", "sort_short_groups", "sort_tile")
# Kernels that load mostly from the L2 cache.
FROM_L2 = ("attention_", "link_gradient", "mix_tile", "query_")


@dataclass(frozen=True)
class Launch:
    kernel: str
    columns: dict[str, int]

    def per_block(self, name: str) -> float:
        """Returns a counter per block and launch."""
        return self.columns[name] / (self.columns["launches"] * self.columns["counted"])

    @property
    def warps(self) -> int:
        return -(-self.columns["threads"] // 32)

    def resident_blocks(self, device: Device) -> int:
        """Returns the resident blocks per multiprocessor."""
        warp_registers = -(-self.columns["registers"] * 32 // 256) * 256
        limits = [device.registers // (warp_registers * self.warps), device.shared // (self.columns["shared"] + 1024),
                  device.threads // (32 * self.warps), device.blocks, max(1, -(-self.columns["blocks"] // device.multiprocessors))]
        return max(1, min(limits))


def overlap_times(device: Device, *times: float) -> float:
    """Returns the total time of partly overlapping work."""
    return sum(time ** device.overlap for time in times) ** (1 / device.overlap)


def busy_cycles(launch: Launch, device: Device) -> dict[str, float]:
    """Returns the cycles for which a block occupies each unit of a multiprocessor."""
    lanes, count = 32 / device.schedulers, launch.per_block
    return {
        "issue": count("issued") / device.schedulers,
        "ALU": count("alu") * lanes / device.alu,
        "FMA": max(count("imad") * lanes / device.imad, (count("imad") + count("fma")) * lanes / device.fma),
        "FP64": count("fp64") * lanes / device.fp64,
        "XU": count("xu") * lanes / device.xu,
        "matrix": count("matrix") * 2048 / device.schedulers / device.matrix,
        "network": count("remote") * 32 / device.network,
        # Global and shared memory have the same data path, of 128 bytes per cycle.
        "shared": count("wavefronts") + count("shuffles") + max(count("accesses"), count("sectors") / 4),
    }


def traffic_per_block(case: str, launch: Launch, elements: int) -> float:
    """Returns the bytes that a block moves between device memory and the L2 cache."""
    subject, _, direction, dtype, policy = case.split("/")[:5]
    moved_bytes = TRAFFIC.get((subject, dtype)) or TRAFFIC.get((subject, policy.split("-")[-1]))
    is_main = moved_bytes is not None and launch.columns["blocks"] > 1000
    if launch.kernel.startswith("mix_tile"):
        moved_bytes, is_main = {"forward_values": 8, "forward": 8 + 4 * 11, "backward": 20}[direction], True
    elif launch.kernel.startswith("link_gradient"):
        moved_bytes, is_main = 8, True
    elif launch.kernel.startswith("attention_"):
        moved_bytes, is_main = (8 if "forward" in launch.kernel else 12), True
    return moved_bytes * elements / launch.columns["blocks"] if is_main else launch.per_block("sectors") * 32


def cycles_per_block(case: str, launch: Launch, elements: int, device: Device) -> tuple[float, str]:
    """Returns the cycles per block at full occupancy, and the bounding resource."""
    resource_cycles = busy_cycles(launch, device)
    waits = launch.per_block("near" if launch.kernel.startswith(FROM_L2) else "far") / launch.warps
    resource_cycles["latency"] = (waits + launch.per_block("barriers") * device.barrier) / launch.resident_blocks(device)
    total_clock = device.clock * device.multiprocessors  # converts bandwidth to bytes per cycle and multiprocessor
    resource_cycles["memory"] = traffic_per_block(case, launch, elements) * total_clock / device.memory
    resource_cycles["L2"] = launch.per_block("sectors") * 32 * total_clock / device.l2
    bound = max(resource_cycles, key=lambda name: resource_cycles[name])
    unit_cycles = max(resource_cycles[name] for name in busy_cycles(launch, device))
    total = overlap_times(device, unit_cycles, resource_cycles["latency"], max(resource_cycles["memory"], resource_cycles["L2"]))
    is_serial = launch.kernel.startswith(SERIAL) and launch.resident_blocks(device) == 1
    return total + (launch.per_block("sectors") * 32 / device.port if is_serial else 0), bound


def launch_seconds(case: str, launch: Launch, elements: int, device: Device) -> tuple[float, str]:
    """Returns the seconds of all launches of this grid, and the bounding resource."""
    resident = launch.resident_blocks(device)
    multiprocessors = device.clustered if launch.columns["cluster"] > 2 else device.multiprocessors
    waves = math.ceil(launch.columns["blocks"] / (multiprocessors * resident))
    block_cycles, bound = cycles_per_block(case, launch, elements, device)
    return launch.columns["launches"] * (waves * resident * block_cycles / device.clock + device.launch), bound


@dataclass
class Case:
    name: str
    elements: int
    launches: list[Launch]

    def time(self, device: Device) -> tuple[float, str]:
        """Returns the seconds of the case, and the bounding resource of the longest launch."""
        times = [launch_seconds(self.name, launch, self.elements, device) for launch in self.launches]
        batch, length, channels = (int(part.split(":")[1]) for part in self.name.split("/")[-3:])
        return sum(time for time, _ in times) * batch * length * channels / self.elements, max(times)[1]


def read_cases() -> list[Case]:
    texts = [(COUNTERS / name).read_text(encoding="utf-8") for name in ("golden.txt", "machine_code.txt")]
    cases: list[Case] = []
    columns = [re.search(r"^case and kernels +(.*)$", text, re.MULTILINE)[1].split() for text in texts]
    rows = [[line for line in text.splitlines() if not line.startswith(("#", "case and"))] for text in texts]
    for ptx_row, machine_row in zip(*rows, strict=True):
        if head := re.match(r"(\S+)  (\d+) elements$", ptx_row):
            cases.append(Case(head[1], int(head[2]), []))
            continue
        counters = {}
        for line, names in zip((ptx_row, machine_row), columns):
            fields = line.rsplit(maxsplit=len(names))
            kernel = fields[0].strip()
            counters.update(zip(names, map(int, fields[1:])))
        cases[-1].launches.append(Launch(kernel, counters))
    return cases


def bytes_per_element(case: Case) -> float:
    """Returns the bytes per element that the benches count for `share_of_copy`."""
    subject, _, direction, dtype, policy = case.name.split("/")[:5]
    if subject == "linear_attention":
        return (7 if direction == "backward" else 4) * {"f32": 4, "f64": 8}.get(dtype, 2)
    if subject == "sparse_mix":
        return 8 + 4 * 12 * (13 if "chord" in policy else 3) / 512
    return TRAFFIC.get((subject, dtype)) or TRAFFIC.get((subject, policy.split("-")[-1]), 0)


def expected_value(target: Level, case: Case, device: Device) -> float:
    """Returns the expected value in the unit of the target."""
    time = case.time(device)[0]
    batch, length, channels = (int(part.split(":")[1]) for part in case.name.split("/")[-3:])
    elements = batch * length * channels
    if target.counter == "items_per_second":
        return elements / time / target.scale
    if target.counter == "share_of_copy":
        return elements * bytes_per_element(case) / time / device.memory / target.scale
    products = 5 if "/backward/" in case.name else 2
    return products * 2 * elements * length / time / target.scale


def modeled_targets(cases: list[Case]) -> Iterator[tuple[Level, Case]]:
    """Yields the targets that the model covers, with their cases."""
    named = {case.name: case for case in cases}
    for target in gpu_targets():
        if isinstance(target, Level) and target.at_least is not None and (target.at_least > 0 or target.case in named):
            yield target, named[target.case]


def targets_table(cases: list[Case]) -> list[list[str]]:
    rows = [["target", "required", "expected", "slow .. fast", "bound by", "by the model"]]
    for target, case in modeled_targets(cases):
        has_requirement = target.at_least > 0
        slow, expected, fast = (expected_value(target, case, device) for device in (SLOW, EXPECTED, FAST))
        rows.append([target.name.removeprefix("GPU "), f"{target.at_least:g} {target.unit}" if has_requirement else f"no promise, {target.unit}",
                     f"{expected:.0f}", f"{slow:.0f} .. {fast:.0f}", case.time(EXPECTED)[1],
                     "" if not has_requirement else "met" if expected >= target.at_least else "missed"])
    return rows


def measured_table(cases: list[Case], results: str) -> list[list[str]]:
    """Compares measured targets with the model of a device that has the measured bandwidth of a copy."""
    measured_cases = load(results)[1]
    rows = [["target", "measured", "expected", "slow .. fast", "measured / expected", "bound by"]]
    for target, case in modeled_targets(cases):
        measured_case = measured_cases[target.case]
        bandwidth = measured_case.median("copy_bytes_per_second") / EXPECTED.memory
        devices = [replace(device, memory=device.memory * bandwidth) for device in (SLOW, EXPECTED, FAST)]
        slow, expected, fast = (expected_value(target, case, device) for device in devices)
        measured = measured_case.median(target.counter) / target.scale
        rows.append([target.name.removeprefix("GPU "), f"{measured:.1f} {target.unit}", f"{expected:.1f}", f"{slow:.1f} .. {fast:.1f}",
                     f"{measured / expected:.2f}", case.time(devices[1])[1]])
    return rows


def counters_table(cases: list[Case]) -> list[list[str]]:
    """Returns the counters per element of the longest launch of every case."""
    rows = [["case", "kernel", "PTX", "machine code", "wavefronts", "/ ideal", "sectors, B", "requested, B", "barriers", "divergent", "blocks"]]
    for case in cases:
        launch = max(case.launches, key=lambda launch: launch_seconds(case.name, launch, case.elements, EXPECTED))
        scale = launch.columns["launches"] * launch.columns["blocks"] / case.elements
        count = {name: launch.per_block(name) * scale for name in ("instructions", "issued", "wavefronts", "sectors", "bytes", "divergent")}
        ideal = launch.columns["ideal"]
        name = "/".join(part for part in case.name.split("/") if part not in ("cuda", "normal", "C:512"))
        rows.append([name, launch.kernel.split("<")[0].removesuffix("_kernel"), f"{32 * count['instructions']:.0f}", f"{32 * count['issued']:.0f}",
                     f"{32 * count['wavefronts']:.0f}", f"{launch.columns['wavefronts'] / ideal:.2f}" if ideal else "-",
                     f"{32 * count['sectors']:.1f}", f"{count['bytes']:.1f}", f"{launch.per_block('barriers'):.0f}", f"{launch.per_block('divergent'):.0f}",
                     f"{launch.resident_blocks(EXPECTED)}"])
    return rows


def format_markdown(rows: list[list[str]]) -> str:
    return "\n".join(["| " + " | ".join(rows[0]) + " |", "|---" * len(rows[0]) + "|", *("| " + " | ".join(row) + " |" for row in rows[1:])])


def insert_tables(page: str, tables: dict[str, list[list[str]]]) -> str:
    for name, rows in tables.items():
        begin, end = f"<!-- {name}, from report.gpu_model -->", "<!-- end -->"
        before, marker, rest = page.partition(begin)
        if not marker:
            raise SystemExit(f"{PAGE} has no {begin}")
        page = f"{before}{begin}\n{format_markdown(rows)}\n{end}" + rest.partition(end)[2]
    return page


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--measured", metavar="RESULTS.json")
    arguments = parser.parse_args()
    cases = read_cases()
    if arguments.measured:
        print(format_markdown(measured_table(cases, arguments.measured)))
        return 0
    tables = {"targets": targets_table(cases), "counters": counters_table(cases)}
    if not arguments.check and not arguments.update:
        print("\n\n".join(format_table(rows) for rows in tables.values()))
        return 0
    page = PAGE.read_text(encoding="utf-8")
    updated = insert_tables(page, tables)
    if arguments.update:
        PAGE.write_text(updated, encoding="utf-8")
    elif updated != page:
        print(f"{PAGE.name}: its tables are not those of report.gpu_model --update")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
