"""python -m costate: the command-line tool."""
import os
import sys
from pathlib import Path


def tool():
    """The program: beside the package where it is installed, in the build folder where it was just built."""
    here = Path(__file__).parent
    for path in (here / "bin/costate", here.parents[1] / "bin/costate"):
        if path.is_file():
            return str(path)
    raise SystemExit("costate: the command-line tool is not part of this installation")


def main():
    program = tool()
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
