#!/usr/bin/env python3
"""Which decisions and functions of a folder no test takes, from the counts that a build with COSTATE_COVERAGE leaves behind.

  coverage.py BUILD FOLDER [--all]     BUILD has run test_<name>; FOLDER is costate/<name>; --all: not only files that hold adjoints

A decision is an if, a loop, a case, `?`, `&&` or `||`: each has two ways out, and a test should take both. A template is compiled many times
over, and inlined code again in each caller: a way counts as taken when any copy took it. Lines that throw an Error or assert are left out: tests
of errors are tests of their text. A choice between lanes (select) is no branch: tests of laws name the lanes that take either side."""
import argparse
import collections
import json
import re
import subprocess
import sys
from pathlib import Path

ADJOINT = re.compile(r"_vjp\b|_bar\b|_jvp\b|Transpose\b")
ERROR = re.compile(r"\bthrow\b|\bassert\s*\(|\[\[noreturn\]\]")
CONSTANT = re.compile(r"\b(D == \d|sizeof\(\w+\) == \d|k[A-Z]\w+)\s*(\?|&&|\|\|)")  # decided by the compiler
DECISION = re.compile(r"\bif\s*\((?!\s*constexpr)|\bfor\s*\(|\bwhile\s*\(|\bcase\b|\?|&&|\|\|")


def counts(build, folder, root):
    """({file: {line: [branch counts, of all copies]}}, {file: {first line: [name, calls]}}) of the files under folder."""
    branches = collections.defaultdict(lambda: collections.defaultdict(list))
    functions = collections.defaultdict(dict)
    data = sorted(build.glob("**/*.gcda"))
    if not data:
        sys.exit(f"coverage: no counts under {build}; build with COSTATE_COVERAGE=ON and run the tests")
    for file in data:
        text = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", file], cwd=build,
                              capture_output=True, check=True).stdout
        for line in text.splitlines():
            for source in json.loads(line)["files"]:
                path = Path(source["file"])
                path = (path if path.is_absolute() else build / path).resolve()
                if not path.is_relative_to(root / folder):
                    continue
                name = str(path.relative_to(root))
                for entry in source["lines"]:
                    branches[name][entry["line_number"]] += [b["count"] for b in entry["branches"] if not b["throw"]]
                for f in source["functions"]:
                    known = functions[name].setdefault(f["start_line"], [f["demangled_name"], 0])
                    known[1] += f["execution_count"]
    return branches, functions


def ways(source, taken):
    """Counts of the two ways out of each decision of a line, added over its copies."""
    decisions = len(DECISION.findall(CONSTANT.sub("", source)))
    if not decisions or not taken:
        return []
    period = 2 * decisions if len(taken) % (2 * decisions) == 0 else 2 if len(taken) % 2 == 0 else 1
    total = [0] * period
    for i, count in enumerate(taken):
        total[i % period] += count
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("folder")
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    root = Path(__file__).resolve().parent.parent
    branches, functions = counts(Path(options.build).resolve(), options.folder, root)
    print(f"{'file':<42} {'functions':>12} {'ways':>12}")
    places, all_ways, all_taken = [], 0, 0
    for name in sorted(set(branches) | set(functions)):
        text = (root / name).read_text().splitlines()
        if not options.all and not ADJOINT.search("\n".join(text)):
            continue
        for number, (function, calls) in sorted(functions[name].items()):
            if calls == 0 and "throw_" not in function:
                places.append((name, number, "never called", function))
        known = taken = 0
        for number, found in sorted(branches[name].items()):
            source = text[number - 1].strip()
            following = text[number].strip() if number < len(text) else ""
            if ERROR.search(source) or ERROR.search(following):
                continue
            out = ways(source, found)
            known += len(out)
            taken += sum(c > 0 for c in out)
            if 0 in out:
                which = ", ".join(str(i + 1) for i, c in enumerate(out) if c == 0)
                places.append((name, number, f"way {which} of {len(out)} never taken", source))
        called = sum(calls > 0 for _, calls in functions[name].values())
        print(f"{name:<42} {called:>5} of {len(functions[name]):>3} {taken:>5} of {known:>3}")
        all_ways, all_taken = all_ways + known, all_taken + taken
    print(f"\n{all_taken} of {all_ways} ways taken")
    for name, number, what, source in places:
        print(f"  {name}:{number}: {what}: {source}")


if __name__ == "__main__":
    main()
