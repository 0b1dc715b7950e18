# SPDX-License-Identifier: Apache-2.0
"""Structs of slicesort.h for ctypes, tensors, and calls of libslicesort that raise for an error. SLICESORT_LIBRARY is its path."""
import ctypes
import math
import os
import random
from ctypes import POINTER, Structure, byref, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

LIBRARY = ctypes.CDLL(os.environ["SLICESORT_LIBRARY"])
LIBRARY.slicesort_last_error.restype = c_char_p
LIBRARY.slicesort_version.restype = c_char_p
DTYPES = {"float32": (1, ctypes.c_float), "float64": (2, c_double), "uint8": (5, ctypes.c_uint8), "uint16": (6, ctypes.c_uint16),
          "int32": (7, c_int32), "int64": (9, c_int64)}


class View(Structure):
    _fields_ = [("data", c_void_p), ("dtype", c_int32), ("rank", c_int32), ("shape", c_int64 * 4), ("strides", c_int64 * 4)]


class Tensor:
    """A dense tensor; `values` is its array, in row-major order."""

    def __init__(self, shape: tuple[int, ...], values: list[float] | None = None, dtype: str = "float64", offset: int = 0) -> None:
        code, element = DTYPES[dtype]
        count = math.prod(shape)
        self.shape = shape
        self.values = (element * count)(*(values if values is not None else [99] * count))
        self.strides = [math.prod(shape[axis + 1:]) for axis in range(len(shape))]
        self.view = View(ctypes.addressof(self.values), code, len(shape), shape, tuple(self.strides))

    def __getitem__(self, index: tuple[int, ...]) -> float:
        return self.values[sum(i * stride for i, stride in zip(index, self.strides))]

    def view_of_rows(self, first: int, count: int) -> View:
        """Returns a view of some rows of [batch, heads, rows, channels]. The tensor must outlive it."""
        data = ctypes.addressof(self.values) + first * self.strides[2] * ctypes.sizeof(self.values._type_)
        shape = (*self.shape[:2], count, self.shape[3])
        return View(data, self.view.dtype, 4, shape, tuple(self.strides))


def views_of(tensors: list[Tensor]) -> ctypes.Array:
    return (View * len(tensors))(*(tensor.view for tensor in tensors))


class Pairs(Structure):
    _fields_ = [("mask", c_char_p)] + [(name, POINTER(View)) for name in ("lengths", "query_lengths", "allowed", "segments")]


class Call(Structure):
    _fields_ = [("backend", c_uint32), ("threads", c_uint32), ("stream", c_void_p), ("workspace", c_void_p), ("workspace_bytes", c_size_t),
                ("required_bytes", POINTER(c_size_t)), ("parallel_for", c_void_p), ("pool", c_void_p)]


class TopK(Structure):
    _fields_ = [("k", c_int64), ("order", c_char_p), ("by_index", c_int32), ("nan_last", c_int32)]


class SoftSort(Structure):
    _fields_ = [("ranks", c_int32), ("regularization", c_char_p), ("strength", c_double)]


class Csp(Structure):
    _fields_ = [("groups", c_char_p), ("shift", c_char_p), ("alignment", c_char_p)]


class SinkhornCsp(Structure):
    _fields_ = [("groups", c_char_p), ("shift", c_char_p), ("tau", c_double), ("iterations", c_int64), ("reference", c_int64)]


class Sinkhorn(Structure):
    _fields_ = [("tau", c_double), ("half_steps", c_int64), ("rows_last", c_int32)]


class SparseMix(Structure):
    _fields_ = [("topology", c_char_p), ("residual", c_char_p), ("checkpoint_every", c_int64)]


class DecayingSum(Structure):
    _fields_ = [("is_complex", c_int32), ("direction", c_char_p)]


class SoftmaxAttention(Structure):
    _fields_ = [("pairs", Pairs), ("bias", POINTER(View)), ("scale", POINTER(c_double)), ("dropout", c_double), ("seed", c_uint64)]


class PointwiseAttention(Structure):
    _fields_ = [("pairs", Pairs), ("bias", POINTER(View)), ("function", c_char_p), ("scale", POINTER(c_double)), ("per_key", c_int32)]


class LinearAttention(Structure):
    _fields_ = [("feature", c_char_p), ("divisor", c_char_p), ("direction", c_char_p),
                *((name, POINTER(View)) for name in ("w", "lengths", "query_lengths"))]


def pointer_of(tensor: Tensor) -> ctypes._Pointer:
    return ctypes.pointer(tensor.view)


def as_argument(value: object) -> object:
    if isinstance(value, Tensor):
        return byref(value.view)
    if isinstance(value, Structure):
        return byref(value)
    return c_int64(value) if isinstance(value, int) else value


def call(name: str, *arguments: object) -> None:
    """Calls slicesort_<name>. Raises ValueError with the message of a failed call."""
    if getattr(LIBRARY, "slicesort_" + name)(*map(as_argument, arguments)) != 0:
        raise ValueError(LIBRARY.slicesort_last_error().decode())


def random_tensor(shape: tuple[int, ...], seed: int = 1, dtype: str = "float64") -> Tensor:
    """Returns distinct values of absolute value below 1, in random order."""
    count, generator = math.prod(shape), random.Random(seed)
    return Tensor(shape, [(2 * i + 1 - count) / count for i in generator.sample(range(count), count)], dtype)


def rows_like(shape: tuple[int, ...]) -> Tensor:
    return Tensor(shape, dtype="int32")


def slicing_sort(x: Tensor, order: bytes | None = b"half_half{2}", dtype: str = "float64") -> tuple[Tensor, Tensor]:
    """Returns the sorted tensor and the permutation."""
    y, perm = Tensor(x.shape, dtype=dtype), rows_like(x.shape)
    call("slicing_sort", None, order, x, y, perm, None)
    return y, perm
