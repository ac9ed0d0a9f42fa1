"""Compares printed text: words must agree, numbers only as far as they were printed.

    compare_text.py EXPECTED PROGRAM [ARGUMENT...]     runs the program and compares its standard output with the file

Two machines round differently, so a number with a point or an exponent may differ by one in its last printed digit, or
by one part in a million; whole numbers are counts and must be equal. Timings belong on standard error."""
import re
import subprocess
import sys
from pathlib import Path

NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]*\w)")


def last_digit(text):
    """What one unit in the last printed digit is worth: 0.01 for "3.14", 1e-5 for "2.50e-3"."""
    mantissa, _, exponent = text.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    return 10.0 ** (int(exponent or 0) - decimals)


def same_number(expected, got):
    if not re.search(r"[.eE]", expected):
        return expected.lstrip("+") == got.lstrip("+")
    a, b = float(expected), float(got)
    return abs(a - b) <= max(1.001 * last_digit(expected), 1e-6 * abs(a))


def same_line(expected, got):
    words = [" ".join(NUMBER.sub("0", line).split()) for line in (expected, got)]
    numbers = [NUMBER.findall(line) for line in (expected, got)]
    return words[0] == words[1] and len(numbers[0]) == len(numbers[1]) and all(map(same_number, *numbers))


def differences(expected, got):
    """Lines that say where two texts differ; none when they agree."""
    ours, theirs = expected.rstrip().splitlines(), got.rstrip().splitlines()
    found = [f"line {i + 1}: expected {a!r}\n{' ' * len(str(i + 1))}           got {b!r}"
             for i, (a, b) in enumerate(zip(ours, theirs)) if not same_line(a, b)]
    if len(ours) != len(theirs):
        found.append(f"expected {len(ours)} lines, got {len(theirs)}")
    return found


def main():
    expected, *command = sys.argv[1:]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        print(done.stdout)
        return done.returncode
    found = differences(Path(expected).read_text(), done.stdout)
    if found:
        print(*found, f"\nIf the new output is right:  {' '.join(command)} > {expected}", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
