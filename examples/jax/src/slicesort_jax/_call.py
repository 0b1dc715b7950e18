# SPDX-License-Identifier: Apache-2.0
"""What all operators share: calls of handlers that know where the batch is, and derivatives."""
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
    """An array, or None where it is missing; `axis` is that of the batch, None where samples share it."""
    array: Any
    axis: int | None = 0


class Out(NamedTuple):
    shape: tuple[int, ...]
    dtype: Any
    axis: int | None = 0


def policies(**given: Any) -> Policies:
    """Attributes of a call, hashable, in the types that handlers read without jax_enable_x64, too."""
    def fixed(name: str, value: Any) -> Any:
        if isinstance(value, Integral):
            return np.int64(value)
        if not isinstance(value, (str, Real)):
            raise TypeError(f"{name} is a {type(value).__name__}, must be text or a number")
        return np.float64(value) if isinstance(value, Real) else value

    return tuple((name, fixed(name, value)) for name, value in given.items())


def call(target: str, inputs: Sequence[In], outputs: Sequence[Out | None], attributes: Policies = (),
         folds: bool = True) -> list[Any]:
    """Calls a handler; where an output is None, it writes none and None is returned.

    An axis that vmap maps becomes a part of the batch, so that one call does the work of all. That is not possible
    where samples share an array that is mapped, or have the gradient of one in common, or where results follow from a
    sample's number (`folds` false): there is one call after the other."""
    arrays = [i.array for i in inputs if i.array is not None]
    axes = [i.axis for i in inputs if i.array is not None]
    given, axis_of = [i.array is not None for i in inputs], [i.axis for i in inputs]
    wanted = [o for o in outputs if o is not None]

    @jax.custom_batching.custom_vmap
    def run(*arrays: Any) -> tuple[Any, ...]:
        its = iter(arrays)
        operands = [next(its) if there else np.zeros(0, bool) for there in given]
        shapes = [jax.ShapeDtypeStruct((0,), bool) if o is None else jax.ShapeDtypeStruct(o.shape, o.dtype)
                  for o in outputs]
        results = jax.ffi.ffi_call("slicesort_" + target, shapes, vmap_method="sequential")(*operands,
                                                                                          **dict(attributes))
        return tuple(r for r, o in zip(results, outputs) if o is not None)

    @run.def_vmap
    def rule(size: int, mapped: Sequence[bool], *arrays: Any) -> tuple[Any, Any]:
        if not folds or any(m and axis is None for m, axis in zip(mapped, axes)) or any(
                o.axis is None for o in wanted):
            results = _one_by_one(run, mapped, arrays)
        else:
            folded = iter(_fold(a, axis, m, size) for a, axis, m in zip(arrays, axes, mapped))
            results = call(target, [In(next(folded) if there else None, axis) for there, axis in zip(given, axis_of)],
                           [o and o._replace(shape=_times(o, size)) for o in outputs], attributes)
            results = tuple(_unfold(r, o, size) for r, o in zip(results, outputs) if o is not None)
        return results, (True,) * len(results)

    results = iter(run(*arrays))
    return [None if o is None else next(results) for o in outputs]


def _one_by_one(run: Callable[..., Any], mapped: Sequence[bool], arrays: Sequence[Any]) -> Any:
    def one(some: list[Any]) -> Any:
        its = iter(some)
        return run(*(next(its) if m else a for a, m in zip(arrays, mapped)))

    return jax.lax.map(one, [a for a, m in zip(arrays, mapped) if m])


def _fold(array: Any, axis: int | None, mapped: bool, size: int) -> Any:
    if axis is None:
        return array
    if not mapped:
        array = jnp.broadcast_to(array[None], (size, *array.shape))
    array = jnp.moveaxis(array, 0, axis)
    return array.reshape(*array.shape[:axis], size * array.shape[axis + 1], *array.shape[axis + 2:])


def _times(out: Out, size: int) -> tuple[int, ...]:
    return tuple(size * n if axis == out.axis else n for axis, n in enumerate(out.shape))


def _unfold(array: Any, out: Out, size: int) -> Any:
    return jnp.moveaxis(array.reshape(*out.shape[:out.axis], size, *out.shape[out.axis:]), out.axis, 0)


def operator(forward: Callable[..., Any], backward: Callable[..., Any]) -> Callable[..., Any]:
    """A function of policies and arrays (None where one is missing) that has a gradient.

    `forward(save, policies, *arrays)` returns the result and what `backward(policies, saved, wanted, dy)` needs, which
    returns a gradient for each of the arrays; `wanted` says which of them anybody asks for."""
    @partial(jax.custom_vjp, nondiff_argnums=(0,))
    def differentiable(policies: Policies, *arrays: Any) -> Any:
        return forward(False, policies, *arrays)[0]

    def rule_forward(policies: Policies, *arrays: Any) -> Any:
        y, saved = forward(True, policies, *(None if a is None else a.value for a in arrays))
        # Residuals are arrays; a bool that must be known while backward is traced goes into a shape. JAX mixes up their
        # structure where calls with other bools came before.
        wanted = tuple(jnp.zeros(1 if a is not None and a.perturbed else 0, bool) for a in arrays)
        return y, (saved, wanted)

    def rule_backward(policies: Policies, residuals: Any, dy: Any) -> Any:
        saved, wanted = residuals
        dy = jax.tree.map(lambda d: jnp.zeros(d.shape, d.dtype) if isinstance(d, SymbolicZero) else d, dy,
                          is_leaf=lambda d: isinstance(d, SymbolicZero))
        return backward(policies, saved, tuple(w.shape[0] == 1 for w in wanted), dy)

    differentiable.defvjp(rule_forward, rule_backward, symbolic_zeros=True)
    return jax.jit(differentiable, static_argnums=0)
