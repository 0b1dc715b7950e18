# SPDX-License-Identifier: Apache-2.0
"""Compares checkpoints in torch with the C++ model: outputs agree to 1e-5. LEARNING_PROGRAM names
the training program (default: that in build/learning). Skipped without it, torch, the package
safetensors or the extension."""
import functools
import itertools
import json
import os
import shutil
import struct
import subprocess
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
try:
    import torch
    from safetensors.torch import load_file, save_file
    from slicesort_torch import checkpoint
    from slicesort_torch.nn.catalog import MODELS, encoder_of
    from slicesort_torch.nn.settings import Settings

    MISSING = ""
except (ImportError, OSError) as error:  # OSError: a library that the extension needs
    MISSING = f"there is no torch, no safetensors, or no extension of ours: {error}"

LEARNING = ROOT / "examples/learning"
NOT_SAVED = {"log-every", "test-every", "save-every", "test-samples"}  # of a preset's flags
PROGRAM = Path(
    os.environ.get("LEARNING_PROGRAM", ROOT / "build/learning/examples/learning/slicesort_train")
)
NO_PROGRAM = MISSING
if not MISSING and not PROGRAM.exists():
    NO_PROGRAM = f"the training program is not built: {PROGRAM}"
if not NO_PROGRAM and shutil.which("g++") is None:
    NO_PROGRAM = "there is no g++ for checkpoint_logits.cpp"
SAMPLES = 7


def command_line(flags: dict) -> list[str]:
    return [word for name, value in flags.items() for word in (f"--{name}", str(value))]


def run(*command: str | Path) -> None:
    process = subprocess.run(
        [str(word) for word in command], capture_output=True, encoding="utf-8", check=False
    )
    if process.returncode != 0:
        raise RuntimeError(f"{command[0]}: exit status {process.returncode}: {process.stderr}")


def catalog_objects_or_sources() -> list[Path]:
    """Returns the catalog of models: the objects of the program's build, which take minutes to
    compile, if they are newer than all sources and headers; otherwise the sources."""
    sources = sorted((LEARNING / "models").glob("*.cpp"))
    objects = [
        PROGRAM.parent / f"CMakeFiles/slicesort_train.dir/models/{path.name}.o" for path in sources
    ]
    dependencies = itertools.chain(LEARNING.rglob("*.?pp"), (ROOT / "include").rglob("*.*"))
    newest = max(path.stat().st_mtime for path in dependencies)
    return objects if all(o.exists() and o.stat().st_mtime > newest for o in objects) else sources


@functools.lru_cache(maxsize=None)
def scratch() -> Path:
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    return Path(folder.name)


@functools.lru_cache(maxsize=None)
def logits_program() -> Path:
    """Compiles the program that writes the outputs of a C++ model."""
    program = scratch() / "checkpoint_logits"
    flags = ["-std=c++17", "-O2", "-pthread", f"-I{ROOT / 'include'}", f"-I{LEARNING}", f"-I{LEARNING.parent}"]
    flags += ["-isystem", str(ROOT / ".deps/include")]
    sources = [ROOT / "tests/torch/checkpoint_logits.cpp", *catalog_objects_or_sources()]
    sources.append(LEARNING / "learning/files/safetensors.cpp")
    run("g++", *flags, *sources, "-o", program)
    return program


def train_checkpoint(flags: dict, steps: int = 5) -> Path:
    """Returns a checkpoint after some training steps."""
    path = scratch() / "model.safetensors"
    path.unlink(missing_ok=True)
    training = {"steps": steps, "batch": 8, "rate": 0.01, "threads": 1, "test-samples": 8}
    run(PROGRAM, *command_line({**flags, **training, "checkpoint": path}))
    return path


def samples_of(model, with_lengths: bool):
    """Returns random samples of various lengths, padded by zeros."""
    shape = model.shape
    if shape.features > 0:
        x = torch.randn(SAMPLES, shape.length, shape.features)
    else:
        x = torch.randint(1, shape.vocabulary, (SAMPLES, shape.length))
    if not with_lengths:
        return x, None
    lengths = torch.randint(1, shape.length + 1, (SAMPLES,))
    lengths[:2] = torch.tensor([shape.length, 1])
    valid = torch.arange(shape.length) < lengths[:, None]
    return torch.where(valid if x.dim() == 2 else valid[..., None], x, 0), lengths


