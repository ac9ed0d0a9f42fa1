"""python -m costate: the command-line tool."""
import signal
import sys

from . import _core


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends the tool as it would end any program
    return _core.command_line(["costate", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
