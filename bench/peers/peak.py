"""Runs a command and adds "peak_mb" to the JSON object that it prints: the largest resident memory of its process.

    python3 bench/peers/peak.py COMMAND ...

Everything else that the command prints is passed on. Exits as the command does.
"""

import json
import os
import subprocess
import sys


def main():
    child = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, text=True)
    lines = child.stdout.read().splitlines()
    _, status, usage = os.wait4(child.pid, 0)  # of this child alone, unlike RUSAGE_CHILDREN
    for line in lines:
        if line.startswith("{"):
            line = json.dumps({**json.loads(line), "peak_mb": round(usage.ru_maxrss / 1024)})
        print(line)
    return os.waitstatus_to_exitcode(status)


sys.exit(main())
