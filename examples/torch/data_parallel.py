# SPDX-License-Identifier: Apache-2.0
"""Trains a Sliceformer on two processes with DistributedDataParallel (gloo, on the CPU). Each process has half of the
batch; the gradients equal those of one process with the whole batch."""
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from slicesort_torch.nn import SliceformerBlock
from torch.nn.parallel import DistributedDataParallel

PROCESSES = 2


def model_and_batch():
    torch.manual_seed(0)
    model = torch.nn.Sequential(SliceformerBlock(32), SliceformerBlock(32, order="descending"), torch.nn.Linear(32, 5))
    return model.double(), torch.randn(8, 20, 32, dtype=torch.float64)


def gradients(model, x):
    model(x).square().mean().backward()
    return [p.grad for p in model.parameters()]


def work(rank):
    os.environ.update(MASTER_ADDR="localhost", MASTER_PORT=os.environ.get("MASTER_PORT", "29511"))
    dist.init_process_group("gloo", rank=rank, world_size=PROCESSES)
    model, batch = model_and_batch()
    expected = gradients(model_and_batch()[0], batch)
    actual = gradients(DistributedDataParallel(model), batch.chunk(PROCESSES)[rank])
    error = max((a - b).abs().max().item() for a, b in zip(actual, expected))
    assert error < 1e-14, f"gradients differ by {error}"  # the batch is summed in a different order
    if rank == 0:
        print(f"two processes: the gradients of one, to {error:.1e}")
    dist.barrier()  # torch 2.15 may abort if one process exits before the other
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, nprocs=PROCESSES)
