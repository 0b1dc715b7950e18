# SPDX-License-Identifier: Apache-2.0
"""Times a training step of the models of the speed table in PyTorch, on the CPU:
torch_models.py MODEL LENGTH WIDTH HIDDEN LAYERS HEADS BATCH HEAD_HIDDEN MIXER_HIDDEN [THREADS]. Prints one JSON object."""
import json
import resource
import statistics
import sys
import time

import torch
from torch import nn


def mlp(width: int, hidden: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width, hidden), nn.GELU(approximate="tanh"), nn.Linear(hidden, width))


def sort(v: torch.Tensor) -> torch.Tensor:
    return torch.sort(v, dim=1, stable=True).values


def csp(v: torch.Tensor, group: int = 2) -> torch.Tensor:
    """Shifts channel c by (c + 1) ceil(N / C) rows, except channel 0, and sorts it within groups of rows into the order of
    channel 0."""
    rows, channels = v.shape[1:]
    shift = torch.arange(1, channels + 1) * -(-rows // channels)
    shift[0] = 0
    shifted = v.gather(1, ((torch.arange(rows)[:, None] - shift) % rows).expand_as(v))
    grouped_rows = rows // group * group
    parts = [shifted[:, :grouped_rows].unflatten(1, (-1, group))] + ([shifted[:, None, grouped_rows:]] if grouped_rows < rows else [])
    sorted_parts = [p.sort(dim=2, stable=True).values.gather(2, p[..., :1].argsort(dim=2, stable=True).argsort(dim=2).expand_as(p)) for p in parts]
    return torch.cat([p.flatten(1, 2) for p in sorted_parts], dim=1)


class Projected(nn.Module):
    def __init__(self, operator, width: int) -> None:
        super().__init__()
        self.operator = operator
        self.into, self.out = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)

    def forward(self, x: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
        return self.out(self.operator(self.into(x)))


class Softmax(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.into, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)

    def forward(self, x: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
        b, n, c = x.shape
        q, k, v = self.into(x).view(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        return self.out(nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, c))


class Chord(nn.Module):
    """Paramixer's chain: each factor adds rows i, i + 1, i + 2, i + 4, .. to row i, weighted by an MLP of the embedding."""
    def __init__(self, length: int, width: int, hidden: int) -> None:
        super().__init__()
        self.factors = (length - 1).bit_length()
        self.values = mlp(width, hidden)
        self.first = nn.Linear(width, self.factors * hidden)
        self.second = nn.ModuleList(nn.Linear(hidden, self.factors + 1) for _ in range(self.factors))

    def forward(self, x: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
        v = self.values(x)
        hidden = nn.functional.gelu(self.first(start), approximate="tanh").chunk(self.factors, dim=-1)
        for layer, inputs in zip(self.second, hidden):
            weights, mixed = layer(inputs), v
            for link in range(self.factors + 1):
                mixed = mixed + weights[..., link:link + 1] * torch.roll(v, -((1 << link) // 2), dims=1)
            v = mixed
        return v


class RowByRow(nn.Module):
    """The control experiment, which mixes no rows."""
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.mlp = mlp(width, hidden)

    def forward(self, x: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
        return self.mlp(x)


def mixer(model: str, length: int, width: int, heads: int, hidden: int) -> nn.Module:
    return {"sort-ascending": lambda: Projected(sort, width), "csp": lambda: Projected(csp, width), "chord": lambda: Chord(length, width, hidden),
            "softmax": lambda: Softmax(width, heads), "none": lambda: RowByRow(width, hidden)}[model]()


class Layer(nn.Module):
    def __init__(self, mixer: nn.Module, width: int, hidden: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width, eps=1e-6), nn.LayerNorm(width, eps=1e-6)
        self.mixer, self.mlp = mixer, mlp(width, hidden)

    def forward(self, x: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
        x = x + self.mixer(self.norm1(x), start)
        return x + self.mlp(self.norm2(x))


class Encoder(nn.Module):
    def __init__(self, model: str, length: int, width: int, hidden: int, layers: int, heads: int, head_hidden: int, mixer_hidden: int) -> None:
        super().__init__()
        self.table, self.cls = nn.Embedding(256, width), nn.Parameter(torch.zeros(width))
        self.register_buffer("positions", torch.randn(length + 1, width))  # constant, like sinusoidal positions
        self.layers = nn.ModuleList(Layer(mixer(model, length + 1, width, heads, mixer_hidden), width, hidden) for _ in range(layers))
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.head = nn.Sequential(nn.Linear(width, head_hidden), nn.ReLU(), nn.Linear(head_hidden, 2))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = start = torch.cat([self.cls.expand(len(tokens), 1, -1), self.table(tokens)], dim=1) + self.positions
        for layer in self.layers:
            x = layer(x, start)
        return self.head(self.norm(x)[:, 0])


def resident_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def main() -> None:
    length, width, hidden, layers, heads, batch, head_hidden, mixer_hidden, *threads = map(int, sys.argv[2:])
    if threads:
        torch.set_num_threads(threads[0])
    torch.manual_seed(1)
    before = resident_megabytes()
    model = Encoder(sys.argv[1], length, width, hidden, layers, heads, head_hidden, mixer_hidden)
    update = torch.optim.Adam(model.parameters())
    tokens, labels = torch.randint(1, 256, (batch, length)), torch.randint(0, 2, (batch,))
    seconds = []
    for _ in range(4):
        start = time.perf_counter()
        update.zero_grad()
        nn.functional.cross_entropy(model(tokens), labels).backward()
        update.step()
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"tokens_per_second": batch * length / statistics.median(seconds[1:]), "megabytes": resident_megabytes() - before,
                      "parameters": sum(p.numel() for p in model.parameters()), "torch": torch.__version__}))


if __name__ == "__main__":
    main()
