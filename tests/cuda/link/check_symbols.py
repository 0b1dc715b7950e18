#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Symbols of shared libraries built around the CUDA backend for different architectures: no kernel is
visible, nothing compiled for one can stand in for the other's, and the runtime is asked for little.
usage: check_symbols.py FIRST.so SECOND.so"""
import re
import subprocess
import sys

# All that the library and its test call of the runtime. What is not here would allocate, wait or copy.
RUNTIME = re.compile(r"cuda(GetLastError|GetDevice|SetDevice|DeviceGetAttribute|StreamGetDevice|GetErrorName|GetErrorString"
                     r"|FuncSetAttribute|FuncGetAttributes|LaunchKernel|LaunchKernelExC)$")
THE_TESTS_OWN = {"cudaMalloc", "cudaFree", "cudaMemcpy"}


def symbols(library: str, *options: str) -> dict[str, str]:
    """Names, demangled, and their kinds, as nm tells them."""
    text = subprocess.run(["nm", "-D", "-C", *options, library], capture_output=True, encoding="utf-8", check=True).stdout
    found = {}
    for line in text.splitlines():
        kind, name = line[17:].split(" ", 1)
        found[name] = kind
    return found


complaints = []
shared = None
for library in sys.argv[1:]:
    defined = symbols(library, "--defined-only")
    complaints += [f"{library}: a kernel is visible: {name}" for name in defined if "run_kernel" in name and "cuda_grid" not in name]
    if "sort_column" not in defined:
        complaints.append(f"{library}: sort_column is not there")
    ours = {name for name in defined if "slicesort" in name}
    shared = ours if shared is None else shared & ours
    for name in symbols(library, "--undefined-only"):
        call = name.split("@")[0]
        if re.match(r"cu(da)?[A-Z]", call) and not RUNTIME.match(call) and call not in THE_TESTS_OWN:
            complaints.append(f"{library}: calls {call}")
# Errors and the variables of slicesort::v0 are shared by all builds; functions are not.
complaints += [f"in both libraries: {name}" for name in sorted(shared or ()) if re.search(r"slicesort::v0_", name)]
print(f"{len(shared or ())} symbols of slicesort are in both libraries")
print("\n".join(complaints) or "fine")
sys.exit(1 if complaints else 0)
