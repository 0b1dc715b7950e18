# SPDX-License-Identifier: Apache-2.0
"""Models train alike with the library's own products and with a BLAS: check_losses.py OWN WITH_BLAS, two programs of
products/losses.cpp."""
import subprocess
import sys

MOST = 1e-5  # products differ in rounding, by 1e-7 or so, and eight steps make that grow


def losses(program: str) -> tuple[str, dict[tuple[str, int], float]]:
    first, *rest = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    return first, {(name, int(step)): float(loss) for name, step, loss in map(str.split, rest)}


(own_name, own), (blas_name, blas) = map(losses, sys.argv[1:3])
assert (own_name, blas_name) == ("products own", "products BLAS"), (own_name, blas_name)
assert own.keys() == blas.keys() and len(own) == 24, (len(own), len(blas))
worst = max((abs(own[key] - blas[key]), key) for key in own)
print(f"greatest difference: {worst[0]:.1e} ({worst[1][0]}, step {worst[1][1]})")
sys.exit(worst[0] > MOST)
