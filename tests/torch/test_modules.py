# SPDX-License-Identifier: Apache-2.0
"""Modules of examples/torch: shapes, gradients, padding, initial values, and the formulas of the
papers. Skipped without torch or the extension."""
import itertools
import unittest
from pathlib import Path

try:
    import torch
    from slicesort_torch import nn
    from slicesort_torch.nn.catalog import MODELS, encoder_of
    from slicesort_torch.nn.settings import Settings

    MISSING = ""
except (ImportError, OSError) as error:  # OSError: a library that the extension needs
    MISSING = f"there is no torch, or no extension of ours: {error}"

ROWS, WIDTH = 12, 8
KINDS = ("pre_norm", "post_norm", "bare")


def mixers() -> dict:
    """Returns a mixer of each kind with each policy."""
    orders = "ascending; descending; half_half{2}; interleave{1, 3}; haar_interleave{1, 2}"
    shifts = "none; linear; linear_step{2}; per_head{2}; modular; power{1, 2}; power_ceil{0, 2}"
    topologies = "chord; chord{3}; cdil{2}; offsets{0, -1, 5}"
    masks = "full; causal{0}; window{2, 1}; block_local{4}; strided{3, 2}; fixed{4, 1}; "
    # Omits bigbird, whose last block depends on the tensor's length.
    masks += "dilated_window{1, 2, 2}; global_window{2, 1}; chunk_back{4}"
    return {
        **{f"sort {order}": nn.SlicingSort(WIDTH, order) for order in orders.split("; ")},
        **{f"csp {shift}": nn.CSP(WIDTH, "group_size{3}", shift) for shift in shifts.split("; ")},
        **{f"chain {t}": nn.SparseMix(WIDTH, ROWS, t, hidden=6) for t in topologies.split("; ")},
        **{f"attention {m}": nn.SoftmaxAttention(WIDTH, 2, m) for m in masks.split("; ")},
        "linear attention": nn.LinearAttention(WIDTH, 2),
        "causal linear attention": nn.LinearAttention(WIDTH, 2, causal=True),
        "performer": nn.PerformerAttention(WIDTH, 2, random_features=5),
        "cosformer": nn.CosformerAttention(WIDTH, 2),
        "random features": nn.RandomFeatureAttention(WIDTH, 2),
        "sinkformer": nn.SinkformerAttention(WIDTH, 2),
        "linformer": nn.LinformerAttention(WIDTH, ROWS, 2, rank=5),
        "nystromformer": nn.NystromformerAttention(WIDTH, 2, landmarks=4, taps=3),
        "long-short": nn.LongShortAttention(WIDTH, 2, rank=3, mask="window{2, 1}"),
        "sinkhorn transformer": nn.SinkhornTransformerAttention(WIDTH, ROWS, 2, block=5),
        "reformer": nn.ReformerAttention(WIDTH, 2, chunk=3, rounds=2, buckets=4),
        "synthesizer": nn.SynthesizerAttention(WIDTH, ROWS, 2, has_scores=True),
        "dense synthesizer": nn.SynthesizerAttention(WIDTH, ROWS, 2, "dense"),
        "csp in one group": nn.CSP(WIDTH, "group_count{1}", "linear", "ascending"),
        "wide": nn.SlicingSort(WIDTH, inner=20, value_bias=True, out_bias=True),
        "multi-permutation": nn.MultiPermutation(WIDTH, 3),
        "max-exchange": nn.MaxExchange(WIDTH),
        "shuffle": nn.Shuffle(WIDTH, seed=3),
        "shuffle of rows": nn.Shuffle(WIDTH, "shared_by_channels", seed=3),
        "no mixing": nn.NoMixing(WIDTH),
    }


def small(**more) -> "Settings":
    return Settings(**{"task": "order", "length": ROWS, "width": WIDTH, "heads": 2, **more})


def to_double(module):
    return module.double().eval()


def gradients(module, result) -> dict:
    """Returns the gradients of a weighted sum; the plain sum of normalized rows is constant."""
    weights = torch.linspace(-1, 2, result.numel(), dtype=result.dtype).view_as(result)
    (result * weights).sum().backward()
    return {name: p.grad for name, p in module.named_parameters()}


