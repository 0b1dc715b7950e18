#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the symbols of shared libraries with the CUDA backend for different architectures: no kernel is visible, the dynamic
linker cannot mix their functions, and they call few functions of the CUDA runtime.
usage: check_symbols.py FIRST.so SECOND.so"""
import re
import subprocess
import sys

# The functions of the CUDA runtime that the library may call. Others would allocate, wait or copy.
RUNTIME = re.compile(r"cuda(GetLastError|GetDevice|SetDevice|DeviceGetAttribute|StreamGetDevice|StreamIsCapturing|GetErrorName|GetErrorString"
                     r"|FuncSetAttribute|FuncGetAttributes|LaunchKernel|LaunchKernelExC)$")
CALLED_BY_TEST = {"cudaMalloc", "cudaFree", "cudaMemcpy"}


def symbols(library: str, *options: str) -> dict[str, str]:
    """Demangled names, with their kinds by nm."""
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
        complaints.append(f"{library}: sort_column is missing")
    library_symbols = {name for name in defined if "slicesort" in name}
    shared = library_symbols if shared is None else shared & library_symbols
    for name in symbols(library, "--undefined-only"):
        call = name.split("@")[0]
        if re.match(r"cu(da)?[A-Z]", call) and not RUNTIME.match(call) and call not in CALLED_BY_TEST:
            complaints.append(f"{library}: calls {call}")
# All builds share the exceptions and variables of slicesort::v0, but no functions.
complaints += [f"in both libraries: {name}" for name in sorted(shared or ()) if re.search(r"slicesort::v0_", name)]
print(f"{len(shared or ())} symbols of slicesort are in both libraries")
print("\n".join(complaints) or "fine")
sys.exit(1 if complaints else 0)
