# SPDX-License-Identifier: Apache-2.0
"""Modules of the recipes: the golden values of tests/recipes, gradients, lengths, and the forms that
have no golden values. Skipped without torch or the extension."""
import unittest

try:
    import torch
    from slicesort_torch import nn

    MISSING = ""
except (ImportError, OSError) as error:  # OSError: a library that the extension needs
    MISSING = f"there is no torch, or no extension of ours: {error}"

ROWS, WIDTH, HEADS = 9, 12, 3
LENGTHS = (9, 4, 1, 0)
# The inputs of the golden values, [rows, channels].
Q, K = ((1, 0), (0, 1), (1, 1), (-1, 2)), ((1, 1), (0, 2), (-1, 1), (2, 0))
V, DY = ((1, 0), (0, 1), (2, -1), (1, 3)), ((1, 2), (0, 1), (-1, 1), (2, 0))


def tensor(rows):
    return torch.tensor(rows, dtype=torch.float64)


def head(rows):
    """Returns rows as a leaf of one sample and head, [1, 1, rows, channels]."""
    return tensor(rows)[None, None].requires_grad_()


def eight_rows(a: int, b: int, period: int):
    """Returns the inputs of the golden values of longer sequences."""
    return [[((a * i + b * c) % period - period // 2) / 2 for c in range(2)] for i in range(8)]


def with_values(mixer, **parameters):
    """Sets parameters or buffers, and returns the module in float64."""
    mixer.double()
    with torch.no_grad():
        for name, value in parameters.items():
            getattr(mixer, name).copy_(tensor(value))
    return mixer


def synthesizers() -> dict:
    return {
        f"{form} synthesizer{' and scores' if scores else ''}": nn.SynthesizerAttention(
            WIDTH, ROWS, HEADS, form, scores, rank=2
        )
        for form in ("random", "factorized", "dense")
        for scores in (False, True)
    }


def mixers() -> dict:
    """Returns a module of each form, in float64."""
    return {
        name: mixer.double()
        for name, mixer in {
            "linformer": nn.LinformerAttention(WIDTH, ROWS, HEADS, rank=4),
            "linformer, one projection per head": nn.LinformerAttention(
                WIDTH, ROWS, HEADS, rank=4, one_per_head=True, separate=False
            ),
            "nystromformer": nn.NystromformerAttention(WIDTH, HEADS, landmarks=3, taps=3),
            "long-short": nn.LongShortAttention(WIDTH, HEADS, rank=3, mask="window{2, 1}"),
            "long-short without norms": nn.LongShortAttention(WIDTH, HEADS, 3, has_norms=False),
            "sinkhorn transformer": nn.SinkhornTransformerAttention(WIDTH, ROWS, HEADS, block=2),
            "sinkhorn transformer, sum": nn.SinkhornTransformerAttention(
                WIDTH, ROWS, HEADS, block=4, join="sum"
            ),
            "reformer": nn.ReformerAttention(WIDTH, HEADS, chunk=2, rounds=2, buckets=4),
            "causal reformer": nn.ReformerAttention(WIDTH, HEADS, 3, 3, 4, causal=True),
            **synthesizers(),
        }.items()
    }


@unittest.skipIf(MISSING, MISSING)
class Case(unittest.TestCase):
    def setUp(self) -> None:
        torch.manual_seed(1)

    def assert_close(self, a, b, tolerance: float = 1e-9) -> None:
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)

    def assert_head(self, actual, rows) -> None:
        """Compares a head with golden rows, which have ten digits."""
        self.assert_close(actual[0, 0].detach(), tensor(rows))


class GoldenValues(Case):
    def test_linformer(self) -> None:
        mixer = with_values(
            nn.LinformerAttention(2, 4, rank=2, separate=False),
            keys=[[[1, 0, 0.5, 0], [0, 1, -0.5, 1]]],
        )
        q, k, v = head(Q), head(K), head(V)
        y = mixer.attend(q, k, v, None)
        self.assert_head(
            y,
            (
                (0.391140635, 3.5221484125),
                (1, 2),
                (0.391140635, 3.5221484125),
                (1.608859365, 0.4778515875),
            ),
        )
        y.backward(head(DY))
        self.assert_head(
            q.grad, ((1.7799016793, 0), (1.767766953, 0), (1.5574139694, 0), (-0.8899508396, 0))
        )
        self.assert_head(
            mixer.keys.grad[None],
            (
                (-1.2774135007, -0.4585682906, 3.4720014002, 0.6417257341),
                (3.2774135007, 4.4585682906, -3.4720014002, 13.3582742659),
            ),
        )

    def test_nystromformer(self) -> None:
        mixer = with_values(nn.NystromformerAttention(2, landmarks=2, taps=1), filters=[[[0]]])
        q, k, v = head(Q), head(K), head(V)
        y = mixer.attend(q, k, v, None)
        self.assert_head(
            y,
            (
                (0.9762975828, 1.2544606551),
                (0.740665344, 0.7683563399),
                (0.740665344, 0.7683563399),
                (0.5537434299, 0.3827403926),
            ),
        )
        y.backward(head(DY))
        self.assert_head(
            q.grad,
            (
                (1.6328177859, -1.0779070369),
                (1.6328177859, -0.2679940431),
                (-0.0983190615, -0.3126170932),
                (-0.0983190615, -0.390678327),
            ),
        )

    def test_long_short(self) -> None:
        mixer = nn.LongShortAttention(2, rank=2, mask="window{1, 1}", has_norms=False).double()
        logits = head(((0, 1), (1, 0), (2, 0), (0, 1)))
        self.assert_head(
            mixer.attend(head(Q), head(K), head(V), None, logits),
            (
                (0.8785682801, 0.5294599468),
                (0.8994456098, 0.301999518),
                (0.8298469757, 1.3189064322),
                (1.6541374071, -0.4137470814),
            ),
        )

    def test_sinkhorn_transformer(self) -> None:
        logits = head(((0, 1, 2, 0), (2, 0, 0, 1), (0, 0, 1, 3), (1, 2, 0, 0)))
        for join, row in (
            ("softmax", (-0.8634202351, 0.4367124034)),
            ("sum", (-1.6379498394, 0.8623117745)),
        ):
            mixer = nn.SinkhornTransformerAttention(2, 8, block=2, join=join).double()
            q, k, v = (head(eight_rows(*r)) for r in ((3, 5, 7), (5, 2, 7), (2, 3, 5)))
            y = mixer.attend(q, k, v, None, logits)
            self.assert_head(y[:, :, :1], (row,))

    def test_reformer(self) -> None:
        rotations = [[[1, 0.3], [-0.4, 1]], [[0.2, -1], [1, 0.9]]]
        x = tensor(eight_rows(3, 5, 7)) + 0.1 * tensor(range(16)).view(8, 2)
        for causal, rows in (
            (False, {0: (0.1839858018, -0.0559634523), 7: (-0.4831814798, 0.1006183047)}),
            (True, {0: (-1, 0.5), 3: (0.028357792, -0.6341157422)}),
        ):
            mixer = nn.ReformerAttention(2, chunk=3, rounds=2, buckets=4, causal=causal)
            with_values(mixer, rotations=rotations)
            leaf = head(x.tolist())
            y = mixer.attend(leaf, head(eight_rows(2, 3, 5)), None)
            for row, values in rows.items():
                self.assert_head(y[:, :, row : row + 1], (values,))
            y.backward(head(eight_rows(4, 1, 5)))
            if not causal:
                self.assert_head(leaf.grad[:, :, :1], ((0.0856211291, 0.0990467376),))

    def test_synthesizer(self) -> None:
        values = {"map": [[[0, 1, 0, -1], [1, 0, 0.5, 0], [0, 0, 2, 1], [-1, 1, 0, 0]]]}
        alone = with_values(nn.SynthesizerAttention(2, 4), **values)
        self.assert_head(
            alone.attend(head(V), None, alone.map[None])[:, :, :1], ((0.6621652879, 0.5548231765),)
        )
        both = with_values(nn.SynthesizerAttention(2, 4, has_scores=True), **values)
        y = both.attend(head(Q), head(K), head(V), None, both.map[None])
        self.assert_head(y[:, :, :1], ((0.670467959, 1.0017930953),))
        y.backward(head(DY))
        self.assert_head(
            both.map.grad[None, :, :1],
            ((-0.5027917094, -0.2713409252, -0.1952556714, 0.969388306),),
        )


class Modules(Case):
    def test_gradients(self) -> None:
        for name, mixer in mixers().items():
            with self.subTest(mixer=name):
                x = torch.randn(1, 5, WIDTH, dtype=torch.float64, requires_grad=True)
                parameters = [p.requires_grad_() for p in mixer.parameters()]
                self.assertTrue(
                    torch.autograd.gradcheck(
                        lambda x, *_, m=mixer: m(x), (x, *parameters), fast_mode=True
                    )
                )

    def test_lengths_are_those_of_samples_alone(self) -> None:
        for name, mixer in mixers().items():
            with self.subTest(mixer=name):
                x = torch.randn(len(LENGTHS), ROWS, WIDTH, dtype=torch.float64)
                for b, length in enumerate(LENGTHS):
                    x[b, length:] = torch.nan
                y = mixer(x, torch.tensor(LENGTHS))
                for b, length in enumerate(LENGTHS):
                    self.assert_close(y[b, :length], mixer(x[b : b + 1, :length])[0], 1e-12)

    def test_they_compile_without_a_graph_break(self) -> None:
        x, lengths = torch.randn(len(LENGTHS), ROWS, WIDTH), torch.tensor(LENGTHS)
        for name, mixer in mixers().items():
            with self.subTest(mixer=name):
                torch.compiler.reset()
                mixer.float()
                compiled = torch.compile(mixer, backend="eager", fullgraph=True)
                self.assert_close(compiled(x, lengths), mixer(x, lengths), 1e-6)

    def test_long_short_norms(self) -> None:
        mixer = nn.LongShortAttention(WIDTH, HEADS, rank=2, mask="window{1, 1}").double()
        x = torch.randn(2, ROWS, WIDTH, dtype=torch.float64)
        for parameter in (*mixer.norm.parameters(), *mixer.projected_norm.parameters()):
            torch.nn.init.normal_(parameter)
        q, k, v = mixer.in_proj(x).chunk(3, dim=-1)

        def norm(layer, rows):
            weight, bias = layer.weight.flatten(), layer.bias.flatten()
            return torch.nn.functional.layer_norm(rows, (WIDTH,), weight, bias, layer.eps)

        def heads(rows):
            return rows.unflatten(-1, (HEADS, -1)).transpose(1, 2)

        k, v = norm(mixer.norm, k), norm(mixer.norm, v)
        projection = (x[:, None] @ mixer.projection).softmax(2).mT
        keys, values = (
            heads(norm(mixer.projected_norm, (projection @ heads(t)).transpose(1, 2).flatten(2)))
            for t in (k, v)
        )
        scores = heads(q) @ torch.cat((keys, heads(k)), 2).mT / (WIDTH // HEADS) ** 0.5
        distance = torch.arange(ROWS) - torch.arange(ROWS)[:, None]
        scores[..., 2:].masked_fill_(distance.abs() > 1, -torch.inf)
        y = scores.softmax(-1) @ torch.cat((values, heads(v)), 2)
        self.assert_close(mixer(x), mixer.out_proj(y.transpose(1, 2).flatten(2)), 1e-12)

    def test_maps_of_a_synthesizer(self) -> None:
        x = torch.randn(2, 5, WIDTH, dtype=torch.float64)
        for name, mixer in synthesizers().items():
            with self.subTest(mixer=name):
                mixer.double()
                if mixer.form == "random":
                    expected = mixer.map[:, :5, :5]
                elif mixer.form == "factorized":
                    expected = (mixer.left @ mixer.right.mT)[:, :5, :5]
                else:
                    hidden = torch.einsum("bnw,hwc->bhnc", x, mixer.hidden).clamp(min=0)
                    expected = torch.einsum("bhnc,hcm->bhnm", hidden, mixer.map)[..., :5]
                v = mixer.project(x)[-1]
                q, k = mixer.project(x)[:2] if mixer.inputs == 3 else (v[..., :1] * 0, v[..., :1] * 0)
                weights = (q @ k.mT / q.shape[-1] ** 0.5 + expected).softmax(-1)
                self.assert_close(mixer(x), mixer.merge_heads(weights @ v), 1e-12)

    def test_a_causal_reformer_does_not_read_later_rows(self) -> None:
        mixer = nn.ReformerAttention(WIDTH, HEADS, chunk=32, causal=True)
        x = torch.randn(1, 8, WIDTH)
        later = x.clone()
        later[:, 5:] += 1
        self.assert_close(mixer(x)[:, :5], mixer(later)[:, :5], 0)
        self.assertFalse(torch.equal(mixer(x)[:, 5:], mixer(later)[:, 5:]))

    def test_names_of_parameters_and_buffers(self) -> None:
        channels = WIDTH // HEADS
        norm = (HEADS, 1, channels)
        shapes = {
            "linformer": {"keys": (1, 4, ROWS), "values": (1, 4, ROWS)},
            "linformer, one projection per head": {"keys": (HEADS, 4, ROWS)},
            "nystromformer": {"filters": (HEADS, 1, 3)},
            "long-short": {
                "projection": (HEADS, WIDTH, 3),
                "norm.weight": norm,
                "norm.bias": norm,
                "projected_norm.weight": norm,
                "projected_norm.bias": norm,
            },
            "sinkhorn transformer": {"sort_net": (HEADS, channels, 5)},
            "reformer": {"rotations": (2, 2, channels)},
            "random synthesizer": {"map": (HEADS, ROWS, ROWS)},
            "factorized synthesizer": {"left": (HEADS, ROWS, 2), "right": (HEADS, ROWS, 2)},
            "dense synthesizer": {"hidden": (HEADS, WIDTH, channels), "map": (HEADS, channels, ROWS)},
        }
        modules = mixers()
        for name, more in shapes.items():
            with self.subTest(mixer=name):
                state = modules[name].state_dict()
                self.assertEqual(set(state), {"in_proj.weight", "out_proj.weight"} | set(more))
                for parameter, shape in more.items():
                    self.assertEqual(state[parameter].shape, shape, parameter)

    def test_rejected_arguments(self) -> None:
        x = torch.zeros(1, 10, 8)
        for make, says in (
            (lambda: nn.LinformerAttention(8, 9, rank=0), "rank is 0, must be an integer"),
            (lambda: nn.LinformerAttention(8, 9)(x), "x has 10 rows, must have at most 9"),
            (lambda: nn.SinkhornTransformerAttention(8, 9)(x), "x has 10 rows, must have at most 9"),
            (lambda: nn.SynthesizerAttention(8, 9)(x), "x has 10 rows, must have at most 9"),
            (lambda: nn.SynthesizerAttention(8, 9, form="mixed"), "form is 'mixed', must be one of"),
            (lambda: nn.SinkhornTransformerAttention(8, 9, join="max"), "join is 'max', must be one"),
            (lambda: nn.LongShortAttention(8, mask="windows"), 'mask "windows" is none of full'),
            (lambda: nn.NystromformerAttention(8, landmarks=0), "landmarks is 0, must be"),
            (lambda: nn.ReformerAttention(8, rounds=17), "rounds is 17, must be at most 16"),
            (lambda: nn.ReformerAttention(8, buckets=3), "buckets is 3, must be even"),
        ):
            with self.assertRaisesRegex(ValueError, says):
                make()


if __name__ == "__main__":
    unittest.main()
