"""Which worker process this is: for iterable data sets, which share out what they give."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import *  # noqa: F403

_info: WorkerInfo | None = None


class WorkerInfo:
    """`id` of `num_workers`, the worker's `seed`, and its copy of the `dataset`."""

    __slots__ = ("id", "num_workers", "seed", "dataset")

    def __init__(self, id: int, num_workers: int, seed: int, dataset: Any) -> None:
        self.id, self.num_workers, self.seed, self.dataset = id, num_workers, seed, dataset


def get_worker_info() -> WorkerInfo | None:
    """In a worker process of a DataLoader, which one it is; elsewhere None. As torch.utils.data.get_worker_info(), which
    knows the same, and for those who have no PyTorch."""
    return _info


def tell(id, num_workers, seed, dataset):
    """This process is a worker."""
    global _info
    _info = WorkerInfo(id, num_workers, seed, dataset)
    if "torch" in sys.modules:
        from torch.utils.data._utils import worker

        worker._worker_info = worker.WorkerInfo(id=id, num_workers=num_workers, seed=seed, dataset=dataset)
