"""PyTorch's own threads, within threads of the engine."""

from __future__ import annotations

import ctypes
import functools
import os
import re


def compute_alone(torch) -> None:
    """Ops of PyTorch that this thread calls run in it alone. torch.set_num_threads() would be for all threads that have
    not called one yet."""
    settle = getattr(torch, "get_num_threads", None)
    if settle is None:  # it is being imported
        return
    settle()  # takes the program's number over, which the thread's first op would do otherwise
    for library in _openmp():
        library.omp_set_num_threads(1)


@functools.cache
def _openmp():
    """OpenMP's libraries in this process."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            paths = {line.rstrip("\n").split(maxsplit=5)[5] for line in maps if line.count("/")}
    except OSError:
        return []
    return [ctypes.CDLL(path) for path in sorted(paths) if re.match(r"lib(gomp|omp|iomp5)\b", os.path.basename(path))]
