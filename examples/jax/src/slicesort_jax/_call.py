# SPDX-License-Identifier: Apache-2.0
"""Calls handlers, with mapped axes folded into the batch, and defines operators with gradients."""
from functools import partial
from numbers import Integral, Real
from typing import Any, Callable, NamedTuple, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero

from . import _library  # noqa: F401 (registers the handlers)

Policies = tuple[tuple[str, Any], ...]


class In(NamedTuple):
    """An input array, or None if it is missing. `axis` is its batch axis; None: all samples share it."""
    array: Any
    axis: int | None = 0


class Out(NamedTuple):
    shape: tuple[int, ...]
    dtype: Any
    axis: int | None = 0


def as_attributes(**values: Any) -> Policies:
    """Returns the policies as hashable attributes of a call, with 64-bit numbers even without jax_enable_x64."""
    def convert(name: str, value: Any) -> Any:
        if isinstance(value, Integral):
            return np.int64(value)
        if not isinstance(value, (str, Real)):
            raise TypeError(f"{name} is a {type(value).__name__}, must be text or a number")
        return np.float64(value) if isinstance(value, Real) else value

    return tuple((name, convert(name, value)) for name, value in values.items())


def call(target: str, inputs: Sequence[In], outputs: Sequence[Out | None], attributes: Policies = (),
         can_fold: bool = True) -> list[Any]:
    """Calls a handler. An output that is None is not computed, and is None in the result.

    vmap folds the mapped axis into the batch, so that one call computes all slices. It makes one call per slice if
    samples share a mapped array or a gradient, or if results depend on the sample index (`can_fold` is false)."""
    arrays = [i.array for i in inputs if i.array is not None]
    axes = [i.axis for i in inputs if i.array is not None]
    is_given = [i.array is not None for i in inputs]

    @jax.custom_batching.custom_vmap
    def run(*arrays: Any) -> tuple[Any, ...]:
        remaining = iter(arrays)
        operands = [next(remaining) if given else np.zeros(0, bool) for given in is_given]
        shapes = [jax.ShapeDtypeStruct((0,), bool) if o is None else jax.ShapeDtypeStruct(o.shape, o.dtype)
                  for o in outputs]
        results = jax.ffi.ffi_call("slicesort_" + target, shapes, vmap_method="sequential")(*operands,
                                                                                          **dict(attributes))
        return tuple(r for r, o in zip(results, outputs) if o is not None)

    @run.def_vmap
    def run_mapped(size: int, mapped: Sequence[bool], *arrays: Any) -> tuple[Any, Any]:
        if not can_fold or any(m and axis is None for m, axis in zip(mapped, axes)) or any(
                o is not None and o.axis is None for o in outputs):
            results = _call_per_slice(run, mapped, arrays)
        else:
            folded = iter(_fold(a, axis, m, size) for a, axis, m in zip(arrays, axes, mapped))
            results = call(target, [In(i.array if i.array is None else next(folded), i.axis) for i in inputs],
                           [o and o._replace(shape=_folded_shape(o, size)) for o in outputs], attributes)
            results = tuple(_unfold(r, o, size) for r, o in zip(results, outputs) if o is not None)
        return results, (True,) * len(results)

    results = iter(run(*arrays))
    return [None if o is None else next(results) for o in outputs]


def _call_per_slice(run: Callable[..., Any], mapped: Sequence[bool], arrays: Sequence[Any]) -> Any:
    def run_slice(slices: list[Any]) -> Any:
        remaining = iter(slices)
        return run(*(next(remaining) if m else a for a, m in zip(arrays, mapped)))

    return jax.lax.map(run_slice, [a for a, m in zip(arrays, mapped) if m])


def _fold(array: Any, axis: int | None, mapped: bool, size: int) -> Any:
    if axis is None:
        return array
    if not mapped:
        array = jnp.broadcast_to(array[None], (size, *array.shape))
    array = jnp.moveaxis(array, 0, axis)
    return array.reshape(*array.shape[:axis], size * array.shape[axis + 1], *array.shape[axis + 2:])


def _folded_shape(out: Out, size: int) -> tuple[int, ...]:
    return tuple(size * n if axis == out.axis else n for axis, n in enumerate(out.shape))


def _unfold(array: Any, out: Out, size: int) -> Any:
    return jnp.moveaxis(array.reshape(*out.shape[:out.axis], size, *out.shape[out.axis:]), out.axis, 0)


def operator(forward: Callable[..., Any], backward: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a differentiable function of policies and arrays, which may be None.

    `forward(save, policies, *arrays)` returns the result and the saved state.
    `backward(policies, saved, needed, dy)` returns the gradients of the arrays; `needed` has a bool for each."""
    @partial(jax.custom_vjp, nondiff_argnums=(0,))
    def differentiable(policies: Policies, *arrays: Any) -> Any:
        return forward(False, policies, *arrays)[0]

    def rule_forward(policies: Policies, *arrays: Any) -> Any:
        y, saved = forward(True, policies, *(None if a is None else a.value for a in arrays))
        # A shape encodes each bool: backward needs it at trace time, and JAX confuses residuals that differ in structure
        # between calls.
        needed = tuple(jnp.zeros(1 if a is not None and a.perturbed else 0, bool) for a in arrays)
        return y, (saved, needed)

    def rule_backward(policies: Policies, residuals: Any, dy: Any) -> Any:
        saved, needed = residuals
        dy = jax.tree.map(lambda d: jnp.zeros(d.shape, d.dtype) if isinstance(d, SymbolicZero) else d, dy,
                          is_leaf=lambda d: isinstance(d, SymbolicZero))
        return backward(policies, saved, tuple(n.shape[0] == 1 for n in needed), dy)

    differentiable.defvjp(rule_forward, rule_backward, symbolic_zeros=True)
    return jax.jit(differentiable, static_argnums=0)
