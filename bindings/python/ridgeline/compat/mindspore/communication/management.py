"""MindSpore's communication, of one rank: a Python program trains alone, several ranks by the command line."""

import os

_ready = False


def init(backend_name=None):
    """Before get_rank() and get_group_size().

    backend_name: "nccl", "hccl", "mccl" or None: there is one rank, which asks nobody
    """
    global _ready
    if backend_name not in (None, "nccl", "hccl", "mccl"):
        raise ValueError(f"The argument 'backend_name' is {backend_name!r} (allowed: hccl, nccl, mccl, None)")
    for name in ("RANK_SIZE", "OMPI_COMM_WORLD_SIZE", "MS_WORKER_NUM"):
        size = os.environ.get(name, "1")
        if size not in ("", "1"):
            raise RuntimeError(f"{name} is {size}: a Python program trains as one rank; several train by the command "
                               "line: ridgeline launch")
    _ready = True


def _check(what):
    if not _ready:
        raise RuntimeError(f"{what}: the communication has not been initialised, call init() first")


def get_rank(group=None):
    """The number of this rank, 0."""
    _check("get_rank()")
    return 0


def get_group_size(group=None):
    """How many ranks there are, 1."""
    _check("get_group_size()")
    return 1


def get_local_rank(group=None):
    """As get_rank(), on this machine."""
    _check("get_local_rank()")
    return 0


def release():
    """The end of what init() began."""
    global _ready
    _ready = False
