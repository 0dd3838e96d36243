"""Batches on a device, two ahead of the consumer: copied while it computes, by a stream of its own.

Who waits for whom: the memory of a batch on the host is kept until its copy is over; the consumer's stream waits for the
copy of the batch that it gets; memory on the card is not used again before the consumer's stream has passed its last
use; the host is two steps ahead of the card at most, so that no more batches gather there.
"""

from __future__ import annotations

import collections
import contextlib

from ._tail import Unfinished
from ._values import each, is_on_host, is_strided, is_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import *  # noqa: F403

AHEAD = 2  # batches that are copied beyond the one that is delivered


def lane_of(device):
    """The way of a loader's batches to a device."""
    return Card(device) if device.type == "cuda" else Host(device)


def ahead(batches, lane, pin):
    """(value on the device, state, last) for each (value, state, last) of the host.

    pin: `pin(value)` is the value in memory that the device copies from
    An exception comes in its turn, behind the batches before it.
    """
    waiting = collections.deque()  # for the consumer
    copies = collections.deque()  # (event, value on the host)
    steps = collections.deque()  # events behind what the consumer has asked of the device
    error, more = None, True
    try:
        while True:
            while more and len(waiting) <= AHEAD:
                _let_go(copies)
                try:
                    host, state, last = next(batches)
                    host = pin(host)
                    value, done = lane.copied(host)
                except StopIteration:
                    more = False
                except Exception as raised:
                    error, more = raised, False
                else:
                    copies.append((done, host))
                    waiting.append((value, done, state, last))
                    del host, value
            if not waiting:
                break
            value, done, state, last = waiting.popleft()
            value = lane.handed_over(value, done)
            yield value, state, last
            del value
            steps.append(lane.mark())
            if len(steps) > AHEAD:
                steps.popleft().synchronize()
        if error is not None:
            raise error
    finally:
        error = None  # it holds this frame
        with contextlib.suppress(RuntimeError):  # of a card that is lost, and its copies with it
            for done, _ in copies:
                done.synchronize()
        copies.clear()


def _let_go(copies):
    """Gives back what has been copied; waits where more than AHEAD batches have not."""
    while copies and (len(copies) > AHEAD or copies[0][0].query()):
        copies[0][0].synchronize()
        copies.popleft()


class Host:
    """A device without streams: what is asked of it is over when the call returns."""

    def __init__(self, device):
        self.device = device

    def copied(self, value) -> tuple[Any, Any]:
        """(the value on the device, an event behind its copy)."""
        return _over(value, self._copy), Over()

    def _copy(self, leaf):
        return leaf.finished(self._copy) if isinstance(leaf, Unfinished) else leaf.to(self.device)

    def handed_over(self, value, done):
        """The value, which the consumer may use from now on."""
        return value

    def mark(self) -> Any:
        """An event behind all that the consumer has asked of the device so far."""
        return Over()


class Over:
    """An event of the past."""

    def query(self):
        return True

    def synchronize(self):
        pass


class Card(Host):
    """A CUDA card: copies, and what finishes pictures, are in a stream beside the consumer's."""

    def __init__(self, device):
        import torch

        super().__init__(device)
        self._cuda = torch.cuda
        self._no_inference = lambda: torch.inference_mode(False)  # that the consumer may be in is not the batch's
        # Before others where the card has a choice: a step that is full of work would delay the next batches.
        self._stream = torch.cuda.Stream(device, priority=-1)

    def copied(self, value):
        with self._no_inference(), self._cuda.stream(self._stream):
            made = _over(value, self._copy)
            done = self._event()
            done.record(self._stream)
        return made, done

    def _copy(self, leaf):
        if isinstance(leaf, Unfinished):
            return leaf.finished(self._copy)
        return leaf.to(self.device, non_blocking=True) if is_on_host(leaf) else leaf

    def handed_over(self, value, done):
        stream = self._cuda.current_stream(self.device)
        stream.wait_event(done)

        def arrived(leaf):
            if not is_strided(leaf) or leaf.device != self.device:
                return leaf.to(self.device)  # it was left where it was
            leaf.record_stream(stream)
            return leaf

        return _over(value, arrived)

    def mark(self):
        event = self._event()
        event.record(self._cuda.current_stream(self.device))
        return event

    def _event(self):
        return self._cuda.Event(blocking=True)  # who waits for it leaves the core to the workers


def _over(value, move):
    """The same containers with `move(leaf)` for every tensor, and whatever else has a method `to`."""
    if isinstance(value, Unfinished) or is_tensor(value) or callable(getattr(type(value), "to", None)):
        return move(value)
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(_over(inner, move) for inner in value)
    return each(value, lambda inner: _over(inner, move))
