"""PyTorch's steps (torch_work.py) with one number of threads after another, in one process: bench/scaling.sh asks.

Each line of standard input is MODEL:BATCH:PRECISION, a number of threads and the processors they run on, with commas
between. The answer is a JSON object on a line: the median of up to five steps or some two seconds of them, behind two
that warm up, or one where it takes over a second. Every thread of the process moves to those processors.
"""

import json
import os
import statistics
import sys
import time

import torch

from torch_work import training_step


def move_to(processors):
    for thread in os.listdir("/proc/self/task"):
        try:
            os.sched_setaffinity(int(thread), processors)
        except ProcessLookupError:  # the loader has ended
            pass


def timed(step):
    begin = time.perf_counter()
    step()
    return time.perf_counter() - begin


def measured(step):
    warm = timed(step)
    if warm < 1:
        warm = timed(step)
    times = []
    while len(times) < 5 and (not times or sum(times) < 2):
        times.append(timed(step))
    return times


def main():
    made = {}
    for line in sys.stdin:
        case, threads, processors = line.split()
        model, batch, precision = case.split(":")
        move_to([int(p) for p in processors.split(",")])
        torch.set_num_threads(int(threads))
        if case not in made:
            made.clear()  # the memory of only one model at a time
            made[case] = training_step(model, int(batch), 1, precision)
        times = measured(made[case])
        ms = 1e3 * statistics.median(times)
        print(json.dumps({"ms_per_step": ms, "ms_fastest": 1e3 * min(times), "ms_slowest": 1e3 * max(times),
                          "steps": len(times), "images_per_second": 1e3 * int(batch) / ms}), flush=True)


main()
