# SPDX-License-Identifier: Apache-2.0
"""Learns a linear scorer from ranks alone, by gradients of soft ranks, and by the identity in place of the gradient of
hard ranks, which is 0. Prints Spearman's correlation on held-out lists. python3 rank_regression.py [STEPS]"""
import sys

import torch

from slicesort_torch.functional import soft_rank

FEATURES, LISTS, LENGTH, RATE = 32, 32, 64, 0.01


def hard_ranks(scores):
    return scores.argsort(-1).argsort(-1).to(scores.dtype) + 1


def straight_through(scores):
    """Hard ranks with the gradient of the scores."""
    return scores + (hard_ranks(scores) - scores).detach()


def normalized(scores):
    return (scores - scores.mean(-1, keepdim=True)) / scores.std(-1, keepdim=True)


MODELS = {
    "hard ranks, identity as gradient": straight_through,
    "scores, without ranks": lambda s: (LENGTH + 1) / 2 + normalized(s) * LENGTH / 12 ** 0.5,
    **{f"soft ranks, {r}, strength {e:g}": lambda s, r=r, e=e: soft_rank(normalized(s), r, e)
       for r in ("l2", "kl") for e in (0.01, 0.1, 1.0)},
}


def lists(generator, weights):
    """Features, and ranks of a noisy linear score."""
    x = torch.randn(LISTS, LENGTH, FEATURES, generator=generator)
    scores = x @ weights
    return x, hard_ranks(scores + 3 * torch.randn(scores.shape, generator=generator))


def spearman(ranks, targets):
    center = (LENGTH + 1) / 2
    return float(((ranks - center) * (targets - center)).sum(-1).mean() / ((targets - center) ** 2).sum(-1).mean())


def train(model, seed, steps):
    generator = torch.Generator().manual_seed(seed)
    true_weights = torch.randn(FEATURES, generator=generator)
    weights = torch.zeros(FEATURES) + 1e-3 * torch.randn(FEATURES, generator=generator)
    weights.requires_grad_()
    optimizer = torch.optim.Adam([weights], RATE)
    for _ in range(steps):
        x, targets = lists(generator, true_weights)
        loss = (model(x @ weights) - targets).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    x, targets = lists(generator, true_weights)
    return spearman(hard_ranks(x @ weights.detach()), targets)


def main():
    torch.set_num_threads(1)
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    for name, model in MODELS.items():
        results = torch.tensor([train(model, seed, steps) for seed in range(5)])
        print(f"{name:36} {results.mean():.4f} +- {results.std():.4f}", flush=True)


if __name__ == "__main__":
    main()
