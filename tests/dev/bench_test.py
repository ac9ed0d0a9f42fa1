"""bench/bench.py computes the ratios it prints."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import bench  # noqa: E402


class Compare(unittest.TestCase):
    OURS = {
        "machine/fma_peak/double": {"seconds": 1.0, "flops": 100.0},
        "lorenz/double/forward": {"seconds": 2.0, "rate": 50.0, "flops": 25.0},
        "lorenz/double/gradient": {"seconds": 5.0, "rate": 20.0},
        "lorenz/double/prototype_gradient": {"seconds": 4.0, "rate": 40.0},
        "ball/gradient": {"seconds": 1e-6},
    }
    PEERS = [
        {"peer": "jax", "version": "1", "task": "lorenz scan", "metric": "gradient", "value": 2.0, "unit": "steps/s"},
        {"peer": "jax", "version": "1", "task": "lorenz slow", "metric": "gradient", "value": 1.0, "unit": "steps/s"},
        {"peer": "torch", "version": "2", "task": "ball", "metric": "gradient", "value": 30.0, "unit": "us"},
        {"peer": "torch", "version": "2", "task": "ball", "metric": "failed", "value": "no", "unit": "text"},
    ]
    MATCH = [{"ours": "lorenz/.*gradient", "task": "lorenz.*", "metric": "gradient"},
             {"ours": "ball/gradient", "task": "ball", "metric": "gradient"}]

    def setUp(self):
        self.rows = bench.compare(self.OURS, list(bench.peer_figures(self.PEERS)), self.MATCH)

    def value(self, name, metric):
        return self.rows[name][metric][0]

    def test_gradient_costs_what_the_rates_say(self):
        self.assertAlmostEqual(self.value("lorenz/double/gradient", "gradient / forward"), 2.5)
        self.assertNotIn("gradient / forward", self.rows["lorenz/double/forward"])

    def test_share_of_the_peak_is_that_of_the_same_precision(self):
        self.assertAlmostEqual(self.value("lorenz/double/forward", "share of FMA peak"), 0.25)

    def test_the_hand_written_reference_is_a_sibling(self):
        self.assertAlmostEqual(self.value("lorenz/double/gradient", "speed / prototype"), 0.5)

    def test_a_peer_counts_with_its_fastest_variant(self):
        self.assertAlmostEqual(self.value("lorenz/double/gradient", "speed / jax"), 10)

    def test_times_compare_by_seconds(self):
        self.assertAlmostEqual(self.value("ball/gradient", "speed / torch"), 30)

    def test_a_peer_keeps_the_best_it_ever_reached(self):
        slow = [dict(line, value=line["value"] / 2 if line["unit"] == "steps/s" else line["value"]) for line in self.PEERS]
        slow[2]["value"] = 60.0
        self.assertEqual(bench.families.merge(slow, self.PEERS), self.PEERS)
        newer = [dict(line, version="9") for line in slow]
        self.assertEqual(bench.families.merge(newer, self.PEERS), newer)


if __name__ == "__main__":
    unittest.main()
