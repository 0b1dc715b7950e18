# SPDX-License-Identifier: Apache-2.0
"""Settings that all layers of a model share, the scope of a layer, and checks of arguments."""
import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..library import ops

INITIALIZATIONS = ("xavier", "torch", "normal")
ACTIVATIONS = ("relu", "gelu", "gelu-tanh")


def require_one_of(name: str, value: str, words: tuple[str, ...]) -> str:
    """Returns the value. Raises a ValueError if it is not one of `words`."""
    if value not in words:
        raise ValueError(f"{name} is {value!r}, must be one of {', '.join(words)}")
    return value


def require_policy(kind: str, text: str, extent: int = 0) -> int:
    """Validates a policy with the operators' parser (`bindings::check_policy`). Raises a
    ValueError. Returns the rows per group (negative: the number of groups), or the links of
    a topology."""
    if not isinstance(text, str):
        raise ValueError(f"{kind} is a {type(text).__name__}, must be text")
    try:
        return ops.check_policy(kind, text, extent)
    except RuntimeError as error:
        raise ValueError(str(error)) from None


def require_int(name: str, value: int, minimum: int = 1) -> int:
    """Returns the value. Raises a ValueError if it is not an integer of at least `minimum`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
        raise ValueError(f"{name} is {value!r}, must be an integer of at least {minimum}")
    return value


def require_rows(rows: int, length: int) -> int:
    """Returns the rows of an input. Raises a ValueError if they are more than `length`."""
    if rows > length:
        raise ValueError(f"x has {rows} rows, must have at most {length} (length)")
    return rows


def require_rate(name: str, value: float) -> float:
    if not 0 <= value < 1:
        raise ValueError(f"{name} is {value!r}, must be at least 0 and below 1")
    return value


@dataclass(frozen=True)
class Conventions:
    """Settings of all layers of a model, in which papers and their code differ.

    weights: initialization of weights, [out, in]: `xavier`, U(+-sqrt(6 / (in + out))) (the Long
        Range Arena), `torch`, U(+-1 / sqrt(in)) for weights and biases (Paramixer), or `normal`
        with a standard deviation of 0.02. Biases are 0, except with `torch`.
    activation: the activation of hidden layers: `relu`, `gelu`, x Phi(x) (Paramixer), or `gelu-tanh`, its tanh
        approximation (JAX's default: the Long Range Arena).
    norm_epsilon: the epsilon of layer norms: 1e-6 in flax, 1e-5 in torch.
    dropout: the rate of every dropout except that of attention weights.
    token_deviation, position_deviation: standard deviation of initial embeddings.
    """

    weights: str = "xavier"
    activation: str = "gelu-tanh"
    norm_epsilon: float = 1e-6
    dropout: float = 0.0
    token_deviation: float = 1.0
    position_deviation: float = 0.02

    def __post_init__(self) -> None:
        require_one_of("weights", self.weights, INITIALIZATIONS)
        require_one_of("activation", self.activation, ACTIVATIONS)
        require_rate("dropout", self.dropout)
        for name in ("norm_epsilon", "token_deviation", "position_deviation"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} is {value!r}, must be finite and not negative")

    def linear(self, inputs: int, outputs: int, bias: bool = True) -> nn.Linear:
        layer = nn.Linear(inputs, outputs, bias=bias)  # initializes as `torch`
        self.initialize(layer.weight, inputs, outputs)
        if bias and self.weights != "torch":
            nn.init.zeros_(layer.bias)
        return layer

    def parameter(self, *shape: int, inputs: int, outputs: int) -> nn.Parameter:
        """Returns weights between so many inputs and outputs."""
        return nn.Parameter(self.initialize(torch.empty(shape), inputs, outputs))

    def initialize(self, weight: Tensor, inputs: int, outputs: int) -> Tensor:
        if self.weights == "normal":
            return nn.init.normal_(weight, std=0.02)
        bound = math.sqrt(6 / (inputs + outputs) if self.weights == "xavier" else 1 / inputs)
        return nn.init.uniform_(weight, -bound, bound)

    def norm(self, width: int) -> nn.LayerNorm:
        return nn.LayerNorm(width, eps=self.norm_epsilon)

    def nonlinearity(self) -> nn.Module:
        if self.activation == "relu":
            return nn.ReLU()
        return nn.GELU(approximate="tanh" if self.activation == "gelu-tanh" else "none")


@dataclass(frozen=True)
class ParameterScope:
    """The position and sizes of a mixer in an encoder. Some orders and shifts depend on the layer.
    Paramixer's number of factors depends on the rows, which include a class token."""

    layer: int
    layers: int
    rows: int
    width: int
    rules: Conventions
