"""bench/bench.py computes the ratios it prints."""
import json
import subprocess
import sys
import tempfile
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


class OnADevice(unittest.TestCase):
    """The program that measures a device prints what Google Benchmark does; here it is a script."""
    REPORT = {"context": {"device": "cuda:0: a GPU"}, "benchmarks": [
        {"run_name": name + "/iterations:1/manual_time", "run_type": "iteration", "real_time": ns, "time_unit": "ns", **counters}
        for name, ns, counters in [("machine/triad_bandwidth", 1e6, {"bytes": 4e12}),
                                   ("heat/float/forward", 100.0, {"rate": 1e11, "bytes": 3e12, "call": 0.0123}),
                                   ("heat/float/gradient", 400.0, {"rate": 2.5e10, "call": 0.5})]]}

    def table(self, *options):
        with tempfile.TemporaryDirectory() as folder:
            program, asked = Path(folder, "program"), Path(folder, "asked")
            program.write_text(f"#!{sys.executable}\nimport sys\nopen({str(asked)!r}, 'w').write(' '.join(sys.argv[1:]))\n"
                               f"print({json.dumps(self.REPORT)!r})\n")
            program.chmod(0o755)
            done = subprocess.run([sys.executable, bench.HERE / "bench.py", "--program", program, "--device", "cuda:0", *options],
                                  capture_output=True, text=True, check=True)
            return done.stdout.splitlines(), asked.read_text()

    def test_the_table_is_that_of_the_cpu(self):
        lines, asked = self.table("--filter", "heat")
        self.assertEqual(lines[0], "cuda:0: a GPU")
        self.assertIn("--device=cuda:0", asked)
        self.assertIn("--benchmark_filter=(heat)|^machine/", asked)
        self.assertNotIn("repetitions", asked)  # each takes the best of five by itself
        rows = {line.split()[0]: line.split()[1:] for line in lines if "/" in line.split()[0]}
        self.assertEqual(rows["heat/float/forward"], ["1.00e+11", "1/s", "75", "%", "12.3", "ms"])
        self.assertEqual(rows["heat/float/gradient"], ["2.50e+10", "1/s", "4.00", "500.0", "ms"])
        self.assertEqual(rows["machine/triad_bandwidth"], ["4.00e+12", "B/s"])


if __name__ == "__main__":
    unittest.main()
