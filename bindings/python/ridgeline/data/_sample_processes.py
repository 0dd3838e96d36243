"""Samples of a map-style data set by worker processes, where the engine makes the pictures.

The engine's threads ask for rows. Each takes a process that is free and waits for it without the interpreter's lock; what a
row holds comes through shared memory.
"""

from __future__ import annotations

import os
import queue
import weakref

from ._made import bad_of, mixed
from ._process import Child, Told, Worker, WorkerEnded, context_of, end_all
from ._shared import pack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import *  # noqa: F403


class _RowWorker(Worker):
    def __init__(self, connection, number, count, seed, row, init):
        super().__init__(connection, number)
        self._row, self._broken = row, None
        try:
            self.begin(count, seed, row.dataset, init)
        except Exception as error:
            self._broken = bad_of(f"worker_init_fn({number})", error)

    def work(self):
        while True:
            given_back, index = self.receive()
            self.slabs.take_back(given_back)
            slab = self.slabs.next()
            kind, content = self._made(index)
            self.answer(kind, pack(content, slab), slab)

    def _made(self, index):
        if self._broken is not None:
            return "broken", f"{self._broken.name}: {self._broken.text}"
        try:
            return "row", self._row(index)
        except Exception as error:
            return "failed", bad_of("", error).text


class RowProcesses:
    """Rows by worker processes between begin() and close(); without them the thread that asks makes a row itself."""

    def __init__(self, count, context, init, torch):
        self._count, self._context, self._init, self._torch = count, context_of(context), init, torch
        self.epoch: int | None = None  # that they were started for; None: they do not run
        self._row: Any = None
        self._children: list[Child] = []
        self._free: queue.SimpleQueue = queue.SimpleQueue()
        self._reason: str | None = None
        self._end: Any = None

    @property
    def used(self):
        """Whether a data set's samples are made by Python, and so here."""
        return self._row is not None

    @property
    def lost(self):
        """Whether a process ended by itself."""
        return self._reason is not None

    def of(self, row):
        """What stands for a function of rows (_samples._Row) in a graph."""
        self._row = row
        return self

    def begin(self, seed, epoch):
        """Starts the processes, if they do not run; what they draw at random is another thing in every epoch."""
        if self._children:
            return
        self._reason, self._free, self.epoch = None, queue.SimpleQueue(), epoch
        row, turns, seed = self._row.apart(), self._row.turns, mixed(seed, epoch) >> 2
        try:
            for number in range(self._count):
                self._children.append(Child(self._context, _RowWorker, number, self._torch, turns, self._count, seed, row,
                                            self._init))
        except BaseException:
            end_all(self._children, os.getpid())
            raise
        for child in self._children:
            self._free.put(child)
        self._end = weakref.finalize(self, end_all, self._children, os.getpid())

    def close(self):
        """Ends the processes; no thread may ask for rows any more."""
        if self._end is not None:
            self._end()
        self._children, self.epoch = [], None

    forget = close  # in a child of a fork it ends nothing

    def pids(self):
        return [child.process.pid for child in self._children]

    def __call__(self, index):
        if not self._children:
            return self._row(index)
        if self._reason is not None:
            raise WorkerEnded(self._reason)
        free = self._free
        child = free.get()
        try:
            child.send((child.received.take_given_back(), index), f"sample {index}")
            kind, place = child.receive(f"sample {index}")
            content = child.received.unpack(*place)
        except WorkerEnded as error:
            self._reason = str(error)
            raise
        finally:
            free.put(child)  # one that has ended is found to be so by whoever waits for it
        if kind == "row":
            return content
        if kind == "broken":
            self._reason = content
            raise WorkerEnded(content)
        raise Told(content)