@unittest.skipIf(MISSING, MISSING)
class Case(unittest.TestCase):
    def setUp(self) -> None:
        torch.manual_seed(1)

    def assert_close(self, a, b, tolerance: float = 1e-12) -> None:
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)

    def assert_all_learn(self, grads: dict) -> None:
        self.assertTrue(grads)
        for name, gradient in grads.items():
            self.assertIsNotNone(gradient, name)
            self.assertTrue(gradient.isfinite().all(), name)
            self.assertGreater(gradient.abs().max().item(), 0, name)


class Blocks(Case):
    def test_every_mixer_in_every_block(self) -> None:
        for (name, mixer), kind in itertools.product(mixers().items(), KINDS):
            with self.subTest(mixer=name, kind=kind):
                block = nn.Block(mixer, WIDTH, 10, kind).train()
                x = torch.randn(3, ROWS, WIDTH, requires_grad=True)
                y = block(x, torch.tensor([ROWS, 7, 1]))
                self.assertEqual(y.shape, x.shape)
                self.assert_all_learn(gradients(block, y) | {"x": x.grad})

    def test_padding_changes_no_valid_row(self) -> None:
        lengths = torch.tensor([5, ROWS, 1, 0, 8])
        valid = torch.arange(ROWS) < lengths[:, None]
        for (name, mixer), kind in itertools.product(mixers().items(), KINDS):
            with self.subTest(mixer=name, kind=kind):
                block = to_double(nn.Block(mixer, WIDTH, 10, kind))
                x = torch.randn(5, ROWS, WIDTH, dtype=torch.float64)
                start = torch.randn_like(x)
                other = [torch.where(valid[..., None], t, 9.0).requires_grad_() for t in (x, start)]
                y = block(*other[:1], lengths, other[1])
                self.assert_close(y[valid], block(x, lengths, start)[valid], 0)
                y[valid].pow(3).sum().backward()
                self.assertFalse(other[0].grad[~valid].any())

    def test_a_sample_alone_has_the_rows_that_it_has_among_others(self) -> None:
        for name, mixer in mixers().items():
            if name.startswith("csp"):
                continue  # shifts depend on the length with padding
            with self.subTest(mixer=name):
                block = to_double(nn.Block(mixer, WIDTH, 10))
                x = torch.randn(2, ROWS, WIDTH, dtype=torch.float64)
                y = block(x, torch.tensor([ROWS, 7]))
                self.assert_close(y[1:, :7], block(x[1:, :7]))

    def test_the_three_kinds(self) -> None:
        class Doubling(torch.nn.Module):
            def forward(self, x, lengths, start):
                return 2 * x + start

        x = torch.randn(2, ROWS, WIDTH)
        for kind in KINDS:
            block = nn.Block(Doubling(), WIDTH, 10, kind)
            if kind == "bare":
                self.assert_close(block(x), 3 * x, 1e-6)
            elif kind == "post_norm":
                z = block.norm1(4 * x)
                self.assert_close(block(x), block.norm2(z + block.mlp(z)), 1e-6)
            else:
                z = x + 2 * block.norm1(x) + x
                self.assert_close(block(x), z + block.mlp(block.norm2(z)), 1e-6)
        with self.assertRaisesRegex(ValueError, "kind is 'mega', must be one of pre_norm, post"):
            nn.Block(Doubling(), WIDTH, kind="mega")


