# SPDX-License-Identifier: Apache-2.0
"""What torch is told of every operator in the same way: the shapes of its outputs, its gradient, and how it is mapped
over a new axis."""
from functools import partial

import torch

from ..library import ops


def register(name, *, fake, batched, outputs=(0,), folds=None, save=None, backward=None, halves=False):
    """Registers operator `name`, and returns it as a function of positional arguments, all of them given.

    `fake(*inputs)` makes outputs without data. `save(ctx, inputs, output)` and `backward(ctx, *gradients)` are its
    gradient. `batched` names the axis of the batch for each tensor among the inputs, by its place; `outputs` for each
    output (None: not mapped). `torch.vmap` then makes the mapped axis a part of the batch. Where another tensor is
    mapped too, or `folds(*inputs)` says no, it runs one slice after the other. `halves`: the operator takes two lists
    of tensors of one length; the functions here and the one returned take them side by side, for torch.func maps and
    differentiates no lists.
    """
    op = in_halves(getattr(ops, name)) if halves else getattr(ops, name)
    save, backward = save or nothing, backward or twice(name)

    def mapped(run, info, in_dims, *inputs):
        places = [i for i, dim in enumerate(in_dims) if dim is not None]
        if any(i not in batched for i in places) or not (folds is None or folds(*inputs)):
            return one_by_one(run, info.batch_size, in_dims, inputs)
        results = run(*(fold(x, in_dims[i], batched[i], info.batch_size)
                        if isinstance(x, torch.Tensor) and i in batched else x for i, x in enumerate(inputs)))
        several = isinstance(results, (tuple, list))
        unfolded = tuple(y if axis is None else y.unflatten(axis, (info.batch_size, y.size(axis) // info.batch_size))
                         for y, axis in zip(results if several else (results,), outputs))
        return (unfolded, tuple(outputs)) if several else (unfolded[0], outputs[0])

    torch.library.register_fake(f"slicesort::{name}", (lambda *lists: fake(*joined(lists))) if halves else fake)
    torch.library.register_vmap(f"slicesort::{name}", (lambda info, in_dims, *lists: mapped(
        op, info, joined(in_dims), *joined(lists))) if halves else partial(mapped, op))
    torch.library.register_autograd(
        f"slicesort::{name}", (lambda ctx, *dys: halved(backward(ctx, *dys))) if halves else backward,
        setup_context=(lambda ctx, inputs, output: save(ctx, joined(inputs), output)) if halves else save)

    # The transforms of torch.func need the same gradient in another form. It has no forward mode, and says so, where
    # the registered one would lose the tangent in silence.
    function = type(name, (torch.autograd.Function,), {
        "forward": staticmethod(lambda *inputs: op(*inputs)), "setup_context": staticmethod(save),
        "backward": staticmethod(backward), "vmap": staticmethod(lambda *rule: mapped(call, *rule))})

    def call(*inputs):
        if torch._C._are_functorch_transforms_active() or torch.autograd.forward_ad._current_level >= 0:
            return function.apply(*inputs)
        return op(*inputs)

    return call


def joined(lists):
    """Two lists as one."""
    return [x for members in lists for x in (members or ())]


def halved(row):
    row = list(row)
    return row[:len(row) // 2], row[len(row) // 2:]


def in_halves(op):
    """An operator of two lists as one of all their tensors."""
    return lambda *row: op(*halved(row))


def twice(name):
    def backward(ctx, *gradients):
        raise RuntimeError(f"slicesort: {name} has no derivative of its own: it cannot be differentiated twice")
    return backward


def nothing(ctx, inputs, output):
    """Saves nothing for a backward pass that there is not."""


def fold(x, dim, axis, size):
    """`x`, mapped along `dim` (or shared by all, None), with the mapped axis as the outer part of axis `axis`."""
    x = x.unsqueeze(0).expand(size, *x.shape) if dim is None else x.movedim(dim, 0)
    return x.movedim(0, axis).flatten(axis, axis + 1)


def one_by_one(op, size, in_dims, inputs):
    """The operator on every slice, stacked: for what a larger batch cannot express, such as weights of each slice."""
    slices = [op(*(x if dim is None else x.select(dim, i) for x, dim in zip(inputs, in_dims))) for i in range(size)]
    if isinstance(slices[0], (tuple, list)):
        return tuple(torch.stack(same) for same in zip(*slices)), (0,) * len(slices[0])
    return torch.stack(slices), 0


def require_text(name, value, hint=""):
    if not isinstance(value, str):
        shape = f" of shape {list(value.shape)}" if isinstance(value, torch.Tensor) else ""
        raise TypeError(f"{name} is a {type(value).__name__}{shape}, must be text{hint}")


def require_rank(x, name, rank, axes):
    torch._check(x.dim() == rank, lambda: f"{name} must be {axes}, has {x.dim()} axes")


def require_sequence(x, name="x"):
    require_rank(x, name, 3, "[batch, length, channels]")


def index_dtype(rows):
    """The dtype of saved rows: 16 bits while they hold every row."""
    return torch.uint16 if rows <= 65536 else torch.int32


def accumulator_dtype(x):
    """The dtype that sums over `x` are formed in."""
    return torch.float64 if x.dtype == torch.float64 else torch.float32


def needs_gradient(ctx, place):
    """Whether an optional input needs a gradient; torch leaves out arguments that have their default."""
    return place < len(ctx.needs_input_grad) and ctx.needs_input_grad[place]


def saves(*tensors):
    """Whether a backward pass may follow, for which state is saved."""
    return torch.is_grad_enabled() and any(x.requires_grad for x in tensors)


def lower_precision(*tensors):
    """Under autocast, tensors of its dtype: the policy of matrix products."""
    kind = tensors[0].device.type
    if not torch.is_autocast_enabled(kind):
        return tensors
    dtype = torch.get_autocast_dtype(kind)
    return tuple(x if x is None or x.dtype == torch.float64 else x.to(dtype) for x in tensors)


def widest_precision(*tensors):
    """Under autocast, tensors of the widest of their dtypes: the policy of what takes several tensors."""
    if not torch.is_autocast_enabled(tensors[0].device.type):
        return tensors
    dtype = tensors[0].dtype
    for x in tensors[1:]:
        dtype = torch.promote_types(dtype, x.dtype)
    return tuple(x.to(dtype) for x in tensors)
