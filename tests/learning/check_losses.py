# SPDX-License-Identifier: Apache-2.0
"""Compares models that use the library's products with models that use a BLAS: check_losses.py LIBRARY BLAS, two builds of
products/losses.cpp."""
import subprocess
import sys

# Error bound of smooth models, in double, relative to the largest gradient. The longest path has 2624 roundings: 14
# products with at most 48 terms forward, as many backward, and a sum over 1280 rows. A residual or a sparse factor may
# double the error of its input; a path has 12 of them (six factors or two residuals in two layers, and back). Products of
# wrong matrices, or in float, are off by 1e-8 or more.
ROUNDINGS, DOUBLINGS = 2 * 14 * 48 + 1280, 12
BOUND = ROUNDINGS * 2.0**-53 * 2**DOUBLINGS


def run_program(program: str) -> tuple[str, dict[tuple[str, str, str], list[float]]]:
    first, *rest = subprocess.run([program], capture_output=True, encoding="utf-8", check=True).stdout.splitlines()
    return first, {(kind, model, array): list(map(float, values)) for kind, model, array, *values in map(str.split, rest)}


(library_name, library), (blas_name, blas) = map(run_program, sys.argv[1:3])
assert (library_name, blas_name) == ("products own", "products BLAS"), (library_name, blas_name)
assert library.keys() == blas.keys()
errors = []
for kind, model, array in library:
    values, blas_values = library[kind, model, array], blas[kind, model, array]
    assert len(values) == len(blas_values) > 0 and any(values), (model, array)
    if kind == "exact":
        # Exact models have no rounding, so float and double agree.
        if not values == blas_values == library[kind, "double", array]:
            errors.append(f"exact {model}: {array} differs")
worst = {}
for model in ("attention", "sparse_mix"):
    arrays = [array for kind, name, array in library if (kind, name) == ("smooth", model)]
    scale = max(abs(value) for array in arrays for value in library["smooth", model, array])
    worst[model] = max(abs(a - b) for array in arrays for a, b in zip(library["smooth", model, array], blas["smooth", model, array])) / scale
    if not worst[model] <= BOUND:
        errors.append(f"smooth {model}: differs by {worst[model]:.1e}, at most {BOUND:.1e}")
print(f"{len(library)} arrays; greatest differences of smooth models: {worst}, allowed {BOUND:.1e}", *errors, sep="\n")
sys.exit(bool(errors))
