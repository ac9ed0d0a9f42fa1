#!/usr/bin/env python3
"""Which lines and branches of a folder no test takes, from the counts that a build with COSTATE_COVERAGE leaves behind.

  coverage.py BUILD FOLDER [--all]     BUILD has run test_<name>; FOLDER is costate/<name>; --all: not only files that hold adjoints

A template is compiled many times over, and inlined code again in each caller: a branch counts as taken when any copy of it was.
Branches that only an exception takes are left out, and so are lines that throw an Error or end in an assert: tests of errors
are tests of their text. A choice between lanes (select) is no branch; tests of laws name the lanes that take either side."""
import argparse
import collections
import json
import re
import subprocess
import sys
from pathlib import Path

ADJOINT = re.compile(r"_vjp\b|_bar\b|_jvp\b|Transpose\b")
ERROR = re.compile(r"\bthrow\b|\bassert\s*\(|\[\[noreturn\]\]")


def counts(build, folder, root):
    """{file: {line: [count, [branches of a copy, ...]]}} of the files under folder."""
    found = collections.defaultdict(lambda: collections.defaultdict(lambda: [0, []]))
    data = sorted(Path(build).glob("**/*.gcda"))
    if not data:
        sys.exit(f"coverage: no counts under {build}; build with COSTATE_COVERAGE=ON and run the tests")
    for file in data:
        text = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", file], cwd=build,
                              capture_output=True, check=True).stdout
        for line in text.splitlines():
            for source in json.loads(line)["files"]:
                path = Path(source["file"])
                path = (path if path.is_absolute() else Path(build) / path).resolve()
                if not path.is_relative_to(root / folder):
                    continue
                of_file = found[str(path.relative_to(root))]
                for entry in source["lines"]:
                    at = of_file[entry["line_number"]]
                    at[0] += entry["count"]
                    branches = [b["count"] for b in entry["branches"] if not b["throw"]]
                    if branches:
                        at[1].append(branches)
    return found


def merged(copies):
    """Branches of a line, added over its copies. A function that inlined the line twice lists its branches twice over."""
    period = min(len(c) for c in copies)
    total = [0] * period
    for copy in copies:
        if len(copy) % period:
            return [sum(max(c) for c in copies)]  # copies of unlike shape: only whether any was reached is known
        for i, count in enumerate(copy):
            total[i % period] += count
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("folder")
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    root = Path(__file__).resolve().parent.parent
    found = counts(Path(options.build).resolve(), options.folder, root)
    print(f"{'file':<42} {'lines':>12} {'branches':>12}")
    places, missed_lines, missed_branches = [], 0, 0
    for name in sorted(found):
        text = (root / name).read_text().splitlines()
        if not options.all and not ADJOINT.search("\n".join(text)):
            continue
        lines = branches = lines_taken = branches_taken = 0
        for number, (count, copies) in sorted(found[name].items()):
            source = text[number - 1].strip()
            if ERROR.search(source):
                continue
            lines += 1
            lines_taken += count > 0
            if count == 0:
                places.append((name, number, "line", source))
                continue
            if not copies:
                continue
            taken = merged(copies)
            branches += len(taken)
            branches_taken += sum(c > 0 for c in taken)
            if 0 in taken:
                which = ", ".join(str(i + 1) for i, c in enumerate(taken) if c == 0)
                places.append((name, number, f"branch {which} of {len(taken)}", source))
        missed_lines += lines - lines_taken
        missed_branches += branches - branches_taken
        print(f"{name:<42} {lines_taken:>5} of {lines:>3} {branches_taken:>5} of {branches:>3}")
    print(f"\nnever taken: {missed_lines} lines, {missed_branches} branches")
    for name, number, what, source in places:
        print(f"  {name}:{number}: {what}: {source}")


if __name__ == "__main__":
    main()
