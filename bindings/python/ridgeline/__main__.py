"""`python -m ridgeline`: the command line of the program."""

import os
import signal
import sys

from . import _core


def main():
    # As in the program itself: who reads no more ends it, and Ctrl-C does, where a command has no use for it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    # Commands start the program once more, in other folders.
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    os.environ["PYTHONPATH"] = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
    sys.stdout.flush()
    sys.stderr.flush()
    return _core.command_line(sys.argv[1:], [sys.executable, "-m", "ridgeline"], sys.executable)


if __name__ == "__main__":
    sys.exit(main())
