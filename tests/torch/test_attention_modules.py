# SPDX-License-Identifier: Apache-2.0
"""Modules of linear attention and of Sinkformer's attention, against dense formulas in torch that
compute every weight. Skipped without torch or the extension."""
import math
import unittest

try:
    import torch
    from slicesort_torch import nn

    MISSING = ""
except (ImportError, OSError) as error:  # OSError: a library that the extension needs
    MISSING = f"there is no torch, or no extension of ours: {error}"

WIDTH, HEADS = 12, 3
LENGTHS = (9, 4, 1)  # of a batch of 9 rows
PROJECTIONS = {"inner": 6 * HEADS, "input_bias": True, "out_bias": True}


def elu_features(mixer, x, are_keys: bool):
    return torch.nn.functional.elu(x) + 1


def cosine_features(mixer, x, are_keys: bool):
    angles = math.pi / 2 / x.shape[2] * torch.arange(1, x.shape[2] + 1, dtype=x.dtype)[:, None]
    return torch.cat([x.relu() * angles.cos(), x.relu() * angles.sin()], -1)


def fourier_features(mixer, x, are_keys: bool):
    w = mixer.sigma * mixer.random_matrices
    angles = x / (x.norm(dim=-1, keepdim=True) + 1e-3) @ w.mT
    return 0.1 * torch.cat([angles.sin(), angles.cos()], -1)


def random_exp_features(mixer, x, are_keys: bool):
    """Computes Performer's features relative to a constant maximum, of a query or of all keys."""
    w, z = mixer.projection_matrix, x * x.shape[-1] ** -0.25
    products = z @ w.mT
    maximum = products.detach().amax((2, 3) if are_keys else 3, keepdim=True)
    exponents = products - z.square().sum(-1, keepdim=True) / 2 - maximum
    return len(w) ** -0.5 * (exponents.exp() + 1e-6)


def add(eps: float):
    return lambda sums: sums + eps


def at_least(eps: float):
    return lambda sums: sums.clamp(min=eps)


def linear_weights(features, divisor, causal: bool = False):
    """Returns a function that computes the weights of all pairs, [batch, heads, length, length]."""

    def weights(mixer, q, k):
        products = features(mixer, q, False) @ features(mixer, k, True).mT
        products = products.tril() if causal else products
        return products / divisor(products.sum(-1, keepdim=True))

    return weights


def sinkhorn_weights(mixer, q, k):
    logits = q @ k.mT / q.shape[-1] ** 0.5
    for half_step in range(mixer.half_steps):
        logits = logits - logits.logsumexp(-1 if half_step % 2 == 0 else -2, keepdim=True)
    return logits.exp()


def dense(mixer, weights, x):
    """Computes the module's output for samples without padding."""
    q, k, v = (
        t.unflatten(-1, (HEADS, -1)).transpose(1, 2) for t in mixer.in_proj(x).chunk(3, dim=-1)
    )
    return mixer.out_proj((weights(mixer, q, k) @ v).transpose(1, 2).flatten(2))


def cases() -> dict:
    """Returns pairs of a module and its weights."""
    arguments = {"width": WIDTH, "heads": HEADS, **PROJECTIONS}
    causal_performer = nn.PerformerAttention(causal=True, **arguments)
    # Without eps the maximum cancels; with it, the causal operator has the running maximum of the keys.
    causal_performer.feature = "random_exp{0}"
    return {
        "linear": (nn.LinearAttention(**arguments), linear_weights(elu_features, add(1e-6))),
        "causal linear": (
            nn.LinearAttention(causal=True, **arguments),
            linear_weights(elu_features, add(1e-6), causal=True),
        ),
        "cosformer": (
            nn.CosformerAttention(**arguments),
            linear_weights(cosine_features, at_least(1e-6)),
        ),
        "performer": (
            nn.PerformerAttention(**arguments),
            linear_weights(random_exp_features, add(0)),
        ),
        "performer, 40 features": (
            nn.PerformerAttention(random_features=40, **arguments),
            linear_weights(random_exp_features, add(0)),
        ),
        "random features": (
            nn.RandomFeatureAttention(random_features=7, **arguments),
            linear_weights(fourier_features, add(1)),
        ),
        "causal random features": (
            nn.RandomFeatureAttention(causal=True, **arguments),
            linear_weights(fourier_features, add(1), causal=True),
        ),
        "sinkformer": (nn.SinkformerAttention(**arguments), sinkhorn_weights),
        "sinkformer, 7 half-steps": (
            nn.SinkformerAttention(half_steps=7, **arguments),
            sinkhorn_weights,
        ),
        "softmax": (nn.SinkformerAttention(half_steps=1, **arguments), sinkhorn_weights),
    }


