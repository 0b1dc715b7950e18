# SPDX-License-Identifier: Apache-2.0
"""Shapes, element types and input of one bench/run call: --channels, --heads, --lengths, --batch, --dtypes, --input."""
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
MODES = ("arena", "filter", "list")  # modes with shapes


class Shapes:
    """Shapes from the options; the defaults are the papers' text task."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.lengths: list[int] = options.lengths or ((ALL_LENGTHS if options.all else DEFAULT_LENGTHS) if options.mode == "arena" else [])
        self.channels: list[int] = options.channels or DEFAULT_CHANNELS
        self.dtypes: list[str] = options.dtypes or []
        self.batch: int = options.batch
        self.input: str = options.input
        self.text_bytes: int = options.text.stat().st_size

    def heads_of(self, channels: int) -> list[int]:
        """Returns the head counts for attention with that many channels."""
        if self.options.heads:
            return [heads for heads in self.options.heads if channels % heads == 0]
        return [next(heads for heads in (4, 2, 1) if channels % heads == 0)]

    def input_of(self, length: int) -> str:
        """Returns the name of the input. A text that is too short is repeated, under another name."""
        return "repeated_text" if self.input == "text" and length > self.text_bytes else self.input

    def error_message(self) -> str:
        """Returns the error in the options, or an empty string."""
        options = self.options
        for option in ("channels", "heads", "dtypes", "input", "lengths"):
            value = getattr(options, option)
            if value and (option, value) != ("input", "text") and options.mode not in MODES:
                return f"--{option} is for --arena, --filter and --list; --{options.mode} has fixed shapes"
        channel_list = ",".join(map(str, self.channels))
        for channels in self.channels:
            if not self.heads_of(channels):
                return f"heads must divide the channels: none of --heads {','.join(map(str, options.heads))} divides {channels} channels"
        for heads in options.heads or []:
            if all(channels % heads for channels in self.channels):
                return f"heads must divide the channels: --heads {heads} divides none of the channels {channel_list}"
        return ""

    def flags(self) -> list[str]:
        """Returns the flags of a bench program. Omits defaults, so that programs of earlier commits accept the rest."""
        options, flags = self.options, ["--batch", str(self.batch)]
        heads = sorted({heads for channels in self.channels for heads in self.heads_of(channels)})
        for option, values in (("lengths", self.lengths), ("channels", options.channels), ("heads", heads if heads != [4] else None),
                               ("dtypes", options.dtypes)):
            if values:
                flags += [f"--{option}", ",".join(map(str, values))]
        return flags + (["--input", self.input] if self.input != "text" else [])

    def key(self) -> dict:
        """Returns the settings that results depend on."""
        return {"lengths": self.lengths, "channels": self.channels, "heads": self.options.heads, "dtypes": self.dtypes, "batch": self.batch,
                "input": self.input, "all": self.options.all, "only": self.options.only}

    def built_dtypes(self) -> list[str]:
        """Returns the element types that the host program is built for."""
        options = self.options
        default = ["f32"] if options.mode == "arena" and not options.all else ["f32", "bf16"] if options.mode in ("arena", "smoke") else list(DTYPES)
        return self.dtypes or default

    def suffix(self) -> str:
        """Returns a suffix for the names of result files, with all settings that are not the default."""
        options = self.options
        parts = [flag for flag in ("all", "peers", "only") if getattr(options, flag)]
        parts += ["with", *(path.stem for path in options.custom)] if options.custom else []
        parts += [letter + ".".join(map(str, values)) for letter, values in (("N", options.lengths), ("C", options.channels), ("H", options.heads), ("", options.dtypes)) if values]
        for letter, value, default in (("B", options.batch, BATCH), ("R", options.rounds, ROUNDS), ("", options.input, INPUTS[0]), ("", options.text, TEXT)):
            parts += [letter + (value.stem if isinstance(value, Path) else str(value))] if value != default else []
        parts += ["against", options.against] if options.against else []
        return re.sub(r"[^\w.-]", "_", "".join(f"-{part}" for part in parts))
