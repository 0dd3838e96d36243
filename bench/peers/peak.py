"""Runs a command and adds to the JSON object that it prints: "peak_mb", the largest resident memory of its process;
"cpu_seconds", the processor time of all its threads from start to end; "cpu_share", these over cores x wall time.

    python3 bench/peers/peak.py COMMAND ...

Everything else that the command prints is passed on. Exits as the command does.
"""

import json
import os
import subprocess
import sys
import time


def main():
    begin = time.perf_counter()
    child = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, text=True)
    lines = child.stdout.read().splitlines()
    _, status, usage = os.wait4(child.pid, 0)  # of only this child, unlike RUSAGE_CHILDREN
    wall, cpu = time.perf_counter() - begin, usage.ru_utime + usage.ru_stime
    added = {"peak_mb": round(usage.ru_maxrss / 1024), "cpu_seconds": round(cpu, 2),
             "cpu_share": round(cpu / (len(os.sched_getaffinity(0)) * wall), 3)}
    for line in lines:
        if line.startswith("{"):
            line = json.dumps({**json.loads(line), **added})
        print(line)
    return os.waitstatus_to_exitcode(status)


sys.exit(main())
