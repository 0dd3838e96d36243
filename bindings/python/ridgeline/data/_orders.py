"""The order of samples that a DataLoader was asked for: as nodes of a graph, or the user's own."""

from __future__ import annotations

import sys

from .._core import ArgumentError
from ._samples import is_stream

_TRANSLATED = ("DistributedSampler", "RandomSampler", "SequentialSampler", "SubsetRandomSampler", "WeightedRandomSampler")


def is_own(sampler):
    """Whether the order comes from an object of the user's own, which is asked for it in every epoch."""
    from ._graph import Sampler

    if sampler is None or isinstance(sampler, Sampler):
        return False
    kind = type(sampler)
    if kind.__module__.startswith("torch.utils.data") and kind.__name__ in _TRANSLATED:
        return False
    if not hasattr(sampler, "__iter__"):
        raise ArgumentError(f"sampler is a {kind.__name__}, it must be a sampler or any iterable of indices")
    if hasattr(sampler, "__next__"):
        raise ArgumentError(f"sampler is a {kind.__name__}, which runs once: give an object whose __iter__ begins anew")
    return True


def ranks(rank, world_size, distributed):
    """(rank, world_size) as they were asked for."""
    if (rank is None) != (world_size is None):
        raise ArgumentError("give rank and world_size together")
    if not distributed:
        return (0, 1) if rank is None else (rank, world_size)
    if rank is not None:
        raise ArgumentError("give distributed=True, or rank and world_size")
    import torch.distributed as dist

    if not dist.is_available() or not dist.is_initialized():
        raise ArgumentError("distributed=True needs torch.distributed.init_process_group before")
    return dist.get_rank(), dist.get_world_size()


def _seed_of(sampler):
    """Of a sampler that was given a generator of its own; None: the loader's."""
    return None if sampler.generator is None else sampler.generator.initial_seed()


def shown(dataset, shuffle):
    """PyTorch's sampler for the order of a map-style data set, as its DataLoader has one; None where it has none.

    Trainers ask how long it is, and whether it is a SequentialSampler. Its own indices are nobody's.
    """
    torch = sys.modules.get("torch")
    if torch is None or is_stream(dataset) or isinstance(dataset, (str, list)) or \
            not (hasattr(dataset, "__getitem__") and hasattr(dataset, "__len__") and len(dataset)):
        return None
    return (torch.utils.data.RandomSampler if shuffle else torch.utils.data.SequentialSampler)(dataset)


def ordered(dataset, shuffle, sampler, rank, world_size):
    """The dataset in the order that was asked for, this rank's part of it; and a sampler whose epoch is followed."""
    from .. import data

    if dataset._core.batched():
        raise ArgumentError("the dataset is batched already: give batch_size=None")
    followed = None
    if sampler is not None:
        if shuffle:
            raise ArgumentError("give one of sampler and shuffle")
        kind = type(sampler).__name__
        if isinstance(sampler, data.Sampler):
            dataset = dataset.sample(sampler)
        elif kind == "DistributedSampler":
            if world_size != 1:
                raise ArgumentError("give one of DistributedSampler, rank and distributed")
            followed, shuffle, rank, world_size = sampler, sampler.shuffle, sampler.rank, sampler.num_replicas
            if shuffle:
                dataset = dataset.shuffle(seed=sampler.seed)
            shuffle = False
        elif kind == "RandomSampler":
            dataset = dataset.sample(data.RandomSampler(replacement=sampler.replacement, count=sampler.num_samples,
                                                        seed=_seed_of(sampler)))
        elif kind == "SubsetRandomSampler":
            dataset = dataset.sample(data.SubsetRandomSampler(list(sampler.indices), seed=_seed_of(sampler)))
        elif kind == "WeightedRandomSampler":
            weights = [float(w) for w in sampler.weights]
            dataset = dataset.sample(data.WeightedRandomSampler(weights, replacement=sampler.replacement,
                                                                count=sampler.num_samples, seed=_seed_of(sampler)))
    if shuffle:
        dataset = dataset.shuffle()
    if world_size != 1:
        dataset = dataset.shard(world_size, rank)
    return dataset, followed


def own_order(sampler, batch_sampler, shuffle, batch_size, drop_last, rank, world_size):
    """Checks what may stand beside a sampler of the user's own."""
    name = "sampler" if batch_sampler is None else "batch_sampler"
    if shuffle:
        raise ArgumentError(f"give one of {name} and shuffle")
    if world_size != 1:
        raise ArgumentError(f"a {name} of your own gives each rank its own indices: leave out rank and world_size")
    if batch_sampler is None:
        return
    given = {"sampler": sampler, "batch_size": None if batch_size == 1 else batch_size, "drop_last": drop_last or None}
    for other, value in given.items():
        if value is not None:
            raise ArgumentError(f"give one of batch_sampler and {other}")
    if not hasattr(batch_sampler, "__iter__"):
        raise ArgumentError(f"batch_sampler is a {type(batch_sampler).__name__}, it must be an iterable of lists of "
                            "indices")
    if hasattr(batch_sampler, "__next__"):
        raise ArgumentError(f"batch_sampler is a {type(batch_sampler).__name__}, which runs once: give an object whose "
                            "__iter__ begins anew")
