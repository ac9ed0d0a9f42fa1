"""Writes the names that a list of object files uses and none of them defines, for apps/demo/absent.cpp.

Only names of costate are meant: what is left belongs to libraries and is the linker's business. Tables of virtual
functions and of types are among them; nothing reads those before it has called a function that is absent as well."""
import argparse
import subprocess
from pathlib import Path


def names(nm, objects):
    """Defined and undefined symbols of the objects."""
    defined, undefined = set(), set()
    for line in subprocess.run([nm, "-g", *objects], capture_output=True, text=True, check=True).stdout.splitlines():
        words = line.split()
        if len(words) == 2 and words[0] == "U":
            undefined.add(words[1])
        elif len(words) == 3:
            defined.add(words[2])
    return defined, undefined


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nm", default="nm")
    parser.add_argument("objects", type=Path, help="a file with the path of one object file per line")
    parser.add_argument("output", type=Path)
    options = parser.parse_args()
    defined, undefined = names(options.nm, options.objects.read_text().split())
    absent = sorted(name for name in undefined - defined if "7costate" in name)
    options.output.write_text("".join(f'COSTATE_ABSENT("{name}")\n' for name in absent))


if __name__ == "__main__":
    main()
