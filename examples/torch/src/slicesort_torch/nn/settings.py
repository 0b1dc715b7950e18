# SPDX-License-Identifier: Apache-2.0
"""The settings of a model as `slicesort_train` writes them: `length=64 model=chord ..`."""
import re
from dataclasses import dataclass, fields

from .block import KINDS
from .conventions import ACTIVATIONS, INITIAL, Conventions, one_of, rate, whole
from .encoder import POSITIONS, SampleShape
from .pool import POOLINGS

# Of training and of the samples: no layer depends on them.
OF_TRAINING = frozenset(
    "batch steps rate warmup schedule beta1 beta2 epsilon weight-decay clip".split()
    + "data-seed shortest training-samples".split()
)

# Rows of a sample unless --length says otherwise, and what else its task says of a model.
TASKS = {
    "adding": SampleShape(128, features=2, outputs=1),
    "order": SampleShape(128, vocabulary=6, outputs=4),
    "listops": SampleShape(1999, vocabulary=16, outputs=10),
    "noise": SampleShape(1000, vocabulary=256, outputs=2),
    "listops-tsv": SampleShape(2000, vocabulary=16, outputs=10),
    "imdb": SampleShape(1000, vocabulary=257, outputs=2),
    "aan": SampleShape(4000, vocabulary=258, outputs=2),
    "cifar10": SampleShape(1024, vocabulary=256, outputs=10),
}


POSITIVE = ("length", "width", "layers", "hidden", "heads")
MOST_ANGLES = 2**28  # of a table of positions that no tensor of a checkpoint bounds


def number(text: str) -> float:
    """A decimal number in ASCII, not negative and at most 1e15, as the program takes it."""
    if not re.fullmatch(r"\+?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text):
        raise ValueError(text)
    if (value := float(text)) > 1e15:
        raise ValueError(text)
    return value


def whole_number(text: str) -> int:
    """Also 1e3, as the program takes it."""
    value = number(text)
    if not value.is_integer():
        raise ValueError(text)
    return int(value)


def read_as(name: str, value: str, kind: type):
    read, called = READERS.get(kind, (whole_number, "whole number"))
    try:
        return read(value)
    except ValueError:
        raise ValueError(f"the setting {name} is {value!r}, which is no {called}") from None


READERS = {str: (str, "word"), float: (number, "number")}


@dataclass(frozen=True)
class Settings:
    """What a model depends on, by the names of the program's flags, with its defaults. 0 stands for
    what a flag's default depends on: `inner` for the width, `mixer_hidden` for `hidden`, `factors`
    for ceil(log2 length), `reach` for the published sizes of masks and topologies, `group` for one
    group of all rows."""

    task: str = "adding"
    model: str = "chord"
    length: int | None = None  # that of the task
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
    mixer_hidden: int = 0
    factors: int = 0
    input_bias: int = 0
    out_bias: int = 0
    seed: int = 1

    def __post_init__(self) -> None:
        words_of = {"task": tuple(TASKS), "block": KINDS, "positions": POSITIONS, "pool": POOLINGS}
        for name, words in {**words_of, "initial": INITIAL, "activation": ACTIVATIONS}.items():
            one_of(name, getattr(self, name), words)
        if self.hidden is None:
            object.__setattr__(self, "hidden", 2 * self.width)
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type in (int, int | None) and value is not None:
                whole(field.name, value, 1 if field.name in POSITIVE else 0)
        rate("attention_dropout", self.attention_dropout)
        self.rules  # checks the others
        if self.positions == "sinusoid" and self.shape.length * self.width > MOST_ANGLES:
            raise ValueError(
                f"length is {self.length} and width {self.width}: "
                "a table of positions has at most 2^28 numbers"
            )

    @classmethod
    def parse(cls, text: str) -> "Settings":
        """From `name=value` words, as a checkpoint's metadata have them. A ValueError names a
        setting that is unknown: the model might depend on it."""
        types = {field.name.replace("_", "-"): field.type for field in fields(cls)}
        values = {}
        for word in text.split():
            name, equals, value = word.partition("=")
            if name in OF_TRAINING and equals:
                if name != "schedule":
                    read_as(name, value, float)
                continue
            if not equals or name not in types:
                raise ValueError(f"the setting {word!r} is unknown")
            values[name.replace("-", "_")] = read_as(name, value, types[name])
        return cls(**values)

    @property
    def shape(self) -> SampleShape:
        of = TASKS[self.task]
        length = of.length if self.length is None or self.task == "cifar10" else self.length
        rows = 2 * length + 1 if self.task == "aan" else length  # two papers, and what parts them
        return SampleShape(rows, of.features, of.vocabulary, of.outputs)

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
