"""timm's create_loader with the loader of this package inside: `from ridgeline.data.timm import create_loader`.

timm makes its transforms, samplers, collate functions and its prefetcher, and says what their arguments mean; the
loader in the middle is this package's. What its transforms and the engine have in common runs there: crops with any of
timm's interpolations, flips, colours, erasing. RandAugment, AutoAugment and AugMix of timm run in Python behind it, as
timm has them, which a warning says.
"""

from __future__ import annotations

import copy
import inspect
import warnings

from .._core import ArgumentError
from . import adapters

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import *  # noqa: F403

__all__ = ["create_loader"]


def create_loader(*args: Any, seed: int | None = None, **options: Any) -> Any:
    """As timm.data.create_loader, with its arguments and defaults.

    seed: of the order and of all random numbers of the engine
    num_workers: where the engine makes the pictures, threads; 0: one per core
    """
    theirs = _timm().create_loader
    given = inspect.signature(theirs).bind(*args, **options)
    given.apply_defaults()
    made = theirs(*given.args, **given.kwargs)
    prefetches = bool(given.arguments["use_prefetcher"])
    loader = _replaced(made.loader if prefetches else made, given.arguments, seed)
    if not prefetches:
        return loader
    made.loader = loader
    return made


def _timm() -> Any:
    try:
        import timm.data
    except ImportError as error:
        raise ArgumentError(f"create_loader needs timm: {error}") from None
    return timm.data


def _replaced(loader, given, seed):
    """PyTorch's loader by ours; its pictures by the engine where samples are (picture, label)."""
    from timm.data.loader import fast_collate
    from torch.utils import data

    dataset, options = loader.dataset, {} if seed is None else {"seed": seed}
    if given.get("use_multi_epochs_loader"):  # what that is for, this one does anyway
        loader = data.DataLoader(dataset, loader.batch_size, sampler=loader.batch_sampler.sampler.sampler
                                 if loader.batch_size is None else getattr(loader.sampler, "sampler", loader.sampler),
                                 drop_last=loader.drop_last, num_workers=loader.num_workers,
                                 collate_fn=loader.collate_fn, pin_memory=loader.pin_memory)
    if isinstance(dataset, data.IterableDataset) or not _is_one_picture(dataset):
        return adapters.replaced(loader, **options)
    if given.get("worker_seeding", "all") != "all":
        raise ArgumentError("worker_seeding is for worker processes, the engine's threads have their numbers from seed=")
    bare = copy.copy(dataset)
    bare.transform = None
    if loader.collate_fn is fast_collate:  # batches are what it makes
        options["collate_fn"] = None
    said = _said(dataset.transform)
    if said:
        warnings.warn(f"timm's {said} runs in Python, behind what the engine does", stacklevel=4)
    return adapters.replaced(_with_dataset(loader, bare), transform=dataset.transform, untranslatable="python",
                             worker_init_fn=None, **options)


def _is_one_picture(dataset):
    kind = type(dataset)
    return hasattr(dataset, "transform") and not (kind.__module__.startswith("timm.") and kind.__name__ != "ImageDataset")


def _said(transform):
    from ._torchvision import translate

    python = translate(transform, untranslatable="python").python
    return type(python[0]).__name__ if python else ""


def _with_dataset(loader, dataset):
    """The loader's view over another data set."""
    other = copy.copy(loader)
    object.__setattr__(other, "dataset", dataset)
    return other
