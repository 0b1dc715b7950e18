# SPDX-License-Identifier: Apache-2.0
"""slicesort_torch.sort compared with torch.sort, and the programs of examples/torch."""
import itertools
import os
import subprocess
import sys
import unittest
from pathlib import Path

from cases import torch
from slicesort_torch import argsort, sort, top_k

EXAMPLES = Path(__file__).parents[2] / "examples/torch"


class Sort(unittest.TestCase):
    def test_every_axis_of_tensors_of_every_rank(self):
        shapes = ((7,), (3, 7), (2, 3, 7), (2, 3, 4, 5), (1, 1), (0, 3), (3, 0), (2, 0, 3))
        for shape, dtype, descending in itertools.product(shapes, (torch.float32, torch.bfloat16), (False, True)):
            for dim in range(-len(shape), len(shape)):
                with self.subTest(shape=shape, dim=dim, descending=descending):
                    x = torch.randint(-2, 3, shape).to(dtype)
                    values, indices = sort(x, dim, descending)
                    expected = torch.sort(x, dim=dim, stable=True, descending=descending)
                    self.assertTrue(torch.equal(values, expected.values))
                    self.assertTrue(torch.equal(indices, expected.indices))
                    self.assertEqual(indices.dtype, torch.int64)

    def test_argsort_and_top_k_along_every_axis(self):
        for shape, dtype, descending in itertools.product(((7,), (2, 3, 7), (0, 3)), (torch.float32, torch.bfloat16), (False, True)):
            x = torch.randint(-2, 3, shape).to(dtype)
            for dim in range(-len(shape), len(shape)):
                with self.subTest(shape=shape, dim=dim, descending=descending):
                    expected = torch.sort(x, dim=dim, stable=True, descending=descending)
                    self.assertTrue(torch.equal(argsort(x, dim, descending), expected.indices))
                    for k in {0, 1, x.size(dim) // 2, x.size(dim)} & set(range(x.size(dim) + 1)):
                        values, indices = top_k(x, k, dim, descending)
                        self.assertTrue(torch.equal(values, expected.values.narrow(dim, 0, k)))
                        self.assertTrue(torch.equal(indices, expected.indices.narrow(dim, 0, k)))
                        by_index = top_k(x, k, dim, descending, sorted=False)
                        self.assertTrue(torch.equal(by_index.indices, indices.sort(dim).values))
                        self.assertTrue(torch.equal(by_index.values, x.gather(dim, by_index.indices)))

    def test_the_tensor_has_the_name_that_torch_gives_it(self):
        x = torch.randn(3, 7)
        self.assertTrue(torch.equal(sort(input=x, dim=0).values, torch.sort(input=x, dim=0).values))
        self.assertTrue(torch.equal(argsort(input=x), torch.argsort(input=x)))
        self.assertTrue(torch.equal(top_k(input=x, k=2).values, torch.topk(input=x, k=2).values))

    def test_long_rows(self):
        x = torch.randn(3, 3000)
        self.assertTrue(torch.equal(top_k(x, 50).values, torch.topk(x, 50).values))
        self.assertEqual(top_k(torch.tensor(3.0), 1).values.item(), 3.0)
        with self.assertRaisesRegex(RuntimeError, "k is 4, must be in 0..3"):
            top_k(torch.zeros(2, 3), 4)

    def test_scalars_and_axes_that_are_not_there(self):
        self.assertEqual(sort(torch.tensor(3.0)).values.item(), 3.0)
        for dim in (2, -3):
            with self.assertRaises(IndexError):
                sort(torch.zeros(2, 2), dim)

    def test_gradients(self):
        x = torch.randn(2, 3, 5, dtype=torch.float64, requires_grad=True)
        for dim in range(3):
            self.assertTrue(torch.autograd.gradcheck(lambda x: sort(x, dim).values, x))
            self.assertTrue(torch.autograd.gradgradcheck(lambda x: top_k(x, 2, dim).values, x))

    def test_compiled_whole(self):
        x = torch.randn(2, 9, 5)
        compiled = torch.compile(lambda x: sort(x, 1), fullgraph=True, backend="aot_eager")
        self.assertTrue(torch.equal(compiled(x).indices, torch.sort(x, dim=1, stable=True).indices))
        compiled = torch.compile(lambda x: (argsort(x, 1), top_k(x, 3, 1)), fullgraph=True, backend="aot_eager")
        indices, largest = compiled(x)
        self.assertTrue(torch.equal(indices, torch.argsort(x, dim=1, stable=True)))
        self.assertTrue(torch.equal(largest.values, torch.topk(x, 3, dim=1).values))


class Examples(unittest.TestCase):
    def run_example(self, name):
        process = subprocess.run([sys.executable, str(EXAMPLES / name)], capture_output=True, encoding="utf-8",
                              env={**os.environ, "OMP_NUM_THREADS": "1"})
        self.assertEqual(process.returncode, 0, process.stderr)
        return process.stdout

    def test_vision_transformer(self):
        self.assertIn("loss", self.run_example("vision_transformer.py"))

    def test_data_parallel(self):
        self.assertIn("two processes: the gradients of one", self.run_example("data_parallel.py"))

    def test_sequence_parallel(self):
        self.assertIn("two processes: output and gradients of one", self.run_example("sequence_parallel.py"))

    @unittest.skipUnless(os.environ.get("SLICESORT_FULL"), "compiles every operator, for minutes: SLICESORT_FULL=1")
    def test_recipe(self):
        self.run_example("recipe.py")


if __name__ == "__main__":
    unittest.main()
