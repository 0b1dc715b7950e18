# SPDX-License-Identifier: Apache-2.0
"""Loads the compiled libraries and registers their handlers with XLA."""
import ctypes
from pathlib import Path

import jax

_DIFFERENTIABLE = ["top_k", "soft_sort", "permute", "multi_permutation", "max_exchange", "shuffle", "csp", "sinkhorn_csp", "sinkhorn", "sparse_mix", "short_convolution",
                   "decaying_sum", "softmax_attention", "pointwise_attention", "linear_attention", "linear_attention_with_state"]
_NAMES = ["argsort", "slicing_sort", "merge_attention", *_DIFFERENTIABLE, *(name + "_backward" for name in _DIFFERENTIABLE)]


def _register(path: Path, platform: str) -> ctypes.CDLL:
    library = ctypes.CDLL(str(path))
    for name in _NAMES:
        handler = jax.ffi.pycapsule(getattr(library, "slicesort_" + name))
        jax.ffi.register_ffi_target("slicesort_" + name, handler, platform=platform)
    return library


_host = _register(Path(__file__).with_name("host.so"), "cpu")
_cuda_path = Path(__file__).with_name("cuda.so")
if _cuda_path.exists():
    _cuda = _register(_cuda_path, "CUDA")


def set_num_threads(count: int) -> None:
    """Sets the number of threads for calls on a CPU, including those in compiled functions. The default is the number
    of processors. Results do not depend on it."""
    if count < 1:
        raise ValueError(f"the number of threads must be at least 1, is {count}")
    _host.slicesort_set_threads(ctypes.c_uint(count))


def get_num_threads() -> int:
    return _host.slicesort_get_threads()


def csp_state(groups: str, shift: str, alignment: str, shape: tuple[int, int, int]) -> tuple[tuple[int, ...], str]:
    """Returns shape and dtype of csp's saved state."""
    state, message = (ctypes.c_int64 * 4)(), ctypes.create_string_buffer(512)
    if _host.slicesort_csp_state(groups.encode(), shift.encode(), alignment.encode(), *map(ctypes.c_int64, shape), state,
                                 message, ctypes.c_size_t(len(message))):
        raise ValueError(message.value.decode())
    return tuple(state[:3]), {1: "uint8", 2: "uint16", 4: "int32"}[state[3]]