def run_cpp_model(flags: dict, path: Path, x, lengths):
    """Returns the outputs of the C++ model of a checkpoint, [samples, outputs]."""
    samples, outputs = scratch() / "samples", scratch() / "outputs"
    values = x.flatten().tolist()
    data = struct.pack("=2q", len(x), lengths is not None)
    if lengths is not None:
        data += struct.pack(f"={len(x)}q", *lengths.tolist())
    samples.write_bytes(
        data + struct.pack(f"={len(values)}{'f' if x.is_floating_point() else 'i'}", *values)
    )
    run(logits_program(), path, samples, outputs, *command_line(flags))
    result = outputs.read_bytes()
    return torch.tensor(struct.unpack(f"={len(result) // 4}f", result)).view(len(x), -1)


@unittest.skipIf(NO_PROGRAM, NO_PROGRAM)
class SameOutputs(unittest.TestCase):
    SMALL = {"length": 20, "width": 8, "hidden": 12, "layers": 2, "heads": 2}
    POOLS_AND_BLOCKS = tuple(
        itertools.product(("cls", "mean", "max", "flatten"), ("pre_norm", "post_norm", "bare"))
    )

    def check(self, flags: dict) -> None:
        path = train_checkpoint(flags)
        model = checkpoint.load(path)
        for with_lengths in (False, True):
            x, lengths = samples_of(model, with_lengths)
            with torch.no_grad():
                actual = model(x, lengths)
            expected = run_cpp_model(flags, path, x, lengths)
            self.assertEqual(actual.shape, expected.shape)
            self.assertTrue(expected.isfinite().all())
            self.assertGreater(expected.std(dim=0).max().item(), 1e-3)  # outputs differ
            torch.testing.assert_close(actual, expected, rtol=0, atol=1e-5)

    def test_every_model(self) -> None:
        torch.manual_seed(1)
        for index, model in enumerate(MODELS):
            for pool, block in (
                self.POOLS_AND_BLOCKS[(5 * index + more) % len(self.POOLS_AND_BLOCKS)] for more in (0, 7)
            ):
                if model in ("none", "shuffle-rows", "softmax-causal") and pool == "cls":
                    pool = "mean"  # their first row may be independent of the others
                flags = {
                    **self.SMALL,
                    "model": model,
                    "pool": pool,
                    "block": block,
                    "reach": 6,
                    "task": ("order", "adding", "listops", "noise")[index % 4],
                    "positions": ("learned", "sinusoid", "none")[index % 3],
                    "activation": ("gelu", "gelu-tanh", "relu")[index // 3 % 3],
                }
                with self.subTest(flags=flags):
                    self.check(flags)

    def test_settings_that_change_a_model(self) -> None:
        torch.manual_seed(2)
        for model in ("sort-half-half", "csp", "chord", "softmax", "none"):
            for more in (
                {"input-bias": 1, "out-bias": 1, "inner": 6},
                {"head-hidden": 9, "mask-padding": 0},
                {"mixer-hidden": 5, "factors": 2, "group": 0},
                {"initial": "normal", "norm-epsilon": 1e-2},
                {
                    "dropout": 0.2,
                    "attention-dropout": 0.2,
                    "initial": "torch",
                    "token-deviation": 0.1,
                },
                {"layers": 3, "reach": 3, "heads": 1, "seed": 9},
            ):
                flags = {**self.SMALL, "model": model, "task": "listops", **more}
                with self.subTest(flags=flags):
                    self.check(flags)


@unittest.skipIf(NO_PROGRAM, NO_PROGRAM)
class InvalidCheckpoints(unittest.TestCase):
    FLAGS = {"task": "order", "model": "sort-ascending", "length": 6, "width": 4, "layers": 1}

    def setUp(self) -> None:
        self.path = train_checkpoint(self.FLAGS, steps=1)
        self.tensors = load_file(self.path)

    def save(
        self,
        tensors: dict,
        settings: str | None = "task=order model=sort-ascending length=6 width=4 layers=1",
    ) -> Path:
        save_file(tensors, self.path, None if settings is None else {"settings": settings})
        return self.path

    def assert_error(self, path: Path, says: str) -> None:
        with self.assertRaisesRegex(ValueError, says) as caught:
            checkpoint.load(path)
        self.assertIn(str(path), str(caught.exception))

    def test_a_whole_one_is_read(self) -> None:
        self.assertEqual(
            checkpoint.settings_of(self.path), Settings("order", "sort-ascending", 6, 4, 1)
        )
        model = checkpoint.load(self.save(self.tensors))
        self.assertFalse(model.training)
        for name, value in model.state_dict().items():
            self.assertTrue(torch.equal(value, self.tensors[name]), name)
        self.assertTrue(any(name.startswith("adam.m.") for name in self.tensors))

    def test_tensors_that_do_not_fit(self) -> None:
        name = "layers.0.mixer.value.weight"
        self.assert_error(
            self.save({k: v for k, v in self.tensors.items() if k != name}),
            rf"has no tensor {name}, \[4, 4\]",
        )
        self.assert_error(
            self.save({**self.tensors, name: torch.zeros(4, 5)}),
            rf"has {name} of shape \[4, 5\], must be \[4, 4\]",
        )
        self.assert_error(
            self.save({**self.tensors, "more": torch.zeros(1)}),
            "has a tensor more, which the model does not have",
        )

    def test_settings_that_do_not_fit(self) -> None:
        self.assert_error(self.save(self.tensors, None), "there are no settings in its metadata")
        self.assert_error(
            self.save(self.tensors, "model=sort-ascending depth=3"),
            "the setting 'depth=3' is unknown",
        )
        self.assert_error(
            self.save(self.tensors, "task=order length=6 width=4 model=softmax-unknown"),
            "there is no model 'softmax-unknown' in torch",
        )
        self.assert_error(
            self.save(self.tensors, "task=order model=csp length=6 width=4 layers=2"),
            "has no tensor layers.1.norm1.weight",
        )

    def test_no_checkpoint_at_all(self) -> None:
        self.path.write_bytes(b"no tensors")
        self.assert_error(self.path, "is no safetensors file")
        self.path.unlink()
        with self.assertRaises(FileNotFoundError):
            checkpoint.load(self.path)

    def test_a_refused_one_changes_no_model(self) -> None:
        model = encoder_of(Settings("order", "sort-ascending", 6, 4, 1))
        before = {name: value.clone() for name, value in model.state_dict().items()}
        path = self.save({**self.tensors, "head.bias": torch.zeros(5)})
        with self.assertRaisesRegex(ValueError, r"head.bias of shape \[5\], must be \[4\]"):
            checkpoint.load_into(model, path)
        for name, value in model.state_dict().items():
            self.assertTrue(torch.equal(value, before[name]), name)
        checkpoint.load_into(model, self.save(self.tensors))
        self.assertTrue(torch.equal(model.head.bias, self.tensors["head.bias"]))


@unittest.skipIf(MISSING, MISSING)
class Fields(unittest.TestCase):
    """Wrong fields of checkpoints, without the training program."""

    SETTINGS = "task=order model=chord length=6 width=4 layers=1 steps=20"

    def save(self, settings: str = SETTINGS, tensors: dict | None = None, **metadata) -> Path:
        if tensors is None:
            tensors = self.tensors()
        path = scratch() / "fields.safetensors"
        save_file(tensors, path, {"settings": settings, **metadata})
        return path

    def tensors(self) -> dict:
        return dict(encoder_of(Settings.parse(self.SETTINGS)).state_dict())

    def assert_error(self, says: str, path: Path, read=None) -> None:
        with self.assertRaisesRegex(ValueError, says) as caught:
            (read or checkpoint.load)(path)
        self.assertIn(str(path), str(caught.exception))

    def test_a_step_is_one_of_the_runs(self) -> None:
        for step in ("0", "7", "20"):
            checkpoint.load(self.save(step=step))
        for step in ("-5", "banana", "", "21", "1000000", "1e1", "1.0", " 3", "\u0663", "9" * 30):
            with self.subTest(step=step):
                self.assert_error(r"step is .*, must be a whole number in 0..20", self.save(step=step))

    def test_settings_that_no_model_has(self) -> None:
        for setting, says in {
            "layers=1000000000": r"layers is 1000000000, and there are \d+ tensors",
            "layers=0": "layers is 0, must be an integer of at least 1",
            "layers=-1": "layers is '-1', which is no whole number",
            "factors=1000000000": "factors is 1000000000, and there are",
            "width=0": "width is 0, must be an integer of at least 1",
            "width=-4": "width is '-4', which is no whole number",
            "width=1e15": "[Oo]verflow|has .* of shape",
            "width=\u0664": "width is .*, which is no whole number",
            "width=1e16": "width is '1e16', which is no whole number",
            "length=0": "length is 0, must be an integer of at least 1",
            "length=1e12": "has .* of shape|has no tensor",
            "model=rfa rank=16": "there is no model 'rfa' in torch; there are",
            "model=reformer rounds=2": "there is no model 'reformer' in torch; there are",
            "heads=0": "heads is 0, must be an integer of at least 1",
            "dropout=nan": "dropout is 'nan', which is no number",
            "dropout=1": "dropout is 1.0, must be at least 0 and below 1",
            "attention-dropout=1": "attention_dropout is 1.0, must be",
            "norm-epsilon=inf": "norm-epsilon is 'inf', which is no number",
            "rate=fast": "rate is 'fast', which is no number",
            "positions=sinusoid length=1e12": "a table of positions has at most 2",
            "width=1_0": "width is '1_0', which is no whole number",
        }.items():
            with self.subTest(setting):
                self.assert_error(says, self.save(f"{self.SETTINGS} {setting}"))

    def test_settings_of_every_preset(self) -> None:
        """All are known. Blocks and activations of MEGA are not in torch."""
        presets = json.loads((LEARNING / "models.json").read_text(encoding="utf-8"))["presets"]
        for name, preset in presets.items():
            trial = preset.get("search", {}).get("flags", {})
            for changes in ({}, trial, *preset.get("by_model", {}).values()):
                flags = {**preset["flags"], **changes, "seed": 2**64 - 1}
                text = " ".join(f"{key}={value}" for key, value in flags.items() if key not in NOT_SAVED)
                with self.subTest(preset=name, changes=changes):
                    if flags["block"] == "gated" or flags["activation"] == "silu":
                        with self.assertRaisesRegex(ValueError, "must be one of"):
                            Settings.parse(text)
                        continue
                    settings = Settings.parse(text)
                    self.assertEqual(settings.seed, 2**64 - 1)
                    self.assertEqual(settings.width, flags["width"])
                    self.assertGreater(settings.shape.length, 0)

    def test_seeds(self) -> None:
        for name in ("seed", "data-seed"):
            self.assertEqual(Settings.parse(f"{name}={10**15 + 1}").task, "adding")
            for seed in ("18446744073709551616", "-1", "1.5", "9" * 30):
                with self.subTest(name=name, seed=seed):
                    self.assert_error(
                        f"{name} is '{seed}', which is no whole number below 2.64", self.save(f"{self.SETTINGS} {name}={seed}")
                    )
        self.assertEqual(Settings.parse(f"seed={2**64 - 1}").seed, 2**64 - 1)

    def test_images_of_any_size(self) -> None:
        """The rows of learned positions are the patches of the images, and a class token."""
        for pool, patch, rows in (("cls", 2, 16), ("mean", 1, 64), ("flatten", 7, 16)):
            text = f"task=mnist model=sort-ascending patch={patch} width=4 layers=1 pool={pool}"
            expected = encoder_of(replace(Settings.parse(text), length=rows))
            model = checkpoint.load(self.save(text, dict(expected.state_dict())))
            self.assertEqual((model.shape.length, model.shape.features), (rows, patch**2))
            self.assertEqual(model(torch.rand(2, rows, patch**2)).shape, (2, 10))
        settings = Settings.parse("task=mnist positions=sinusoid patch=4")
        self.assertEqual((settings.shape.length, settings.shape.features), (49, 16))

    def test_tensors_of_other_dtypes(self) -> None:
        for dtype, name in ((torch.int32, "I32"), (torch.float64, "F64"), (torch.bfloat16, "BF16")):
            tensors = {k: v.to(dtype) if k == "head.bias" else v for k, v in self.tensors().items()}
            path, says = self.save(tensors=tensors), f"has head.bias of dtype {name}, must be F32"
            self.assert_error(says, path)
            model = encoder_of(Settings.parse(self.SETTINGS))
            self.assert_error(says, path, lambda path, model=model: checkpoint.load_into(model, path))

    def test_a_whole_one_is_read(self) -> None:
        tensors = self.tensors()
        model = checkpoint.load(self.save(tensors=tensors, step="20"))
        for name, value in model.state_dict().items():
            self.assertTrue(torch.equal(value, tensors[name]), name)
        x = torch.randint(6, (2, 6))
        self.assertTrue(model(x).isfinite().all())  # every parameter and buffer is allocated


if __name__ == "__main__":
    unittest.main()
