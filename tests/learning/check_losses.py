# SPDX-License-Identifier: Apache-2.0
"""Models compute alike with the library's own products and with a BLAS: check_losses.py OWN WITH_BLAS, two programs of
products/losses.cpp."""
import subprocess
import sys

# Smooth models, in double, relative to the greatest gradient. The longest path has 2000 roundings: a forward product's sum
# has at most 48 terms, and there are 14 such products in a row; backward as many again, and the last adds up 1280 rows.
# An addition to a residual, or a sparse factor, may double the error of its input: 12 of them lie on a path (six factors
# or two residuals in two layers, and back). A product of the wrong matrices, or one in float, is off by 1e-8 or more.
ROUNDINGS, DOUBLINGS = 2 * 14 * 48 + 1280, 12
MOST = ROUNDINGS * 2.0**-53 * 2**DOUBLINGS


def lines(program: str) -> tuple[str, dict[tuple[str, str, str], list[float]]]:
    first, *rest = subprocess.run([program], capture_output=True, encoding="utf-8", check=True).stdout.splitlines()
    return first, {(kind, model, array): list(map(float, values)) for kind, model, array, *values in map(str.split, rest)}


(own_name, own), (blas_name, blas) = map(lines, sys.argv[1:3])
assert (own_name, blas_name) == ("products own", "products BLAS"), (own_name, blas_name)
assert own.keys() == blas.keys()
complaints = []
for kind, model, array in own:
    values, others = own[kind, model, array], blas[kind, model, array]
    assert len(values) == len(others) > 0 and any(values), (model, array)
    if kind == "exact":
        # No rounding at all, or double would not agree.
        if not values == others == own[kind, "double", array]:
            complaints.append(f"exact {model}: {array} differs")
worst = {}
for model in ("attention", "sparse_mix"):
    arrays = [array for kind, name, array in own if (kind, name) == ("smooth", model)]
    scale = max(abs(value) for array in arrays for value in own["smooth", model, array])
    worst[model] = max(abs(a - b) for array in arrays for a, b in zip(own["smooth", model, array], blas["smooth", model, array])) / scale
    if not worst[model] <= MOST:
        complaints.append(f"smooth {model}: differs by {worst[model]:.1e}, at most {MOST:.1e}")
print(f"{len(own)} arrays; greatest differences of smooth models: {worst}, allowed {MOST:.1e}", *complaints, sep="\n")
sys.exit(bool(complaints))