class Papers(Case):
    def test_a_sliceformer_block_is_a_sort_between_projections(self) -> None:
        block = to_double(nn.SliceformerBlock(WIDTH, 10, "descending", inner=6))
        x = torch.randn(2, ROWS, WIDTH, dtype=torch.float64)
        mixer = block.mixer
        y = x + mixer.out(torch.sort(mixer.value(block.norm1(x)), dim=1, descending=True).values)
        self.assert_close(block(x), y + block.mlp(block.norm2(y)))
        self.assertEqual(
            [n for n, _ in block.named_parameters() if "mixer" in n],
            ["mixer.value.weight", "mixer.out.weight"],
        )

    def test_a_paramixer_block_is_a_product_of_sparse_matrices(self) -> None:
        for topology, offsets in (
            ("chord", lambda m: (0, 1, 2, 4, 8)),
            ("cdil{1}", lambda m: (0, 2**m, -(2**m))),
        ):
            block = to_double(nn.ParamixerBlock(WIDTH, ROWS, topology=topology))
            x, start = torch.randn(2, 2, ROWS, WIDTH, dtype=torch.float64)
            chain = block.mixer
            self.assertEqual(chain.factors, 4)
            y, hidden = chain.value(x), torch.nn.functional.gelu(chain.weights[0](start))
            for m in range(4):
                w = chain.weights[2][m](hidden[..., 32 * m : 32 * (m + 1)])
                matrix = torch.eye(ROWS, dtype=torch.float64).repeat(2, 1, 1)
                for i, (k, offset) in itertools.product(range(ROWS), enumerate(offsets(m))):
                    matrix[:, i, (i + offset) % ROWS] += w[:, i, k]
                y = matrix @ y
            self.assert_close(block(x, start=start), y)

    def test_attention_is_that_of_torch(self) -> None:
        ours = nn.SoftmaxAttention(WIDTH, 4, input_bias=True, out_bias=True).double()
        theirs = torch.nn.MultiheadAttention(WIDTH, 4, batch_first=True, dtype=torch.float64)
        weights = ours.state_dict().items()
        theirs.load_state_dict({name.replace("in_proj.", "in_proj_"): t for name, t in weights})
        x, lengths = torch.randn(3, ROWS, WIDTH, dtype=torch.float64), torch.tensor([ROWS, 5, 1])
        padding = torch.arange(ROWS) >= lengths[:, None]
        expected = theirs(x, x, x, key_padding_mask=padding, need_weights=False)[0]
        self.assert_close(ours(x, lengths)[~padding], expected[~padding])

    def test_a_seed_repeats_dropout(self) -> None:
        block = nn.Block(nn.SoftmaxAttention(WIDTH, 2, dropout=0.5), WIDTH)
        x = torch.randn(2, ROWS, WIDTH)
        results = []
        for seed in (5, 5, 6):
            torch.manual_seed(seed)
            results.append(block(x))
        self.assert_close(results[0], results[1], 0)
        self.assertFalse(torch.equal(results[0], results[2]))
        self.assert_close(block.eval()(x), block(x), 0)

    def test_rejected_arguments(self) -> None:
        for make, says in (
            (lambda: nn.SoftmaxAttention(10, 3), "10 channels cannot be split into 3 heads"),
            (lambda: nn.SoftmaxAttention(8, 0), "heads is 0, must be an integer of at least 1"),
            (lambda: nn.SoftmaxAttention(8, mask="casual"), 'mask "casual" is none of full'),
            (lambda: nn.SoftmaxAttention(8, mask="window{-1, 2}"), "left and right must be in 0"),
            (lambda: nn.SoftmaxAttention(8, dropout=float("nan")), "dropout is nan, must be"),
            (lambda: nn.PerformerAttention(8, random_features=0), "random_features is 0, must be"),
            (lambda: nn.RandomFeatureAttention(8, 3), "8 channels cannot be split into 3 heads"),
            (lambda: nn.SinkformerAttention(8, half_steps=0), "half_steps is 0, must be an integer"),
            (lambda: nn.SinkformerAttention(8, half_steps=4), "half_steps is 4, must be odd"),
            (lambda: nn.SlicingSort(8, "up"), 'order "up" is none of ascending'),
            (lambda: nn.SlicingSort(8, "half_half{3}"), "channels must be a multiple of heads"),
            (lambda: nn.SlicingSort(8, None), "order is a NoneType, must be text"),
            (lambda: nn.SlicingSort(8, inner=0), "inner is 0, must be an integer of at least 1"),
            (lambda: nn.SlicingSort(-8), "width is -8, must be an integer of at least 1"),
            (lambda: nn.SliceformerBlock(8, order="up"), 'order "up" is none of ascending'),
            (lambda: nn.CSP(8, "pairs"), 'groups "pairs" is none of group_size'),
            (lambda: nn.CSP(8, "group_size{0}"), r"groups .* must be at least 1"),
            (lambda: nn.CSP(8, shift="per_head{3}"), "channels must be a multiple of heads"),
            (lambda: nn.CSP(8, alignment="reference{8}"), "channel must be one of the channels"),
            (lambda: nn.Shuffle(8, "rows"), "form is 'rows', must be one of per_channel"),
            (lambda: nn.SparseMix(8, 1), "0 factors for 1 rows"),
            (lambda: nn.SparseMix(8, 9, "ring"), 'topology "ring" is none of chord'),
            (lambda: nn.SparseMix(8, 9, residual="some"), "residual is 'some', must be one of"),
            (lambda: nn.SparseMix(8, 9, checkpoint_every=-1), "checkpoint_every is -1, must be"),
            (lambda: nn.SparseMix(8, 9)(torch.zeros(1, 10, 8)), "x has 10 rows, must have at most"),
            (lambda: nn.NoMixing(8, 0), "hidden is 0, must be an integer of at least 1"),
            (lambda: nn.MultiPermutation(8, 0), "components is 0"),
            (lambda: nn.Conventions(dropout=1.0), "dropout is 1.0, must be at least 0 and below 1"),
            (lambda: nn.Conventions(norm_epsilon=-1.0), "norm_epsilon is -1.0, must be finite"),
            (lambda: nn.Conventions(weights="he"), "weights is 'he', must be one of xavier, torch"),
            (lambda: nn.Conventions(activation="silu"), "activation is 'silu'"),
        ):
            with self.assertRaisesRegex(ValueError, says):
                make()


