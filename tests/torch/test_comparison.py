# SPDX-License-Identifier: Apache-2.0
"""The bound of check_attention.py and check_linear_attention.py for gradients whose parts cancel. Skipped without torch."""
import contextlib
import io
import unittest

try:
    import torch

    MISSING = ""
except ImportError as error:
    MISSING = f"there is no torch: {error}"
else:
    from check_linear_attention import IMPLEMENTATIONS, run_torch, with_constant_divisors
    from common import Comparison


@unittest.skipIf(MISSING, MISSING)
class GradientsWithPartsThatCancel(unittest.TestCase):
    def setUp(self) -> None:
        torch.manual_seed(1)

    def failures(self, actual, expected, part, dtype) -> int:
        """Counts failures where torch's own result is exact by chance."""
        comparison = Comparison()
        with contextlib.redirect_stdout(io.StringIO()):
            comparison.add("dq", actual.to(dtype), expected, expected, dtype, part, torch.float32)
        return comparison.failures

    def test_errors_are_relative_to_the_parts(self) -> None:
        rounding = torch.finfo(torch.float32).eps
        sums_of = IMPLEMENTATIONS["causal"]["torch_tiles"]
        residues = 0
        for _ in range(20):
            # The only key cancels from y, but float64 seldom computes exactly 0.
            q, k, v, dy = torch.rand(4, 1, 1, 1, 5, dtype=torch.float64)
            expected, part = (run_torch(sums, "cosine_reweighted", [q, k, v], dy, torch.float64)[1]
                              for sums in (sums_of, with_constant_divisors(sums_of)))
            size = part.abs().max()
            self.assertLess(expected.abs().max(), 1e-15 * size)
            residues += bool(expected.any())
            for dtype in (torch.float16, torch.float32):
                self.assertEqual(self.failures(expected + 3 * rounding * size, expected, part, dtype), 0)
                self.assertEqual(self.failures(expected + 6 * rounding * size, expected, part, dtype), 1)
                self.assertEqual(self.failures(part, expected, part, dtype), 1)
        self.assertGreater(residues, 0)

    def test_errors_of_others_are_relative_to_the_gradient(self) -> None:
        expected = torch.tensor([1.0, -0.5], dtype=torch.float64)
        for dtype in (torch.float16, torch.float32):
            rounding = torch.finfo(dtype).eps
            self.assertEqual(self.failures(expected + 3 * rounding, expected, expected, dtype), 0)
            self.assertEqual(self.failures(expected + 6 * rounding, expected, expected, dtype), 1)


if __name__ == "__main__":
    unittest.main()
