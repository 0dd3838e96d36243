"""MindSpore's communication: which of the ranks this process is."""

from .management import get_group_size, get_local_rank, get_rank, init, release

__all__ = ["get_group_size", "get_local_rank", "get_rank", "init", "release"]
