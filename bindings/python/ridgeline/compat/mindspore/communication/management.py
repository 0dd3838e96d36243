"""MindSpore's communication: which of the ranks this process is, as its launcher has said."""

from .... import _core, train

_ready = False


def init(backend_name=None):
    """Before get_rank() and get_group_size().

    backend_name: "nccl", "hccl", "mccl" or None: ranks find each other as `ridgeline launch` or mpirun has started them,
        at their first train()
    """
    global _ready
    if backend_name not in (None, "nccl", "hccl", "mccl"):
        raise ValueError(f"The argument 'backend_name' is {backend_name!r} (allowed: hccl, nccl, mccl, None)")
    train.rank()  # who this is, or what the environment says wrongly
    _ready = True


def _check(what):
    if not _ready:
        raise RuntimeError(f"{what}: the communication has not been initialised, call init() first")


def get_rank(group=None):
    """The number of this rank, from 0."""
    _check("get_rank()")
    return train.rank()


def get_group_size(group=None):
    """How many ranks there are."""
    _check("get_group_size()")
    return train.ranks()


def get_local_rank(group=None):
    """The number of this rank among those of its machine, from 0."""
    _check("get_local_rank()")
    return _core.own_local_rank()


def release():
    """The end of what init() began."""
    global _ready
    _ready = False
