"""Streams whose pictures go to the engine: samples are drawn by one thread after the other, in the stream's order."""

from __future__ import annotations

import threading

from ._made import Maker
from ._pictures import Pictures
from ._run import Iterator, at_epoch, following
from ._samples import stream_input
from ._steps import steered_by_boxes


TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import *  # noqa: F403


class StreamEngine:
    """What a DataLoader runs over an iterable data set where the engine makes its pictures."""

    graph = None  # of the epoch at work alone

    def __init__(self, recipe, order, image, label, of_pictures: tuple[Any, Any, Any, Any], options):
        self._recipe, self._order, self._image, self._label = recipe, order, image, label
        self._of_pictures, self._options = of_pictures, options
        self.iterator: Iterator | None = None

    def __len__(self):
        return len(self._order)

    def go_to(self, state):
        return self._order.go_to(state)

    def forget(self):
        self.iterator = None

    def batches(self, state, timeout):
        recipe, epoch = self._recipe, state["epoch"]
        window = _Window(Maker(recipe), recipe.batch_size)
        first = window.first()
        if first is None:
            return
        source = stream_input(window.take, first[0], self._image, self._label, recipe.options,
                              steered_by_boxes(self._of_pictures[0]))
        pictures = Pictures(source, *self._of_pictures, recipe.options, recipe.collate_fn)
        graph = pictures.of(source.dataset).batch(recipe.batch_size).with_seed(state["seed"])
        self.close()
        self.iterator = at_epoch(graph, epoch, **pictures.settled(graph, {**self._options, "seed": state["seed"]}))
        try:
            for number in range(1 << 62):
                if self.iterator is None:
                    return
                batch = following(self.iterator, timeout)
                rows = sum(1 for packed in batch["rest"] if packed)
                over = rows < len(batch["rest"])
                if rows and not (over and recipe.drop_last) and number >= state["delivered"]:
                    value = pictures.delivered(batch, rows)
                    del batch
                    yield value, self._order.after(epoch, number), False
                    del value
                if over:
                    return
        finally:
            self.close()

    def stats(self):
        return self.iterator.stats() if self.iterator else {}

    def bad_samples(self):
        return 0  # streams know but errors

    def close(self):
        if self.iterator is not None:
            self.iterator.close()
            self.iterator = None


class _Window:
    """Samples of an iterator by their number, each once, whoever asks first."""

    def __init__(self, maker, batch_size):
        self._maker, self._batch_size = maker, batch_size
        self._lock = threading.Lock()
        self._samples = {}
        self._drawn = 0
        self._ended = False

    def first(self):
        """[the first sample]; None: there is none."""
        with self._lock:
            self._draw(0)
            return [self._samples[0]] if self._samples else None

    def take(self, index):
        """The sample; None behind the last one in its batch. Batches behind it are nobody's."""
        with self._lock:
            self._draw(index)
            if index < self._drawn:
                return self._samples.pop(index)
            if index >= -(-self._drawn // self._batch_size) * self._batch_size + self._batch_size:
                raise IndexError("the stream is over")
            return None

    def _draw(self, index):
        while self._drawn <= index and not self._ended:
            sample = self._maker.next_sample()
            if sample is None:
                self._ended = True
            else:
                self._samples[self._drawn] = sample[0]
                self._drawn += 1
