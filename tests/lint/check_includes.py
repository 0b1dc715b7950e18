#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A private header is in the folder of its operator; code that two operators share is in an engine or a vocabulary. Includes
only go downward (the table in docs/design.md), no operator includes another, and headers follow a few more rules."""
import re

from common import INCLUDE, finish, headers, relative_name

INCLUDED = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
UMBRELLAS = ("slicesort.hpp", "cuda.cuh", "policies/cublas.cuh")
ABOVE_OPERATORS = ("argsort.hpp", "thrust.hpp", "equivalent_matrix.hpp", "policies/blas.hpp", "policies/host_gemm.hpp", "policies/cublas.cuh",
                   "half_types.hpp", "matmul.hpp", "print.hpp", "random_rows.hpp", "sigmoid.hpp")
# Headers that include only each other, so policies may include them: masks draw random blocks by the hash.
GROUND = ("detail/core/build.hpp", "detail/core/config.hpp", "detail/math/counter_hash.hpp")
# Ranks of the folders of detail/ that belong to no operator: vocabularies of kernels, launches and the host; engines that
# several operators share.
FOLDERS = {"math": 2, "core": 2, "device": 3, "host": 3, "cuda": 4, "sort": 4, "permutation": 5, "attention": 5, "matmul": 5,
           "equivalent_matrix": 8}
OPERATOR, PUBLIC_OPERATOR, CONVENIENCE, UMBRELLA = 6, 7, 8, 9
# Exception: sinkhorn_csp, the relaxation of csp, includes its parameters.
ALLOWED = {("detail/sinkhorn_csp/params.hpp", "detail/csp/params.hpp")}
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
    errors: list[str] = []
    graph: dict[str, list[str]] = {}
    cudacc = []
    for path in headers():
        header = path.relative_to(INCLUDE / "slicesort").as_posix()
        rank, folder = layer(header)
        graph[header] = []
        if rank < 0:
            errors.append(f"{relative_name(path)}: {folder}; add it to the table in docs/design.md and to this check")
        text = path.read_text(encoding="utf-8")
        code = re.sub(r"//.*|/\*.*?\*/", "", text)
        if "__CUDACC__" in code:
            cudacc.append(relative_name(path))
        if re.search(r"\b__CUDA_ARCH__\b", code) and header not in MAY_ASK_ARCHITECTURE:
            errors.append(f"{relative_name(path)}: uses __CUDA_ARCH__; a kernel is the same text on the host, so make it a member of the Block")
        if path.suffix == ".cuh" and header.startswith("detail/") and not header.startswith("detail/cuda/"):
            errors.append(f"{relative_name(path)}: a .cuh is public or lies in detail/cuda")
        if path.suffix != ".inl" and "#pragma once" not in text:
            errors.append(f"{relative_name(path)}: has no #pragma once")
        for number, line in enumerate(text.splitlines(), 1):
            label = f"{relative_name(path)}:{number}"
            if re.match(r"\s*using\s+namespace\b", line):
                errors.append(f"{label}: using namespace in a header")
            include = INCLUDED.match(line)
            if not include:
                continue
            quote, target = include.groups()
            if not target.startswith("slicesort/"):
                if quote == '"':
                    errors.append(f"{label}: include <slicesort/...> by its full name")
                if target in ("iostream", "cassert", "assert.h"):
                    errors.append(f"{label}: <{target}> does not belong in a header")
                if target == "thread" and header != "exec.hpp":
                    errors.append(f"{label}: only exec.hpp includes <thread>")
                if CUDA.search(target) and path.suffix != ".cuh" and header not in MAY_REACH_CUDA:
                    errors.append(f"{label}: a .hpp reaches the CUDA header <{target}>")
                continue
            if quote == '"':
                errors.append(f'{label}: write <{target}>, not "{target}"')
            target = target.removeprefix("slicesort/")
            graph[header].append(target)
            if not (INCLUDE / "slicesort" / target).is_file():
                errors.append(f"{label}: slicesort/{target} does not exist")
                continue
            target_rank, target_folder = layer(target)
            if target_rank > rank:
                errors.append(f"{label}: {folder} includes upward ({target_folder}: {target})")
            if {folder, target_folder} in ({"host", "cuda"}, {"host", "device"}, {"sort", "cuda"}):
                errors.append(f"{label}: {folder} includes {target_folder}")
            if target_rank == rank == OPERATOR and folder != target_folder and (header, target) not in ALLOWED:
                errors.append(f"{label}: operator {folder} includes operator {target_folder}; shared code belongs in an engine")
            if rank == OPERATOR and target_folder == "cuda":
                errors.append(f"{label}: operators are written against the Grid, not against CUDA")
            if target.endswith(".cuh") and path.suffix != ".cuh" and header not in MAY_REACH_CUDA:
                errors.append(f"{label}: a .hpp includes {target}")
    if len(cudacc) > 3:
        errors.append(f"__CUDACC__ is in {len(cudacc)} headers, at most 3 may have it: {', '.join(cudacc)}")
    errors += find_cycles(graph)
    umbrella = set(graph["slicesort.hpp"])
    for header in graph:
        if "/" not in header and header.endswith(".hpp") and header not in umbrella | {"slicesort.hpp", *ABOVE_OPERATORS}:
            errors.append(f"slicesort.hpp does not include {header}")
    finish("includes", errors)


def find_cycles(graph: dict[str, list[str]]) -> list[str]:
    visited: set[str] = set()
    found: list[str] = []

    def visit(header: str, trail: list[str]) -> None:
        if header in trail:
            found.append("cycle: " + " -> ".join(trail[trail.index(header):] + [header]))
        elif header not in visited:
            for target in graph.get(header, []):
                visit(target, trail + [header])
            visited.add(header)

    for header in graph:
        visit(header, [])
    return found


if __name__ == "__main__":
    main()
