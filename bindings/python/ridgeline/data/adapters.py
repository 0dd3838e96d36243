"""One line for those who bring a loader of PyTorch's, or a trainer that asks for one: the same batches by this package.

    loader = adapters.replaced(torch_loader)                                     # of PyTorch's DataLoader
    trainer = adapters.hugging_face(Trainer)(model, args, train_dataset=train)   # transformers
    loader = accelerator.prepare(...) -> adapters.accelerate(accelerator, loader)
    learner = Learner(adapters.fastai(train, valid), model, ...)
    model.fit(adapters.keras(loader), steps_per_epoch=len(loader), epochs=5)     # Keras 3 on PyTorch

Lightning takes a DataLoader as it is. Each imports its package when it is called.
"""

from __future__ import annotations

from .._core import ArgumentError
from ._loader import DataLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import *  # noqa: F403

__all__ = ["accelerate", "fastai", "hugging_face", "keras", "replaced"]


def replaced(loader: Any, **options: Any) -> DataLoader:
    """A DataLoader with the data set, order, batches and collate_fn of a loader of PyTorch's.

    options: further arguments of DataLoader, or others than the loader's
    """
    from torch.utils import data

    if not isinstance(loader, data.DataLoader):
        raise ArgumentError(f"replaced takes a DataLoader of torch.utils.data, not {type(loader).__name__}")
    given: dict[str, Any] = {"num_workers": loader.num_workers, "pin_memory": loader.pin_memory,
                             "timeout": loader.timeout, "collate_fn": loader.collate_fn}
    batches = loader.batch_sampler
    if isinstance(loader.dataset, data.IterableDataset):
        given.update(batch_size=loader.batch_size, drop_last=loader.drop_last)
    elif type(batches) is data.BatchSampler:  # its sampler has the order: one that was given leaves loader.sampler unused
        given.update(batch_size=batches.batch_size, drop_last=batches.drop_last, sampler=batches.sampler)
    elif batches is not None:
        given["batch_sampler"] = batches
    else:
        given.update(batch_size=loader.batch_size, drop_last=loader.drop_last, sampler=loader.sampler)
    if loader.batch_size is None and loader.batch_sampler is None and \
            getattr(loader.collate_fn, "__name__", "") == "default_convert":
        del given["collate_fn"]
    for name, absent in (("worker_init_fn", None), ("multiprocessing_context", None), ("generator", None),
                         ("persistent_workers", False)):
        value = getattr(loader, name)
        if value is not absent and name not in options:
            given[name] = value
    if loader.num_workers and loader.prefetch_factor not in (None, 2):
        given["prefetch_factor"] = loader.prefetch_factor
    return DataLoader(loader.dataset, **{**given, **options})


def hugging_face(trainer: type, evaluation: Mapping[str, Any] | None = None, **options: Any) -> type:
    """The class of a Trainer of transformers, whose loaders are replaced.

    trainer: the class, transformers.Trainer or one of your own made of it
    evaluation: options of the loaders of evaluation and prediction that are others than those of training
    options: of DataLoader
    """
    options = {"worker_init_fn": None, **options}  # theirs only seeds
    others = {**options, **(evaluation or {})}

    class Replaced(trainer):  # type: ignore[misc, valid-type]
        def get_train_dataloader(self):
            return _OnDevice(replaced(_inner(super().get_train_dataloader()), **options), self.args.device)

        def get_eval_dataloader(self, *args, **kwargs):
            return _OnDevice(replaced(_inner(super().get_eval_dataloader(*args, **kwargs)), **others), self.args.device)

        def get_test_dataloader(self, *args, **kwargs):
            return _OnDevice(replaced(_inner(super().get_test_dataloader(*args, **kwargs)), **others), self.args.device)

    Replaced.__name__ = Replaced.__qualname__ = trainer.__name__
    return Replaced


def accelerate(accelerator: Any, loader: DataLoader | Any) -> Any:
    """The batches of a loader on the accelerator's device: a DataLoader for this process's part, or PyTorch's, replaced.

    In a job of several processes give a DataLoader made with rank=accelerator.process_index and
    world_size=accelerator.num_processes.
    """
    return _OnDevice(loader if isinstance(loader, DataLoader) else replaced(loader), accelerator.device)


def fastai(train: Any, valid: Any, device: Any = None) -> Any:
    """DataLoaders of fastai from two loaders of batches (inputs, targets).

    train, valid: DataLoaders of this package
    device: that tensors are moved to; absent: they stay where they are
    """
    from fastai.data.core import DataLoaders

    return DataLoaders(_OnDevice(train, device), _OnDevice(valid, device), device=device)


def keras(loader: DataLoader, channels_last: bool | None = None) -> Any:
    """The batches of all epochs as Model.fit of Keras takes them, one after the other: give it steps_per_epoch=len(loader).

    channels_last: of pictures; absent: as Keras is configured
    """
    if channels_last is None:
        import keras as keras_package

        channels_last = keras_package.config.image_data_format() == "channels_last"

    def batches():
        while True:
            for batch in loader:
                yield tuple(part.movedim(1, -1) if channels_last and part.ndim == 4 else part for part in batch)

    return batches()


def _inner(loader):
    """PyTorch's loader inside of one that accelerate has prepared."""
    from torch.utils import data

    base = getattr(loader, "base_dataloader", loader)
    return base if isinstance(base, data.DataLoader) else loader


class _OnDevice:
    """A loader whose tensors are on a device; None: where they are. All else is the loader's."""

    def __init__(self, loader, device):
        self._loader, self._device = loader, device

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def __len__(self):
        return len(self._loader)

    def __iter__(self):
        for batch in self._loader:
            yield batch if self._device is None else _moved(batch, self._device)

    def to(self, device):
        self._device = device
        return self


def _moved(value, device):
    from torch.utils._pytree import tree_map

    return tree_map(lambda leaf: leaf.to(device, non_blocking=True) if hasattr(leaf, "to") else leaf, value)
