# SPDX-License-Identifier: Apache-2.0
"""The shapes, element types and input that a call asks for: --channels, --heads, --lengths, --batch, --dtypes, --input."""
import argparse
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TEXT = ROOT / "bench/data/corpus/alice.txt"
BATCH, ROUNDS = 8, 6
DTYPES = {"f32": "float", "f64": "double", "f16": "slicesort::float16", "bf16": "slicesort::bfloat16"}
INPUTS = ("text", "normal", "relu", "uniform", "few_unique", "sorted", "reversed", "constant")
DEFAULT_LENGTHS = [2048]
ALL_LENGTHS = [1024, 2048, 3072, 4096]
DEFAULT_CHANNELS = [256]
MODES = ("arena", "filter", "list")  # which take shapes


class Shapes:
    """What was asked for; where nothing was, the papers' text task."""

    def __init__(self, o: argparse.Namespace) -> None:
        self.asked = o
        self.lengths: list[int] = o.lengths or ((ALL_LENGTHS if o.all else DEFAULT_LENGTHS) if o.mode == "arena" else [])
        self.channels: list[int] = o.channels or DEFAULT_CHANNELS
        self.dtypes: list[str] = o.dtypes or []
        self.batch: int = o.batch
        self.input: str = o.input
        self.text_bytes: int = o.text.stat().st_size

    def heads_of(self, channels: int) -> list[int]:
        """Of attention with that many channels."""
        if self.asked.heads:
            return [heads for heads in self.asked.heads if channels % heads == 0]
        return [next(heads for heads in (4, 2, 1) if channels % heads == 0)]

    def input_of(self, length: int) -> str:
        """A text that is too short is repeated, and has another name."""
        return "repeated_text" if self.input == "text" and length > self.text_bytes else self.input

    def refusal(self) -> str:
        """Why this cannot be; empty if it can."""
        o = self.asked
        for option in ("channels", "heads", "dtypes", "input", "lengths"):
            given = getattr(o, option)
            if given and (option, given) != ("input", "text") and o.mode not in MODES:
                return f"--{option} is for --arena, --filter and --list; --{o.mode} has shapes of its own"
        listed = ",".join(map(str, self.channels))
        for channels in self.channels:
            if not self.heads_of(channels):
                return f"attention splits channels among its heads: none of --heads {','.join(map(str, o.heads))} divides {channels} channels"
        for heads in o.heads or []:
            if all(channels % heads for channels in self.channels):
                return f"attention splits channels among its heads: --heads {heads} divides none of the channels {listed}"
        return ""

    def flags(self) -> list[str]:
        """Of a bench program: only what was asked for, so that those of earlier commits understand the rest."""
        o, said = self.asked, ["--batch", str(self.batch)]
        heads = sorted({heads for channels in self.channels for heads in self.heads_of(channels)})
        for option, values in (("lengths", self.lengths), ("channels", o.channels), ("heads", heads if heads != [4] else None),
                               ("dtypes", o.dtypes)):
            if values:
                said += [f"--{option}", ",".join(map(str, values))]
        return said + (["--input", self.input] if self.input != "text" else [])

    def key(self) -> dict:
        """What results depend on."""
        return {"lengths": self.lengths, "channels": self.channels, "heads": self.asked.heads, "dtypes": self.dtypes, "batch": self.batch,
                "input": self.input, "all": self.asked.all, "only": self.asked.only}

    def built_dtypes(self) -> list[str]:
        """The element types that the host's program is built for."""
        o = self.asked
        short = ["f32"] if o.mode == "arena" and not o.all else ["f32", "bf16"] if o.mode in ("arena", "smoke") else list(DTYPES)
        return self.dtypes or short

    def suffix(self) -> str:
        """Follows a mode in the names of its results: the settings that are not the usual ones, so that runs of other settings
        have other names."""
        o = self.asked
        said = [flag for flag in ("all", "peers", "only") if getattr(o, flag)]
        said += ["with", *(path.stem for path in o.own)] if o.own else []
        said += [letter + ".".join(map(str, given)) for letter, given in (("N", o.lengths), ("C", o.channels), ("H", o.heads), ("", o.dtypes)) if given]
        for letter, value, usual in (("B", o.batch, BATCH), ("R", o.rounds, ROUNDS), ("", o.input, INPUTS[0]), ("", o.text, TEXT)):
            said += [letter + (value.stem if isinstance(value, Path) else str(value))] if value != usual else []
        said += ["against", o.against] if o.against else []
        return re.sub(r"[^\w.-]", "_", "".join(f"-{word}" for word in said))
