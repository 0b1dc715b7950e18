# SPDX-License-Identifier: Apache-2.0
"""Softmax attention over a sequence that is split between two processes (gloo, on the CPU). As in ring attention, each
process attends to the keys of the processes in turn, and `merge_attention` merges the results. No process holds
all keys at once."""
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from slicesort_torch.functional import merge_attention, softmax_attention, softmax_attention_with_state

PROCESSES, BATCH, HEADS, ROWS, CHANNELS = 2, 2, 3, 64, 8


def broadcast(tensor, owner):
    """Returns the owner's tensor on every process."""
    tensor = tensor.contiguous() if dist.get_rank() == owner else torch.empty(tensor.shape, dtype=tensor.dtype)
    dist.broadcast(tensor, owner)
    return tensor


class RingAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v):
        parts = [softmax_attention_with_state(q, broadcast(k, owner), broadcast(v, owner))
                 for owner in range(PROCESSES)]
        y, state = merge_attention(*zip(*parts))
        ctx.save_for_backward(q, k, v, y, state)
        return y

    @staticmethod
    def backward(ctx, dy):
        q, k, v, y, state = ctx.saved_tensors
        dq, dk_and_dv = torch.zeros_like(q), None
        for owner in range(PROCESSES):
            # With the merged output and state, backward over some of the keys computes its share of the gradient.
            dq_part, dk, dv, _ = torch.ops.slicesort.softmax_attention_backward(
                dy, q, broadcast(k, owner), broadcast(v, owner), None, y, state, "full", None, None, None, 0.0, 0,
                False)
            dq += dq_part
            for gradient in (dk, dv):
                dist.reduce(gradient, owner)
            if owner == dist.get_rank():
                dk_and_dv = dk, dv
        return dq, *dk_and_dv


def work(rank):
    os.environ.update(MASTER_ADDR="localhost", MASTER_PORT=os.environ.get("MASTER_PORT", "29512"))
    dist.init_process_group("gloo", rank=rank, world_size=PROCESSES)
    torch.manual_seed(0)
    whole = [torch.randn(BATCH, HEADS, ROWS, CHANNELS, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    dy = torch.randn(BATCH, HEADS, ROWS, CHANNELS, dtype=torch.float64)
    local = [x.detach().chunk(PROCESSES, dim=2)[rank].contiguous().requires_grad_() for x in whole]
    y, local_y = softmax_attention(*whole), RingAttention.apply(*local)
    y.backward(dy)
    local_y.backward(dy.chunk(PROCESSES, dim=2)[rank].contiguous())
    pairs = [(local_y, y), *((a.grad, b.grad) for a, b in zip(local, whole))]
    error = max((a - b.chunk(PROCESSES, dim=2)[rank]).abs().max().item() for a, b in pairs)
    assert error < 1e-13, f"results differ by {error}"
    if rank == 0:
        print(f"two processes: output and gradients of one, to {error:.1e}")
    dist.barrier()  # torch 2.15 may abort if one process exits before the other
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, nprocs=PROCESSES)
