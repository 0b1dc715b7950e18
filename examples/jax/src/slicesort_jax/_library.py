# SPDX-License-Identifier: Apache-2.0
"""The compiled libraries: registers their handlers with XLA."""
import ctypes
from pathlib import Path

import jax

_NAMES = ["slicing_sort", "permute", "permute_backward", "multi_permutation", "multi_permutation_backward", "max_exchange",
          "max_exchange_backward", "shuffle", "shuffle_backward", "csp", "csp_backward", "sinkhorn_csp", "sinkhorn_csp_backward",
          "sparse_mix", "sparse_mix_backward", "softmax_attention", "softmax_attention_backward", "merge_attention",
          "linear_attention", "linear_attention_backward"]


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
    """The threads of every call on a CPU from now on, also in functions that are compiled already; at first as many
    as there are processors. Results do not depend on it."""
    if count < 1:
        raise ValueError(f"the number of threads must be at least 1, is {count}")
    _host.slicesort_set_threads(ctypes.c_uint(count))


def get_num_threads() -> int:
    return _host.slicesort_get_threads()


def csp_state(groups: str, shift: str, alignment: str, shape: tuple[int, int, int]) -> tuple[tuple[int, ...], str]:
    """Shape and dtype of what csp saves."""
    to, why = (ctypes.c_int64 * 4)(), ctypes.create_string_buffer(512)
    if _host.slicesort_csp_state(groups.encode(), shift.encode(), alignment.encode(), *map(ctypes.c_int64, shape), to,
                                 why, ctypes.c_size_t(len(why))):
        raise ValueError(why.value.decode())
    return tuple(to[:3]), {1: "uint8", 2: "uint16", 4: "int32"}[to[3]]