@unittest.skipIf(MISSING, MISSING)
class AttentionModules(unittest.TestCase):
    def setUp(self) -> None:
        torch.manual_seed(1)

    def assert_close(self, a, b, tolerance: float = 1e-10) -> None:
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)

    def test_outputs_and_gradients_are_those_of_a_dense_formula(self) -> None:
        for name, (mixer, weights) in cases().items():
            with self.subTest(mixer=name):
                mixer.double()
                x = torch.randn(2, max(LENGTHS), WIDTH, dtype=torch.float64, requires_grad=True)
                dy = torch.randn_like(x)
                inputs = [x, *mixer.parameters()]
                y, expected = mixer(x), dense(mixer, weights, x)
                self.assert_close(y, expected)
                for gradient, expected_gradient in zip(
                    torch.autograd.grad(y, inputs, dy), torch.autograd.grad(expected, inputs, dy)
                ):
                    self.assertGreater(expected_gradient.abs().max().item(), 1e-6)
                    self.assert_close(gradient, expected_gradient)

    def test_lengths_are_those_of_samples_alone(self) -> None:
        for name, (mixer, weights) in cases().items():
            with self.subTest(mixer=name):
                mixer.double()
                x = torch.randn(len(LENGTHS), max(LENGTHS), WIDTH, dtype=torch.float64)
                for b, length in enumerate(LENGTHS):
                    x[b, length:] = torch.nan
                y = mixer(x, torch.tensor(LENGTHS))
                for b, length in enumerate(LENGTHS):
                    self.assert_close(y[b, :length], dense(mixer, weights, x[b : b + 1, :length])[0])

    def test_they_compile_without_a_graph_break(self) -> None:
        x, lengths = torch.randn(len(LENGTHS), max(LENGTHS), WIDTH), torch.tensor(LENGTHS)
        for name, (mixer, _) in cases().items():
            with self.subTest(mixer=name):
                torch.compiler.reset()
                compiled = torch.compile(mixer, backend="eager", fullgraph=True)
                self.assert_close(compiled(x, lengths), mixer(x, lengths), 1e-6)

    def test_causal_modules_do_not_read_later_rows(self) -> None:
        for make in (
            nn.LinearAttention,
            nn.PerformerAttention,
            nn.CosformerAttention,
            nn.RandomFeatureAttention,
        ):
            with self.subTest(module=make.__name__):
                mixer = make(WIDTH, HEADS, causal=True)
                x = torch.randn(1, 8, WIDTH)
                later = x.clone()
                later[:, 5:] += 1
                self.assert_close(mixer(x)[:, :5], mixer(later)[:, :5], 0)
                self.assertFalse(torch.equal(mixer(x)[:, 5:], mixer(later)[:, 5:]))


@unittest.skipIf(MISSING, MISSING)
class RandomRows(unittest.TestCase):
    def setUp(self) -> None:
        torch.manual_seed(1)

    def test_performer_rows_are_orthogonal_with_the_norms_of_normal_rows(self) -> None:
        w = nn.PerformerAttention(64, 2, random_features=3200).double().projection_matrix
        self.assertEqual(w.shape, (3200, 32))
        for block in w.split(32):
            products = block @ block.T
            self.assertLess((products - products.diag().diag()).abs().max().item(), 1e-4)
        self.assertAlmostEqual(w.square().sum(1).mean().item() / 32, 1, delta=0.02)
        self.assertAlmostEqual(w.square().sum(1).var().item() / 64, 1, delta=0.1)  # of chi squared

    def test_a_performer_has_d_ln_d_features_and_redraws_them(self) -> None:
        mixer = nn.PerformerAttention(64, 2)
        before = mixer.projection_matrix.clone()
        self.assertEqual(before.shape, (110, 32))  # 32 ln 32 = 110.9
        mixer.redraw_projection_matrix()
        self.assertEqual(mixer.projection_matrix.shape, before.shape)
        self.assertFalse(torch.isclose(mixer.projection_matrix, before).all(1).any())

    def test_a_performer_estimates_softmax_attention(self) -> None:
        performer = nn.PerformerAttention(8, 2, random_features=20000)
        softmax = nn.SoftmaxAttention(8, 2)
        softmax.load_state_dict(
            {name: t for name, t in performer.state_dict().items() if name != "projection_matrix"}
        )
        x = torch.randn(2, 6, 8) / 2
        self.assertLess((performer(x) - softmax(x)).abs().max().item(), 0.02)
        few = nn.PerformerAttention(8, 2, random_features=1)
        few.load_state_dict(performer.state_dict() | {"projection_matrix": few.projection_matrix})
        self.assertGreater((few(x) - softmax(x)).abs().max().item(), 0.02)

    def test_the_random_rows_are_saved_with_the_parameters(self) -> None:
        for make in (nn.PerformerAttention, nn.RandomFeatureAttention):
            with self.subTest(module=make.__name__):
                saved, loaded = make(WIDTH, HEADS), make(WIDTH, HEADS)
                x = torch.randn(2, 5, WIDTH)
                self.assertFalse(torch.equal(saved(x), loaded(x)))
                loaded.load_state_dict(saved.state_dict())
                self.assertTrue(torch.equal(saved(x), loaded(x)))

    def test_names_of_parameters_and_buffers(self) -> None:
        projections = {"in_proj.weight", "out_proj.weight"}
        for make, more in (
            (nn.LinearAttention, {}),
            (nn.CosformerAttention, {}),
            (nn.SinkformerAttention, {}),
            (nn.PerformerAttention, {"projection_matrix": (5, 4)}),
            (nn.RandomFeatureAttention, {"random_matrices": (3, 64, 4), "sigma": (3, 1, 4)}),
        ):
            with self.subTest(module=make.__name__):
                state = make(WIDTH, HEADS).state_dict()
                self.assertEqual(set(state), projections | set(more))
                for name, shape in more.items():
                    self.assertEqual(state[name].shape, shape)


if __name__ == "__main__":
    unittest.main()