class InitialValues(Case):
    def test_weights_and_biases(self) -> None:
        deviations = {"xavier": (2 / (300 + 500)) ** 0.5, "torch": (1 / 900) ** 0.5, "normal": 0.02}
        for weights, deviation in deviations.items():
            layer = nn.Conventions(weights=weights).linear(300, 500)
            self.assertAlmostEqual(layer.weight.std().item() / deviation, 1, delta=0.02)
            if weights == "torch":
                self.assertLessEqual(layer.bias.abs().max().item(), 300**-0.5)
                self.assertGreater(layer.bias.std().item(), 0.02)
            else:
                self.assertFalse(layer.bias.any())

    def test_embeddings(self) -> None:
        rules = nn.Conventions(token_deviation=0.5, position_deviation=0.1)
        shape = nn.SampleShape(200, vocabulary=300, outputs=3)
        model = nn.Encoder(shape, lambda scope: nn.NoMixing(scope.width), pooling="cls", rules=rules)
        self.assertAlmostEqual(model.embedding.weight.std().item(), 0.5, delta=0.02)
        self.assertAlmostEqual(model.positions.std().item(), 0.1, delta=0.005)
        self.assertEqual(model.positions.shape, (201, 64))
        self.assertFalse(model.cls.any())

    def test_site_is_a_deprecated_name_of_parameter_scope(self) -> None:
        with self.assertWarnsRegex(DeprecationWarning, "Site is deprecated: use ParameterScope"):
            self.assertIs(nn.Site, nn.ParameterScope)


