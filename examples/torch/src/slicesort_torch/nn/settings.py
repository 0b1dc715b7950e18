# SPDX-License-Identifier: Apache-2.0
"""The settings of a model in the format that `slicesort_train` writes: `length=64 model=chord ..`."""
import re
from dataclasses import dataclass, fields

from .block import KINDS
from .conventions import (
    ACTIVATIONS,
    INITIALIZATIONS,
    Conventions,
    require_int,
    require_one_of,
    require_rate,
)
from .encoder import POSITIONS, SampleShape
from .pool import POOLINGS

# Settings of training and of the samples. No layer depends on them.
TRAINING_SETTINGS = frozenset(
    "batch steps rate warmup schedule beta1 beta2 epsilon weight-decay clip".split()
    + "micro-batch data-seed shortest training-samples validation dashes single-dashes".split()
)

# Sample shapes of the tasks. The flag --length overrides the length, except of FIXED_LENGTHS.
TASKS = {
    "adding": SampleShape(128, features=2, outputs=1),
    "order": SampleShape(128, vocabulary=6, outputs=4),
    "listops": SampleShape(1999, vocabulary=16, outputs=10),
    "noise": SampleShape(1000, vocabulary=256, outputs=2),
    "listops-tsv": SampleShape(2000, vocabulary=16, outputs=10),
    "imdb": SampleShape(1000, vocabulary=257, outputs=2),
    "aan": SampleShape(4000, vocabulary=258, outputs=2),
    "cifar10": SampleShape(1024, vocabulary=256, outputs=10),
    "pathfinder": SampleShape(1024, vocabulary=256, outputs=2),
    "mnist": SampleShape(784, features=1, outputs=10),  # with patches of one pixel
}
FIXED_LENGTHS = ("cifar10", "pathfinder")
MNIST_SIDE = 28  # pixels
MAX_PATCH = 2**20  # pixels of a side, as in `slicesort_train`

POSITIVE = ("length", "width", "layers", "hidden", "heads", "patch")
SEEDS = ("seed", "data-seed")  # have 64 bits
MAX_ANGLES = 2**28  # size limit of the table of sinusoidal positions, which is not in the checkpoint


def parse_number(text: str) -> float:
    """Parses a nonnegative decimal number in ASCII, at most 1e15, as `slicesort_train` does."""
    if not re.fullmatch(r"\+?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text):
        raise ValueError(text)
    if (value := float(text)) > 1e15:
        raise ValueError(text)
    return value


def parse_whole_number(text: str) -> int:
    """Parses a whole number; accepts 1e3."""
    value = parse_number(text)
    if not value.is_integer():
        raise ValueError(text)
    return int(value)


def parse_seed(text: str) -> int:
    """Parses a whole number below 2^64."""
    if not re.fullmatch("[0-9]{1,20}", text):
        return parse_whole_number(text)
    if (value := int(text)) >= 2**64:
        raise ValueError(text)
    return value


def parse_setting(name: str, value: str, kind: type):
    parse, noun = PARSERS.get(kind, (parse_whole_number, "whole number"))
    if name in SEEDS:
        parse, noun = parse_seed, "whole number below 2^64"
    try:
        return parse(value)
    except ValueError:
        raise ValueError(f"the setting {name} is {value!r}, which is no {noun}") from None


PARSERS = {str: (str, "word"), float: (parse_number, "number")}


@dataclass(frozen=True)
class Settings:
    """The settings that a model depends on, with the names and defaults of `slicesort_train`'s
    flags. 0 selects a default that depends on others: `inner` the width, `mixer_hidden` the value
    of `hidden`, `factors` ceil(log2 length), `reach` the published sizes of masks and topologies,
    `rank` the published number of projected rows or landmarks,
    `group` one group of all rows."""

    task: str = "adding"
    model: str = "chord"
    length: int | None = None  # the task's length
    width: int = 64
    layers: int = 2
    hidden: int | None = None  # twice the width
    head_hidden: int = 0
    positions: str = "learned"
    pool: str = "mean"
    mask_padding: int = 1
    initial: str = "xavier"
    activation: str = "gelu"
    norm_epsilon: float = 1e-6
    dropout: float = 0.0
    token_deviation: float = 1.0
    position_deviation: float = 0.02
    attention_dropout: float = 0.0
    block: str = "pre_norm"
    heads: int = 1
    inner: int = 0
    group: int = 2
    reach: int = 0
    rank: int = 0
    rounds: int = 0  # of models that are not in torch
    mixer_hidden: int = 0
    factors: int = 0
    input_bias: int = 0
    out_bias: int = 0
    seed: int = 1
    patch: int = 1  # side of the image patches that are rows of mnist

    def __post_init__(self) -> None:
        choices = {"task": tuple(TASKS), "block": KINDS, "positions": POSITIONS, "pool": POOLINGS}
        for name, words in {**choices, "initial": INITIALIZATIONS, "activation": ACTIVATIONS}.items():
            require_one_of(name, getattr(self, name), words)
        if self.hidden is None:
            object.__setattr__(self, "hidden", 2 * self.width)
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type in (int, int | None) and value is not None:
                require_int(field.name, value, 1 if field.name in POSITIVE else 0)
        if self.patch > MAX_PATCH:
            raise ValueError(f"patch is {self.patch}, must be at most 2^20")
        require_rate("attention_dropout", self.attention_dropout)
        self.rules  # checks the others
        if self.positions == "sinusoid" and self.shape.length * self.width > MAX_ANGLES:
            raise ValueError(
                f"length is {self.length} and width {self.width}: "
                "a table of positions has at most 2^28 numbers"
            )

    @classmethod
    def parse(cls, text: str) -> "Settings":
        """Parses the `name=value` words of a checkpoint's metadata. Raises a ValueError for an
        unknown setting, since the model might depend on it."""
        types = {field.name.replace("_", "-"): field.type for field in fields(cls)}
        values = {}
        for word in text.split():
            name, equals, value = word.partition("=")
            if name in TRAINING_SETTINGS and equals:
                if name != "schedule":
                    parse_setting(name, value, float)
                continue
            if not equals or name not in types:
                raise ValueError(f"the setting {word!r} is unknown")
            values[name.replace("-", "_")] = parse_setting(name, value, types[name])
        return cls(**values)

    @property
    def shape(self) -> SampleShape:
        task = TASKS[self.task]
        length = task.length if self.length is None or self.task in FIXED_LENGTHS else self.length
        rows = 2 * length + 1 if self.task == "aan" else length  # two papers and a separator
        if self.task != "mnist":
            return SampleShape(rows, task.features, task.vocabulary, task.outputs)
        if self.length is None:
            rows = max(1, MNIST_SIDE // self.patch) ** 2
        return SampleShape(rows, self.patch**2, task.vocabulary, task.outputs)

    @property
    def rules(self) -> Conventions:
        return Conventions(
            self.initial,
            self.activation,
            self.norm_epsilon,
            self.dropout,
            self.token_deviation,
            self.position_deviation,
        )
