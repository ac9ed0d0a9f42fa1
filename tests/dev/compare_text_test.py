"""tools/compare_text.py forgives rounding and nothing else."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from compare_text import differences  # noqa: E402


class CompareText(unittest.TestCase):
    def assert_same(self, a, b):
        self.assertEqual(differences(a, b), [])

    def assert_different(self, a, b):
        self.assertNotEqual(differences(a, b), [])

    def test_the_last_printed_digit_may_differ_by_one(self):
        self.assert_same("error 1.23e-05, gain 0.71", "error 1.24e-05, gain 0.70")
        self.assert_different("gain 0.71", "gain 0.73")
        self.assert_different("error 1.23e-05", "error 1.23e-06")

    def test_long_numbers_agree_to_a_millionth(self):
        self.assert_same("x = 314.56883995768527", "x = 314.56883995761111")
        self.assert_different("x = 314.56883995768527", "x = 314.569839")

    def test_counts_and_words_are_exact(self):
        self.assert_different("16384 worlds", "16385 worlds")
        self.assert_different("step 3 of x1", "step 3 of x2")
        self.assert_different("converged", "diverged")

    def test_signs_and_nan_count(self):
        self.assert_different("slope -1.00", "slope 1.00")
        self.assert_different("slope 1.00", "slope nan")

    def test_spacing_does_not_matter_but_lines_do(self):
        self.assert_same("a   1.5\n", "a 1.5")
        self.assert_different("a\nb", "a")


if __name__ == "__main__":
    unittest.main()
