"""What makes the batches of a DataLoader: the engine, from rows or from a stream, or Python."""

from __future__ import annotations

from typing import NamedTuple

from .._core import ArgumentError
from ._arguments import length_of, refuse
from ._orders import is_own, ordered, own_order
from ._samples import is_stream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import *  # noqa: F403


class Order:
    """Which samples come when."""

    def __init__(self, sampler, batch_sampler, shuffle, batch_size, drop_last, rank, world_size):
        self.sampler, self.batch_sampler, self.shuffle = sampler, batch_sampler, shuffle
        self.batch_size, self.drop_last = batch_size, drop_last
        self.rank, self.world_size = rank, world_size

    @property
    def own(self):
        """Whether code of the user's chooses the samples."""
        return self.batch_sampler is not None or is_own(self.sampler)

    def of_own(self, seed, **usual):
        """The order that this code gives. usual: of OwnOrder"""
        from ._rows import OwnOrder

        own_order(self.sampler, self.batch_sampler, self.shuffle, self.batch_size, self.drop_last, self.rank,
                  self.world_size)
        if self.batch_sampler is not None:
            return OwnOrder("batch_sampler", seed, self.batch_sampler, **usual)
        return OwnOrder("sampler", seed, self.sampler, self.batch_size, self.drop_last, **usual)

    def of(self, dataset):
        """(the data set in this order, [the sampler whose set_epoch counts, the epoch that was seen last], or None)."""
        chosen, sampler = ordered(dataset, self.shuffle, self.sampler, self.rank, self.world_size)
        return chosen, sampler and [sampler, sampler.epoch]

    def of_stream(self, dataset, bad_samples, seed):
        """The order of an iterable data set: its own."""
        from ._rows import OwnOrder

        for name, value in (("sampler", self.sampler), ("batch_sampler", self.batch_sampler),
                            ("shuffle", self.shuffle or None)):
            refuse(name, value, "an iterable data set has an order of its own")
        if self.world_size != 1:
            raise ArgumentError("an iterable data set gives each rank its own part: leave out rank and world_size")
        if bad_samples != "raise":
            raise ArgumentError(f"bad_samples={bad_samples!r} needs samples by index: an iterator that raised is over")
        if hasattr(dataset, "__next__") and not hasattr(dataset, "reset"):
            raise ArgumentError(f"the data set is a {type(dataset).__name__}, which runs once: give an object whose "
                                "__iter__ begins anew")

        def length():
            count = len(dataset)
            if self.batch_size is None:
                return count
            return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

        return OwnOrder("stream", seed, batch_size=self.batch_size, drop_last=self.drop_last, length=length)


class Workers(NamedTuple):
    """Processes of Python that make batches."""

    number: int
    prefetch: int | None
    context: Any
    init: Any
    timeout: float


class Bad(NamedTuple):
    """What happens on bad samples: 'raise', 'skip' or 'replace', how many there may be, and the file that lists them."""

    action: str
    budget: int
    quarantine: Any


def by_engine(source, order, pictures, transform, seed, run):
    """(batches that the engine makes, what Order.of says of its sampler)."""
    from ._engine import Engine, OwnEngine, rows_of

    if order.own:
        place = order.of_own(seed, usual_seed=source.dataset.seed)
        if source.dataset._core.batched() or order.batch_size is None:
            raise ArgumentError("a sampler of your own chooses samples: give a dataset before batch(), and batch_size")

        def make(indices, size, seed):
            return pictures.of(rows_of(source.dataset, indices)).batch(size).with_seed(seed)

        usual = pictures.settled(pictures.of(source.dataset).batch(1), run)
        return OwnEngine(make, place, pictures.delivered, usual), None
    followed = None
    if order.batch_size is None:
        graph = _batched(source.dataset, transform, order)
    else:
        chosen, followed = order.of(source.dataset)
        graph = pictures.of(chosen).batch(order.batch_size, drop_remainder=order.drop_last)
    # The seed of a state counts unless one is given here.
    graph = graph if seed is None else graph.with_seed(seed)
    return Engine(graph, pictures.delivered, pictures.settled(graph, run, own=order.batch_size is not None)), followed


def by_engine_of_stream(dataset, order, options, collate_fn, image, label, of_pictures, seed, run):
    """Batches of an iterable data set whose pictures the engine makes."""
    from ._made import Recipe
    from ._stream import StreamEngine

    if order.batch_size is None:
        raise ArgumentError("batch_size=None delivers samples one by one: give a batch_size, or leave out transform= "
                            "and image=")
    place = order.of_stream(dataset, run["bad_samples"], seed)
    recipe = Recipe(dataset, True, order.batch_size, order.drop_last, collate_fn, options, "raise", seed or 0)
    return StreamEngine(recipe, place, image, label, of_pictures, run)


def by_python(dataset, order, options, collate_fn, turns, given, workers, seed, bad):
    """(batches that Python code makes, here or in worker processes; what Order.of says of its sampler)."""
    from ._made import Recipe
    from ._rows import Account, GraphOrder, Here, Processes, Rows

    for name, value in given.items():
        if value is not None:
            raise ArgumentError(f"{name} is for samples with pictures that go to the engine: give transform= or "
                                "image=, too")
    if workers.number == 0:
        for name, value in (("prefetch_factor", workers.prefetch), ("multiprocessing_context", workers.context),
                            ("timeout", workers.timeout or None)):
            refuse(name, value, "with num_workers=0 there are no worker processes")
    alone = order.batch_size is None and order.batch_sampler is None
    if alone and bad.action != "raise":
        raise ArgumentError(f"bad_samples={bad.action!r} needs batches: give a batch_size")
    stream = is_stream(dataset)
    rows = followed = None
    if stream:
        place = order.of_stream(dataset, bad.action, seed)
    elif order.own:
        place = order.of_own(seed)
        rows = length_of(dataset) if bad.action == "replace" else None
    else:
        from .. import data
        import numpy as np

        rows = length_of(dataset)
        if rows == 0:
            raise ArgumentError("the data set is empty")
        graph, followed = order.of(data.InMemory({"index": np.arange(rows)}))
        graph = graph.batch(1 if alone else order.batch_size, drop_remainder=order.drop_last)
        place = GraphOrder(graph if seed is None else graph.with_seed(seed), alone, seed)
    recipe = Recipe(dataset, stream, order.batch_size if order.batch_sampler is None else 0, order.drop_last, collate_fn,
                    options, bad.action, 0 if seed is None else seed, rows)
    by = Processes(recipe, turns, workers.number, workers.prefetch or 2, workers.context, workers.init) \
        if workers.number else Here(recipe, turns)
    return Rows(place, by, Account(bad.budget, bad.quarantine)), followed


def _batched(dataset, transform, order):
    given = {"transform": transform, "shuffle": order.shuffle, "sampler": order.sampler,
             "drop_last": order.drop_last or None}
    for name, value in given.items():
        if value is not None:
            raise ArgumentError(f"batch_size=None takes the batches of the dataset: {name} belongs into it")
    if not dataset._core.batched():
        raise ArgumentError("batch_size=None needs a dataset that ends in batches: call batch() on it")
    return dataset
