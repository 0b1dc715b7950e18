# SPDX-License-Identifier: Apache-2.0
"""A training step of the models of the table of speed in PyTorch, on the CPU:
torch_models.py sort|softmax|none LENGTH WIDTH HIDDEN LAYERS HEADS BATCH HEAD_HIDDEN MIXER_HIDDEN [THREADS]. Prints one JSON object."""
import json
import resource
import statistics
import sys
import time

import torch
from torch import nn


class Mixer(nn.Module):
    def __init__(self, kind: str, width: int, heads: int) -> None:
        super().__init__()
        self.kind, self.heads = kind, heads
        self.into = nn.Linear(width, 3 * width if kind == "softmax" else width, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        v = self.into(x)
        if self.kind == "sort":
            v = torch.sort(v, dim=1, stable=True).values
        elif self.kind == "softmax":
            b, n, c = v.shape
            q, k, v = v.view(b, n, 3, self.heads, c // 3 // self.heads).permute(2, 0, 3, 1, 4)
            v = nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, c // 3)
        return self.out(v)


class Layer(nn.Module):
    def __init__(self, kind: str, width: int, hidden: int, heads: int, mixer_hidden: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width, eps=1e-6), nn.LayerNorm(width, eps=1e-6)
        # The control's mixer is an MLP of its own, as ours.
        self.mixer = Mixer(kind, width, heads) if kind != "none" else nn.Sequential(
            nn.Linear(width, mixer_hidden), nn.GELU(approximate="tanh"), nn.Linear(mixer_hidden, width))
        self.mlp = nn.Sequential(nn.Linear(width, hidden), nn.GELU(approximate="tanh"), nn.Linear(hidden, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.mixer(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Encoder(nn.Module):
    def __init__(self, kind: str, length: int, width: int, hidden: int, layers: int, heads: int, head_hidden: int, mixer_hidden: int) -> None:
        super().__init__()
        self.table, self.cls = nn.Embedding(256, width), nn.Parameter(torch.zeros(width))
        self.register_buffer("positions", torch.randn(length + 1, width))  # constant, as sines are
        self.layers = nn.Sequential(*(Layer(kind, width, hidden, heads, mixer_hidden) for _ in range(layers)))
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.head = nn.Sequential(nn.Linear(width, head_hidden), nn.ReLU(), nn.Linear(head_hidden, 2))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = torch.cat([self.cls.expand(len(tokens), 1, -1), self.table(tokens)], dim=1) + self.positions
        return self.head(self.norm(self.layers(x))[:, 0])


def megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def main() -> None:
    kind = sys.argv[1]
    length, width, hidden, layers, heads, batch, head_hidden, mixer_hidden, *threads = map(int, sys.argv[2:])
    if threads:
        torch.set_num_threads(threads[0])
    torch.manual_seed(1)
    before = megabytes()
    model = Encoder(kind, length, width, hidden, layers, heads, head_hidden, mixer_hidden)
    update = torch.optim.Adam(model.parameters())
    tokens, labels = torch.randint(1, 256, (batch, length)), torch.randint(0, 2, (batch,))
    seconds = []
    for _ in range(4):
        start = time.perf_counter()
        update.zero_grad()
        nn.functional.cross_entropy(model(tokens), labels).backward()
        update.step()
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"tokens_per_second": batch * length / statistics.median(seconds[1:]), "megabytes": megabytes() - before,
                      "torch": torch.__version__}))


if __name__ == "__main__":
    main()