class Encoders(Case):
    POOLINGS = ("cls", "mean", "max", "flatten")
    COMBINATIONS = tuple(itertools.product(KINDS, POOLINGS, ("none", "sinusoid", "learned")))
    BLIND = ("none", "softmax-causal", "shuffle-rows")  # row 0 may be independent of the others

    @staticmethod
    def settings(number: int, **more) -> "Settings":
        kind, pool, positions = Encoders.COMBINATIONS[number % len(Encoders.COMBINATIONS)]
        form = {"block": kind, "pool": pool, "positions": positions, "reach": 6, **more}
        return small(**form, head_hidden=32 * (number % 2))

    def test_every_model_learns(self) -> None:
        for model, task in itertools.product(MODELS, ("adding", "order")):
            for number in range(0, len(self.COMBINATIONS), 5):
                # `torch` initializes biases: with biases of 0 the sparse factors of a class token are 0.
                s = self.settings(number, model=model, task=task, initial="torch")
                if s.pool == "cls" and model in self.BLIND:
                    continue
                with self.subTest(s=s):
                    encoder = encoder_of(s)
                    x = torch.randn(6, ROWS, 2) if task == "adding" else torch.randint(6, (6, ROWS))
                    y = encoder(x)
                    self.assertEqual(y.shape, (6, 1 if task == "adding" else 4))
                    self.assert_all_learn(gradients(encoder, y))

    def test_padding_changes_no_answer(self) -> None:
        lengths = torch.tensor([5, ROWS, 1, 8])
        valid = torch.arange(ROWS) < lengths[:, None]
        x = torch.randint(6, (4, ROWS))
        other = torch.where(valid, x, 5 - x)
        for number, (kind, pool, _) in enumerate(self.COMBINATIONS):
            for model in ("sort-interleave", "csp", "chord", "softmax", "none"):
                with self.subTest(number=number, model=model):
                    encoder = encoder_of(self.settings(number, model=model))
                    same = torch.equal(encoder(x, lengths), encoder(other, lengths))
                    # Flatten reads padding rows, where attention returns zeros.
                    ignored = pool != "flatten" or (kind, model) == ("bare", "softmax")
                    self.assertEqual(same, ignored)
                    unmasked = encoder_of(self.settings(number, model=model, mask_padding=0))
                    self.assert_close(unmasked(x, lengths), unmasked(x), 0)

    def test_a_sample_without_rows_has_a_finite_answer(self) -> None:
        for pool in self.POOLINGS:
            encoder = encoder_of(small(pool=pool, model="sort-ascending"))
            y = encoder(torch.zeros(2, ROWS, dtype=torch.int64), torch.tensor([0, 3]))
            self.assertTrue(y.isfinite().all(), pool)
            y.sum().backward()
            self.assertTrue(all(p.grad.isfinite().all() for p in encoder.parameters()), pool)

    def test_dropout_acts_in_training_only(self) -> None:
        for kind in KINDS:
            encoder = encoder_of(small(block=kind, dropout=0.3))
            x = torch.randint(6, (4, ROWS))
            self.assertFalse(torch.equal(encoder(x), encoder(x)))
            encoder.eval()
            self.assert_close(encoder(x), encoder(x), 0)

    def test_they_compile_without_a_graph_break(self) -> None:
        x, lengths = torch.randint(6, (3, ROWS)), torch.tensor([ROWS, 5, 1])
        for model, pool in itertools.product(
            ("sort-haar", "csp", "chord", "softmax"), ("cls", "max")
        ):
            with self.subTest(model=model, pool=pool):
                torch.compiler.reset()
                encoder = encoder_of(small(model=model, pool=pool, initial="torch"))
                y = torch.compile(encoder, backend="eager", fullgraph=True)(x, lengths)
                self.assert_close(y, encoder(x, lengths), 1e-6)
                self.assert_all_learn(gradients(encoder, y))

    def test_sinusoid(self) -> None:
        table = encoder_of(small(positions="sinusoid")).positions
        for row, channel in ((0, 0), (0, 1), (5, 0), (5, 3), (11, 6)):
            angle = torch.tensor(row / 10000 ** (channel // 2 * 2 / WIDTH), dtype=torch.float64)
            expected = (angle.sin() if channel % 2 == 0 else angle.cos()).item()
            self.assertAlmostEqual(table[row, channel].item(), expected, places=6)

    def test_samples_of_another_form_are_refused(self) -> None:
        encoder = encoder_of(Settings(length=ROWS))
        with self.assertRaisesRegex(ValueError, r"samples are \[12\], must be \[12, 2\]"):
            encoder(torch.zeros(2, ROWS))
        with self.assertRaisesRegex(ValueError, r"samples are \[11, 2\], must be \[12, 2\]"):
            encoder(torch.zeros(2, ROWS - 1, 2))


@unittest.skipIf(MISSING, MISSING)
class TrainingProgramSettings(unittest.TestCase):
    def test_defaults_that_depend_on_others(self) -> None:
        s = Settings.parse("length=1e2 model=csp norm-epsilon=1e-5 rate=1e-3 task=aan width=32")
        self.assertEqual((s.model, s.hidden, s.norm_epsilon), ("csp", 64, 1e-5))
        self.assertEqual(s.shape.length, 201)
        self.assertEqual(Settings.parse(""), Settings())
        self.assertEqual(Settings.parse("task=cifar10 length=7").shape.length, 1024)

    def test_rejected_arguments(self) -> None:
        for text, says in (
            ("depth=3", "the setting 'depth=3' is unknown"),
            ("width=1.5", "width is '1.5', which is no whole number"),
            ("width=0", "width is 0, must be an integer of at least 1"),
            ("dropout=x", "dropout is 'x', which is no number"),
            ("width", "the setting 'width' is unknown"),
            ("pool=average", "pool is 'average', must be one of"),
            ("task=path", "task is 'path', must be one of adding"),
        ):
            with self.assertRaisesRegex(ValueError, says):
                Settings.parse(text)
        with self.assertRaisesRegex(ValueError, "no model 'softmax-unknown' in torch; there are c"):
            encoder_of(Settings(model="softmax-unknown"))


if __name__ == "__main__":
    unittest.main()
