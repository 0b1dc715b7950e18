#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A private header lies with its operator; what two operators share lies in an engine or a vocabulary. So
includes go downward only (the table in docs/design.md), no operator includes another, and headers keep to a
few more rules."""
import re

from common import INCLUDE, finish, headers, name

INCLUDED = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
UMBRELLAS = ("slicesort.hpp", "cuda.cuh", "policies/cublas.cuh")
ABOVE_OPERATORS = ("thrust.hpp", "equivalent_matrix.hpp", "policies/blas.hpp", "policies/host_gemm.hpp", "policies/cublas.cuh",
                   "half_types.hpp", "print.hpp", "random_rows.hpp")
# These include nothing of ours but each other, so words may include them: masks draw blocks from the hash.
GROUND = ("detail/core/build.hpp", "detail/core/config.hpp", "detail/math/counter_hash.hpp")
# The folders of detail/ that belong to no operator, from the ground up: what bodies are written with, and
# with what they are launched; the host's runtime; the engines that several operators are made of.
FOLDERS = {"math": 2, "core": 2, "device": 3, "host": 3, "cuda": 4, "sort": 4, "permutation": 5, "attention": 5,
           "equivalent_matrix": 8}
OPERATOR, PUBLIC_OPERATOR, CONVENIENCE, UMBRELLA = 6, 7, 8, 9
# One operator may know another's problem: sinkhorn_csp is csp's relaxation.
MAY_KNOW = {("detail/sinkhorn_csp/params.hpp", "detail/csp/params.hpp")}
CUDA = re.compile(r"^(cuda|cublas|cub/|thrust/|nv/|nvtx3/|nvToolsExt|cooperative_groups|driver_types|vector_types|mma\.h)|\.cuh$")
MAY_REACH_CUDA = ("slicesort.hpp", "thrust.hpp")  # guarded by the compiler, or opt-in
MAY_ASK_ARCHITECTURE = ("detail/cuda/block.cuh", "detail/core/config.hpp")  # config.hpp: for a pragma


def is_operator(stem: str) -> bool:
    return (INCLUDE / "slicesort/detail" / stem / "params.hpp").exists()


def layer(header: str) -> tuple[int, str]:
    """Rank and name of the layer that slicesort/<header> belongs to."""
    parts = header.split("/")
    if header in GROUND:
        return 0, "ground"
    if parts[0] == "detail" and len(parts) > 2:
        if is_operator(parts[1]):
            return OPERATOR, parts[1]
        return FOLDERS.get(parts[1], -1), parts[1] if parts[1] in FOLDERS else f"unknown folder detail/{parts[1]}"
    if parts[0] == "detail":
        return CONVENIENCE, "list of operators"
    if header in UMBRELLAS:
        return UMBRELLA, "umbrella"
    if header in ABOVE_OPERATORS:
        return CONVENIENCE, "convenience"
    if is_operator(header.rpartition(".")[0]):
        return PUBLIC_OPERATOR, "public operator"
    return 1, "word"


def main() -> None:
    complaints: list[str] = []
    graph: dict[str, list[str]] = {}
    cudacc = []
    for path in headers():
        me = path.relative_to(INCLUDE / "slicesort").as_posix()
        rank, mine = layer(me)
        graph[me] = []
        if rank < 0:
            complaints.append(f"{name(path)}: {mine}; add it to the table in docs/design.md and to this check")
        text = path.read_text(encoding="utf-8")
        code = re.sub(r"//.*|/\*.*?\*/", "", text)
        if "__CUDACC__" in code:
            cudacc.append(name(path))
        if re.search(r"\b__CUDA_ARCH__\b", code) and me not in MAY_ASK_ARCHITECTURE:
            complaints.append(f"{name(path)}: asks for __CUDA_ARCH__; a body is the same text on the host, so make it a member of the Block")
        if path.suffix == ".cuh" and me.startswith("detail/") and not me.startswith("detail/cuda/"):
            complaints.append(f"{name(path)}: a .cuh is public or lies in detail/cuda")
        if path.suffix != ".inl" and "#pragma once" not in text:
            complaints.append(f"{name(path)}: has no #pragma once")
        for number, line in enumerate(text.splitlines(), 1):
            where = f"{name(path)}:{number}"
            if re.match(r"\s*using\s+namespace\b", line):
                complaints.append(f"{where}: using namespace in a header")
            include = INCLUDED.match(line)
            if not include:
                continue
            quote, target = include.groups()
            if not target.startswith("slicesort/"):
                if quote == '"':
                    complaints.append(f"{where}: include <slicesort/...> by its full name")
                if target in ("iostream", "cassert", "assert.h"):
                    complaints.append(f"{where}: <{target}> does not belong in a header")
                if target == "thread" and me != "exec.hpp":
                    complaints.append(f"{where}: only exec.hpp includes <thread>")
                if CUDA.search(target) and path.suffix != ".cuh" and me not in MAY_REACH_CUDA:
                    complaints.append(f"{where}: a .hpp reaches the CUDA header <{target}>")
                continue
            if quote == '"':
                complaints.append(f'{where}: write <{target}>, not "{target}"')
            target = target.removeprefix("slicesort/")
            graph[me].append(target)
            if not (INCLUDE / "slicesort" / target).is_file():
                complaints.append(f"{where}: slicesort/{target} does not exist")
                continue
            to_rank, theirs = layer(target)
            if to_rank > rank:
                complaints.append(f"{where}: {mine} includes upward ({theirs}: {target})")
            if {mine, theirs} in ({"host", "cuda"}, {"host", "kernel"}, {"sort", "cuda"}):
                complaints.append(f"{where}: {mine} includes {theirs}")
            if to_rank == rank == OPERATOR and mine != theirs and (me, target) not in MAY_KNOW:
                complaints.append(f"{where}: operator {mine} includes operator {theirs}; what both need belongs in an engine")
            if rank == OPERATOR and theirs == "cuda":
                complaints.append(f"{where}: operators are written against the Grid, not against CUDA")
            if target.endswith(".cuh") and path.suffix != ".cuh" and me not in MAY_REACH_CUDA:
                complaints.append(f"{where}: a .hpp includes {target}")
    if len(cudacc) > 3:
        complaints.append(f"__CUDACC__ is in {len(cudacc)} headers, at most 3 may have it: {', '.join(cudacc)}")
    complaints += cycles(graph)
    umbrella = set(graph["slicesort.hpp"])
    for header in graph:
        if "/" not in header and header.endswith(".hpp") and header not in umbrella | {"slicesort.hpp", *ABOVE_OPERATORS}:
            complaints.append(f"slicesort.hpp does not include {header}")
    finish("includes", complaints)


def cycles(graph: dict[str, list[str]]) -> list[str]:
    done: set[str] = set()
    found: list[str] = []

    def visit(header: str, trail: list[str]) -> None:
        if header in trail:
            found.append("cycle: " + " -> ".join(trail[trail.index(header):] + [header]))
        elif header not in done:
            for target in graph.get(header, []):
                visit(target, trail + [header])
            done.add(header)

    for header in graph:
        visit(header, [])
    return found


if __name__ == "__main__":
    main()
