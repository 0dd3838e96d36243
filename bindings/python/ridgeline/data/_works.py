"""What makes a DataLoader's batches: the engine, the engine of the pictures of an iterable data set, or Python.

`dataset` is the user's, `samples_of` what stands for it where a transform has been taken out of it. `order` is the
sampler, batch_sampler, shuffle, batch_size, drop_last, rank and world_size that were asked for.
"""

from __future__ import annotations

from .._core import ArgumentError
from ._arguments import length_of, refuse
from ._orders import is_own, ordered, own_order
from ._samples import is_stream


def of_engine(source, order, pictures, batched, seed, run):
    """Batches that the engine makes; and [sampler, its epoch] where a sampler's set_epoch counts, else None."""
    from ._engine import Engine, OwnEngine, rows_of
    from ._rows import OwnOrder

    sampler, batch_sampler, shuffle, batch_size, drop_last, rank, world_size = order
    if batch_sampler is not None or is_own(sampler):
        own_order(sampler, batch_sampler, shuffle, batch_size, drop_last, rank, world_size)
        if source.dataset._core.batched() or batch_size is None:
            raise ArgumentError("a sampler of your own chooses samples: give a dataset before batch(), and batch_size")
        if batch_sampler is not None:
            order = OwnOrder("batch_sampler", seed, batch_sampler, usual_seed=source.dataset.seed)
        else:
            order = OwnOrder("sampler", seed, sampler, batch_size, drop_last, usual_seed=source.dataset.seed)

        def make(indices, size, seed):
            return pictures.of(rows_of(source.dataset, indices)).batch(size).with_seed(seed)

        run = pictures.settled(pictures.of(source.dataset).batch(1), run)
        return OwnEngine(make, order, pictures.delivered, run), None
    followed = None
    if batch_size is None:
        graph = _batched(source.dataset, batched, shuffle, sampler, drop_last)
    else:
        chosen, followed = _followed(*ordered(source.dataset, shuffle, sampler, rank, world_size))
        graph = pictures.of(chosen).batch(batch_size, drop_remainder=drop_last)
    # The seed of a state counts unless one is given here.
    graph = graph if seed is None else graph.with_seed(seed)
    return Engine(graph, pictures.delivered, pictures.settled(graph, run, own=batch_size is not None)), followed


def of_stream(dataset, samples_of, order, collate_fn, options, image, label, of_pictures, seed, run):
    """Batches of an iterable data set whose pictures the engine makes."""
    from ._made import Recipe
    from ._stream import StreamEngine

    batch_size, drop_last = order[3:5]
    if batch_size is None:
        raise ArgumentError("batch_size=None delivers samples one by one: give a batch_size, or leave out transform= "
                            "and image=")
    place = _stream_order(dataset, order, run["bad_samples"], seed)
    recipe = Recipe(samples_of, True, batch_size, drop_last, collate_fn, options, "raise", seed or 0)
    return StreamEngine(recipe, place, image, label, of_pictures, run)


def of_python(dataset, samples_of, order, collate_fn, options, turns, given, workers, seed, bad_samples, budget,
              quarantine):
    """Batches that Python code makes, here or in worker processes, and what of_engine() gives beside them."""
    from ._made import Recipe
    from ._rows import Account, GraphOrder, Here, OwnOrder, Processes, Rows

    sampler, batch_sampler, shuffle, batch_size, drop_last, rank, world_size = order
    count, prefetch, timeout, context, init = workers
    for name, value in given.items():
        if value is not None:
            raise ArgumentError(f"{name} is for samples with pictures that go to the engine: give transform= or "
                                "image=, too")
    if count == 0:
        for name, value in (("prefetch_factor", prefetch), ("multiprocessing_context", context),
                            ("timeout", timeout or None)):
            refuse(name, value, "with num_workers=0 there are no worker processes")
    if batch_size is None and batch_sampler is None and bad_samples != "raise":
        raise ArgumentError(f"bad_samples={bad_samples!r} needs batches: give a batch_size")
    alone = batch_size is None and batch_sampler is None
    rows = followed = None
    if is_stream(samples_of):
        place = _stream_order(dataset, order, bad_samples, seed)
    elif batch_sampler is not None or is_own(sampler):
        own_order(sampler, batch_sampler, shuffle, batch_size, drop_last, rank, world_size)
        place = OwnOrder("sampler", seed, sampler, batch_size, drop_last) if batch_sampler is None else \
            OwnOrder("batch_sampler", seed, batch_sampler)
        rows = length_of(samples_of) if bad_samples == "replace" else None
    else:
        from .. import data
        import numpy as np

        rows = length_of(samples_of)
        if rows == 0:
            raise ArgumentError("the data set is empty")
        graph, followed = _followed(*ordered(data.InMemory({"index": np.arange(rows)}), shuffle, sampler, rank,
                                              world_size))
        graph = graph.batch(1 if alone else batch_size, drop_remainder=drop_last)
        place = GraphOrder(graph if seed is None else graph.with_seed(seed), alone, seed)
    recipe = Recipe(samples_of, is_stream(samples_of), batch_size if batch_sampler is None else 0, drop_last,
                    collate_fn, options, bad_samples, 0 if seed is None else seed, rows)
    by = Processes(recipe, turns, count, prefetch or 2, context, init) if count else Here(recipe, turns)
    return Rows(place, by, Account(budget, quarantine)), followed


def _stream_order(dataset, order, bad_samples, seed):
    from ._rows import OwnOrder

    sampler, batch_sampler, shuffle, batch_size, drop_last, _, world_size = order
    for name, value in (("sampler", sampler), ("batch_sampler", batch_sampler), ("shuffle", shuffle or None)):
        refuse(name, value, "an iterable data set has an order of its own")
    if world_size != 1:
        raise ArgumentError("an iterable data set gives each rank its own part: leave out rank and world_size")
    if bad_samples != "raise":
        raise ArgumentError(f"bad_samples={bad_samples!r} needs samples by index: an iterator that raised is over")
    if hasattr(dataset, "__next__") and not hasattr(dataset, "reset"):
        raise ArgumentError(f"the data set is a {type(dataset).__name__}, which runs once: give an object whose "
                            "__iter__ begins anew")

    def length():
        count = len(dataset)
        if batch_size is None:
            return count
        return count // batch_size if drop_last else -(-count // batch_size)

    return OwnOrder("stream", seed, batch_size=batch_size, drop_last=drop_last, length=length)


def _followed(dataset, sampler):
    return dataset, sampler and [sampler, sampler.epoch]


def _batched(dataset, transform, shuffle, sampler, drop_last):
    given = {"transform": transform, "shuffle": shuffle, "sampler": sampler, "drop_last": drop_last or None}
    for name, value in given.items():
        if value is not None:
            raise ArgumentError(f"batch_size=None takes the batches of the dataset: {name} belongs into it")
    if not dataset._core.batched():
        raise ArgumentError("batch_size=None needs a dataset that ends in batches: call batch() on it")
    return dataset
