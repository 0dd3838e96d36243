"""What a DataLoader runs where the engine makes the batches: a graph, in its own order or in one of the user's."""

from __future__ import annotations

import itertools
import random

from .._core import ArgumentError, RunError
from ._run import Iterator, Opened, at_epoch, following

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._graph import Dataset

_CHUNK = 1 << 16  # indices of a user's order that one graph holds


class Engine(Opened):
    """A graph in its own order. `deliver(batch, rows)` makes the value of a batch."""

    def __init__(self, graph, deliver, options):
        super().__init__(graph, options)
        self._deliver = deliver

    def batches(self, state, timeout):
        """(value, the state after it, whether it is the epoch's last)."""
        iterator = self.opened()
        while True:
            batch = following(iterator, timeout)
            last = batch.last_of_epoch
            value = self._deliver(batch, batch.rows)  # where collate_fn raises, the batch was not delivered
            after = batch.state_after()
            del batch
            yield value, after, last
            del value
            if last:
                return

    def stats(self):
        return self.iterator.stats() if self.iterator else {}

    def bad_samples(self):
        return self.iterator.bad_samples() if self.iterator else 0


class OwnEngine:
    """A graph over indices that a sampler of the user's gives anew in every epoch.

    make: `make(indices, batch size, seed)` gives the graph of these rows in this order. An index that comes again draws
    its random numbers anew.
    """

    def __init__(self, make, order, deliver, options):
        self._make, self._order, self._deliver, self._options = make, order, deliver, options
        self.graph: Dataset | None = None  # of the indices at work
        self.iterator: Iterator | None = None
        self._bad = 0

    def __len__(self):
        return len(self._order)

    def go_to(self, state):
        return self._order.go_to(state)

    def forget(self):
        self.iterator = None

    def batches(self, state, timeout):
        # From the epoch's beginning, wherever it goes on: an index that comes again is known as such.
        epoch, skipped = state["epoch"], state["delivered"]
        batches = self._order.batches(epoch, 0)
        for number in itertools.count():
            if not (chunk := _take(batches)):
                return
            if skipped < len(chunk):
                yield from self._run(chunk, skipped, _seed_of(state["seed"], number), epoch, timeout)
            skipped = max(0, skipped - len(chunk))

    def _run(self, chunk, skipped, seed, epoch, timeout):
        size = max(len(indices) for indices, _ in chunk)
        # Shorter batches are padded with rows that nobody gets: the engine's batches have one size, except the last.
        filled = any(len(indices) < size for indices, _ in chunk[:-1])
        if filled and self._options["bad_samples"] == "skip":
            raise ArgumentError("bad_samples='skip' needs batches of one size, batch_sampler gives several: take "
                                "'replace'")
        rows = [index for indices, _ in chunk for index in (_filled(indices, size) if filled else indices)]
        self.close()
        self.graph = self._make(rows, size, seed)
        self.iterator = at_epoch(self.graph, epoch, skipped, **{**self._options, "seed": seed})
        try:
            for indices, after in chunk[skipped:]:
                if self.iterator is None:
                    return
                batch = following(self.iterator, timeout)
                value = self._deliver(batch, min(batch.rows, len(indices)))
                del batch
                yield value, after, after["epoch"] != epoch
                del value
        finally:
            self.close()

    def stats(self):
        return self.iterator.stats() if self.iterator else {}

    def bad_samples(self):
        return self._bad + (self.iterator.bad_samples() if self.iterator else 0)

    def close(self):
        if self.iterator is not None:
            self._bad += self.iterator.bad_samples()
            self.iterator.close()
            self.iterator = None


def _seed_of(seed, number):
    """Of a part of the epoch: an index of an earlier part draws anew, too."""
    return random.Random(f"{seed} {number}").getrandbits(63) if number else seed


def _take(batches):
    chunk, rows = [], 0
    for indices, after in batches:
        if not indices:
            raise RunError("batch_sampler gave an empty batch")
        chunk.append((_whole(indices), after))
        rows += len(indices)
        if rows >= _CHUNK:
            break
    return chunk


def _whole(indices):
    made = []
    for index in indices:
        if not hasattr(index, "__index__") or isinstance(index, bool):
            raise RunError(f"the sampler gave {index!r}, a {type(index).__name__}, it must give whole numbers")
        made.append(index.__index__())
    return made


def _filled(indices, size):
    return itertools.islice(itertools.chain(indices, itertools.repeat(indices[0])), size)


def rows_of(dataset, indices):
    """The dataset's rows in this order. The second and further copies of a row are records of their own."""
    from .. import data

    count = dataset.num_samples()
    if count < 0:
        raise ArgumentError("a sampler of your own needs a data set whose number of samples is known")
    seen, places = {}, []
    for index in indices:
        at = index + count if index < 0 else index
        if not 0 <= at < count:
            raise RunError(f"the sampler gave {index}, the data set has {count} samples")
        copy = seen.get(at, 0)
        seen[at] = copy + 1
        places.append(at + copy * count)
    copies = max(seen.values(), default=1)
    if copies > 1:
        dataset = data.concat([dataset] * copies)
    return dataset.sample(data.SubsetSampler(places))
