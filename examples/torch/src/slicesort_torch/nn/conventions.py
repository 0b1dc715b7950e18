# SPDX-License-Identifier: Apache-2.0
"""What all layers of a model have in common, and where in the model a layer stands."""
import math
from dataclasses import dataclass

from torch import nn

from ..library import ops

INITIAL = ("xavier", "torch", "normal")
ACTIVATIONS = ("relu", "gelu", "gelu-tanh")


def one_of(name: str, value: str, words: tuple[str, ...]) -> str:
    """The value; a ValueError if it is none of the words."""
    if value not in words:
        raise ValueError(f"{name} is {value!r}, must be one of {', '.join(words)}")
    return value


def policy(kind: str, text: str, extent: int = 0) -> int:
    """Checks a policy before there is a tensor, with the operators' parser
    (`bindings::check_policy`). Raises a ValueError. Returns rows of a group (minus the number of
    groups) or links of a topology."""
    if not isinstance(text, str):
        raise ValueError(f"{kind} is a {type(text).__name__}, must be text")
    try:
        return ops.check_policy(kind, text, extent)
    except RuntimeError as error:
        raise ValueError(str(error)) from None


def whole(name: str, value: int, least: int = 1) -> int:
    """The value; a ValueError if it is no integer of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name} is {value!r}, must be an integer of at least {least}")
    return value


def rate(name: str, value: float) -> float:
    if not 0 <= value < 1:
        raise ValueError(f"{name} is {value!r}, must be at least 0 and below 1")
    return value


@dataclass(frozen=True)
class Conventions:
    """Papers and their code differ in these, and a model has one of each.

    weights: how weights of products, [out, in], are drawn: `xavier`, U(+-sqrt(6 / (in + out)))
        (the Long Range Arena), `torch`, U(+-1 / sqrt(in)) for weights and biases alike
        (Paramixer), or `normal`, with a deviation of 0.02. But for `torch`, biases begin as 0.
    activation: of hidden layers: `relu`, `gelu`, x Phi(x) (Paramixer), or `gelu-tanh`, its form
        with tanh (JAX's default: the Long Range Arena).
    norm_epsilon: of layer norms: 1e-6 in flax, 1e-5 in torch.
    dropout: the rate of all dropouts but that of attention's weights.
    token_deviation, position_deviation: of embeddings, whose first values are normal.
    """

    weights: str = "xavier"
    activation: str = "gelu-tanh"
    norm_epsilon: float = 1e-6
    dropout: float = 0.0
    token_deviation: float = 1.0
    position_deviation: float = 0.02

    def __post_init__(self) -> None:
        one_of("weights", self.weights, INITIAL)
        one_of("activation", self.activation, ACTIVATIONS)
        rate("dropout", self.dropout)
        for name in ("norm_epsilon", "token_deviation", "position_deviation"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} is {value!r}, must be finite and not negative")

    def linear(self, inputs: int, outputs: int, bias: bool = True) -> nn.Linear:
        layer = nn.Linear(inputs, outputs, bias=bias)  # is drawn as `torch` says
        if self.weights == "xavier":
            nn.init.xavier_uniform_(layer.weight)
        elif self.weights == "normal":
            nn.init.normal_(layer.weight, std=0.02)
        if bias and self.weights != "torch":
            nn.init.zeros_(layer.bias)
        return layer

    def norm(self, width: int) -> nn.LayerNorm:
        return nn.LayerNorm(width, eps=self.norm_epsilon)

    def nonlinearity(self) -> nn.Module:
        if self.activation == "relu":
            return nn.ReLU()
        return nn.GELU(approximate="tanh" if self.activation == "gelu-tanh" else "none")


@dataclass(frozen=True)
class Site:
    """The place of a mixer in an encoder. Some orders and shifts depend on the layer, and
    Paramixer's number of factors on the rows, of which a class token is one."""

    layer: int
    layers: int
    rows: int
    width: int
    rules: Conventions
