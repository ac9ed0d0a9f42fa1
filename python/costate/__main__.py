"""python -m costate: the command-line tool."""
import os
import signal
import sys

from . import _core
from ._scenes import shared


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends the tool as it would end any program
    os.environ.setdefault("COSTATE_SHARE", shared())
    return _core.command_line(["costate", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
