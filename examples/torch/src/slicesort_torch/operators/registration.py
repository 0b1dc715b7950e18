# SPDX-License-Identifier: Apache-2.0
"""Registers operators with torch: shapes of outputs, gradients, and vmap."""
from functools import partial

import torch

from ..library import ops


def register(name, *, fake, batched, outputs=(0,), can_fold=None, save=None, backward=None, halves=False):
    """Registers operator `name` and returns it as a function of all its arguments, which are positional.

    `fake(*inputs)` returns outputs without data. `save(ctx, inputs, output)` and `backward(ctx, *gradients)` define the
    gradient. `batched` maps the index of an input to its batch axis; `outputs` has that axis for each output (None: not
    mapped). `torch.vmap` folds the mapped axis into the batch. If another input is mapped too, or `can_fold(*inputs)` is
    false, it runs the slices one by one. `halves`: the operator takes two lists of equal length. `fake`, `save`,
    `backward` and the returned function take their tensors as separate arguments: torch.func does not support lists.
    """
    op = getattr(ops, name).default
    op = in_halves(op) if halves else op
    save, backward = save or save_nothing, backward or no_second_derivative(name)
    if not halves:
        backward = pass_none(backward)

    def batched_call(operator, info, in_dims, *inputs):
        if info.batch_size == 0:
            return run_on_no_slices(operator, in_dims, inputs)
        mapped_inputs = [i for i, dim in enumerate(in_dims) if dim is not None]
        if any(i not in batched for i in mapped_inputs) or not (can_fold is None or can_fold(*inputs)):
            return run_per_slice(operator, info.batch_size, in_dims, inputs)
        results = operator(*(fold(x, in_dims[i], batched[i], info.batch_size)
                        if isinstance(x, torch.Tensor) and i in batched else x for i, x in enumerate(inputs)))
        is_list = isinstance(results, (tuple, list))
        unfolded = tuple(y if axis is None else y.unflatten(axis, (info.batch_size, y.size(axis) // info.batch_size))
                         for y, axis in zip(results if is_list else (results,), outputs))
        return (unfolded, tuple(outputs)) if is_list else (unfolded[0], outputs[0])

    torch.library.register_fake(f"slicesort::{name}", (lambda *lists: fake(*concatenated(lists))) if halves else fake)
    torch.library.register_vmap(f"slicesort::{name}", (lambda info, in_dims, *lists: batched_call(
        op, info, concatenated(in_dims), *concatenated(lists))) if halves else partial(batched_call, op))
    torch.library.register_autograd(
        f"slicesort::{name}", (lambda ctx, *dys: split_in_half(backward(ctx, *dys))) if halves else backward,
        setup_context=(lambda ctx, inputs, output: save(ctx, concatenated(inputs), output)) if halves else save)

    # Skips the registered gradient, which is Python that torch calls even if no input needs a gradient.
    def below_autograd(*inputs):
        with torch._C._AutoDispatchBelowAutograd():
            return op(*inputs)

    def forward_and_save(ctx, *inputs):
        output = below_autograd(*inputs)
        save(ctx, inputs, output)
        return output

    # torch.func needs the gradient as an autograd.Function with a separate `setup_context`. Unlike the registered
    # gradient, it raises an error in forward mode instead of losing the tangent. Eager calls have one without, which
    # torch applies in less than half of the time of the registered gradient.
    function = type(name, (torch.autograd.Function,), {
        "forward": staticmethod(lambda *inputs: op(*inputs)), "setup_context": staticmethod(save),
        "backward": staticmethod(backward), "vmap": staticmethod(lambda *arguments: batched_call(call, *arguments))})
    eager_function = type(name, (torch.autograd.Function,), {
        "forward": staticmethod(forward_and_save), "backward": staticmethod(backward)})

    def call(*inputs):
        if torch._C._are_functorch_transforms_active() or torch.autograd.forward_ad._current_level >= 0:
            return function.apply(*inputs)
        if torch.compiler.is_compiling():
            return op(*inputs)
        if torch.is_grad_enabled() and torch._C._any_requires_grad(*inputs):
            return eager_function.apply(*inputs)
        return below_autograd(*inputs)

    return call


def concatenated(lists):
    """Concatenates two lists, either of which may be None."""
    return [x for items in lists for x in (items or ())]


def split_in_half(items):
    items = list(items)
    return items[:len(items) // 2], items[len(items) // 2:]


def in_halves(op):
    """Wraps an operator of two lists as a function of all their tensors."""
    return lambda *tensors: op(*split_in_half(tensors))


def pass_none(backward):
    """Wraps `backward` to return no gradients if it is given none. torch calls it so if a function of the output returned
    None."""
    return lambda ctx, *gradients: (backward(ctx, *gradients) if any(dy is not None for dy in gradients)
                                    else (None,) * len(ctx.needs_input_grad))


def no_second_derivative(name):
    def backward(ctx, *gradients):
        raise RuntimeError(f"slicesort: {name} has no derivative of its own: it cannot be differentiated twice")
    return backward


def mark_saved_state(ctx, *state):
    """Marks outputs as state without a gradient, for which torch would otherwise fill tensors with zeros."""
    ctx.mark_non_differentiable(*state)
    ctx.set_materialize_grads(False)


def save_nothing(ctx, inputs, output):
    """Saves nothing: the operator has no backward pass."""


def fold(x, dim, axis, size):
    """Moves the mapped axis `dim` in front of axis `axis` and merges the two. None: all slices share x."""
    x = x.unsqueeze(0).expand(size, *x.shape) if dim is None else x.movedim(dim, 0)
    return x.movedim(0, axis).flatten(axis, axis + 1)


def run_per_slice(op, size, in_dims, inputs):
    """Calls the operator on each slice and stacks the results, for inputs that cannot be folded into the batch."""
    slices = [op(*(x if dim is None else x.select(dim, i) for x, dim in zip(inputs, in_dims))) for i in range(size)]
    if isinstance(slices[0], (tuple, list)):
        return tuple(torch.stack(results) for results in zip(*slices)), (0,) * len(slices[0])
    return torch.stack(slices), 0


def run_on_no_slices(op, in_dims, inputs):
    """Returns results without slices, of the shapes and dtypes that a slice of zeros has."""
    def zeros(x, dim):  # a sum of no slices has a gradient
        return x.sum(dim) if x.is_floating_point() else x.new_zeros(x.movedim(dim, 0).shape[1:])

    results = op(*(x if dim is None else zeros(x, dim) for x, dim in zip(inputs, in_dims)))
    if isinstance(results, (tuple, list)):
        return tuple(y.unsqueeze(0)[:0] for y in results), (0,) * len(results)
    return results.unsqueeze(0)[:0], 0


def require_text(name, value, hint=""):
    if not isinstance(value, str):
        shape = f" of shape {list(value.shape)}" if isinstance(value, torch.Tensor) else ""
        raise TypeError(f"{name} is a {type(value).__name__}{shape}, must be text{hint}")


def require_rank(x, name, rank, axes):
    torch._check(x.dim() == rank, lambda: f"{name} must be {axes}, has {x.dim()} axes")


def require_sequence(x, name="x"):
    require_rank(x, name, 3, "[batch, length, channels]")


def index_dtype(rows):
    """Returns the dtype of saved indices: 16 bits if they can index every row."""
    return torch.uint16 if rows <= 65536 else torch.int32


def accumulator_dtype(x):
    """Returns the dtype of the accumulator of an operator on `x`."""
    return torch.float64 if x.dtype == torch.float64 else torch.float32


def needs_gradient(ctx, index):
    """True if an optional input needs a gradient. torch omits arguments that have their default."""
    return index < len(ctx.needs_input_grad) and ctx.needs_input_grad[index]


def needs_saved_state(*tensors):
    """True if a backward pass may follow."""
    return torch.is_grad_enabled() and any(x.requires_grad for x in tensors)


def cast_to_autocast_dtype(*tensors):
    """Casts tensors to autocast's dtype, as autocast does for matrix products."""
    kind = tensors[0].device.type
    if not torch.is_autocast_enabled(kind):
        return tensors
    dtype = torch.get_autocast_dtype(kind)
    return tuple(x if x is None or x.dtype == torch.float64 else x.to(dtype) for x in tensors)


def cast_to_widest_dtype(*tensors):
    """Under autocast, casts tensors to the widest of their dtypes, as autocast does for stack and cat."""
    if not torch.is_autocast_enabled(tensors[0].device.type):
        return tensors
    dtype = tensors[0].dtype
    for x in tensors[1:]:
        dtype = torch.promote_types(dtype, x.dtype)
    return tuple(x.to(dtype) for x in tensors)
