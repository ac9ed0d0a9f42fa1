"""No test asserts a time: a busy or older machine is not a mistake. What a user waits for is measured in bench/."""
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# A clock that a comparison could read. Timeouts that end a hanging test are not clocks.
CLOCK = re.compile(r"\b(?:perf_counter|process_time|monotonic|thread_time|time\.time|timeit|steady_clock|high_resolution_clock"
                   r"|system_clock|clock_gettime|getrusage|gettimeofday|cudaEventElapsedTime)\b")
# Files that read a clock and assert nothing with it, with what they do.
ALLOWED = {
    "tests/cuda/device_speed_test.cu": "prints the rates that docs/cuda.md quotes, and asserts the results",
    "tests/dev/times_test.py": "names the clocks",
}


def tests():
    for suffix in (".cpp", ".h", ".cu", ".py"):
        yield from (ROOT / "tests").rglob("*" + suffix)


class Times(unittest.TestCase):
    def test_no_test_reads_a_clock(self):
        found = [f"{path.relative_to(ROOT)}:{number}" for path in sorted(tests())
                 for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
                 if CLOCK.search(line) and str(path.relative_to(ROOT)) not in ALLOWED]
        self.assertEqual(found, [], "these read a clock: measure in bench/ (bench/latency.py), and assert what is computed")


if __name__ == "__main__":
    unittest.main()
