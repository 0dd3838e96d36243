"""Worker processes that make batches in Python, and what the parent knows of them."""

from __future__ import annotations

import collections
import contextlib
import multiprocessing.connection
import os
import pickle
import time
import weakref

from .._core import ArgumentError, RunError
from ._made import CollateError, Maker, bad_of, sendable
from ._process import Child, Left, Worker, WorkerEnded, context_of, end_all
from ._shared import pack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import *  # noqa: F403


class _Stale(Exception):
    """The parent has begun another epoch."""


# ---- in the worker


class _BatchWorker(Worker):
    def __init__(self, connection, number, count, recipe, init):
        super().__init__(connection, number)
        self.tasks = collections.deque()
        self.slab: Any = None  # that the batch at work lies in
        self.maker = Maker(recipe, worker=number, memory=lambda size: self.slab.memory(size))
        self.maker.check = self._look
        self.finds_schema = self.schema_told = False
        self.stale = False  # what is at work belongs to an epoch that is over
        self.looked = time.monotonic()
        self.broken = None  # the error of worker_init_fn
        try:
            self.begin(count, recipe.seed, recipe.dataset, init)
        except Exception as error:
            self.broken = bad_of(f"worker_init_fn({number})", error).error()

    def work(self):
        while True:
            while not self.tasks:
                self._take()
            with contextlib.suppress(_Stale):
                self._work(*self.tasks.popleft())

    def _take(self):
        """Takes one message; ends where the parent is gone."""
        kind, *content = self.receive()
        if kind == "make":
            given_back, *task = content
            self.slabs.take_back(given_back)
            self.tasks.append(task)
        elif kind == "schema":
            self.maker.schema = pickle.loads(content[0])
        elif kind == "find":
            self.finds_schema = True
        elif kind == "begin":
            self.tasks.clear()
            self.stale = True
        else:
            raise Left

    def _look(self):
        """Between samples: ends early where nobody wants the batch."""
        now = time.monotonic()
        if now - self.looked > 0.02:
            self.looked = now
            while self.connection.poll(0):
                self._take()
            if self.stale:
                raise _Stale

    def _ask_schema(self):
        """Waits for the schema that another worker finds; whether this one is to find it."""
        while self.maker.schema is None and not self.finds_schema:
            self._take()
            if self.stale:
                raise _Stale
        return self.maker.schema is None

    def _work(self, tag, epoch, number, indices):
        if self.stale:  # the first task of an epoch
            self.stale = False
            self.maker.begin()
        self.slab = self.slabs.next()
        try:
            kind, *content = self._made(epoch, number, indices)
        except (CollateError, RunError) as error:
            kind, content = "failed", [_failure(error)]
        except _Stale:
            self.slabs.take_back([self.slab.number])
            raise
        try:
            where = pack(content, self.slab)
        except Exception as error:
            kind = "failed"
            where = pack([_failure(RunError(f"batch {number} cannot go from process to process: "
                                            f"{type(error).__name__}: {error}"))], self.slab)
        self.answer((kind, tag, number), where, self.slab)

    def _made(self, epoch, number, indices):
        if self.broken:
            raise self.broken
        value, bad, ended = self.maker.batch(epoch, number, indices, self.finds_schema, self._ask_schema)
        schema = None
        if self.finds_schema and self.maker.schema is not None and not self.schema_told:
            schema, self.schema_told = pickle.dumps(self.maker.schema), True
        return ("ended" if ended and value is None else "made"), value, bad, ended, schema


def _failure(error):
    """What goes to the parent of an error."""
    note = "\n".join(getattr(error, "__notes__", []))
    if isinstance(error, CollateError):
        return ("collate", sendable(error.cause), f"{type(error.cause).__name__}: {error.cause}", error.note)
    return ("run", sendable(error.__cause__), str(error), note)


def raised_by(failure):
    """The error again, in the parent."""
    kind, cause, text, note = failure
    if kind == "collate" and cause is not None:
        cause.add_note(note)
        return cause
    error = RunError(text if kind == "run" else f"collate_fn: {text}")
    if note:
        error.add_note(note)
    error.__cause__ = cause
    return error


# ---- in the parent


class Pool:
    """The worker processes of one loader, and batches that come from them out of order.

    `give(worker, tag, epoch, number, indices)` hands out a task, `wait(seconds)` takes what has come. One thread at a time.
    """

    def __init__(self, recipe, count, context, init, turns):
        self.count = count
        self.tag = 0
        self._owner = os.getpid()
        self._members = []
        self._finds = None
        context = context_of(context)
        try:
            for number in range(count):
                self._members.append(_Member(context, _BatchWorker, number, recipe.options.torch, turns, count, recipe, init))
        except BaseException:
            self.close()
            raise
        self._schema = recipe.collate_fn is not None or recipe.batch_size is None  # nobody needs one
        self._end = weakref.finalize(self, end_all, self._members, self._owner)

    def let_find_schema(self, worker):
        """Says whose first sample makes the schema."""
        if not self._schema and self._finds != worker:
            self._finds = worker
            self._members[worker].send(("find",))

    @property
    def schema_known(self):
        return bool(self._schema)

    def pids(self):
        return [member.process.pid for member in self._members]

    def begin(self):
        """A new epoch: what older tasks give is dropped."""
        self.tag += 1
        for member in self._members:
            member.waiting.clear()
            member.send(("begin",))

    def give(self, worker, epoch, number, indices):
        member = self._members[worker]
        member.waiting[(self.tag, number)] = True
        member.send(("make", member.received.take_given_back(), self.tag, epoch, number, indices))

    def outstanding(self, worker):
        """Tasks of this epoch that the worker has not answered."""
        return len(self._members[worker].waiting)

    def wait(self, seconds):
        """[(worker, number, kind, content)] of this epoch's tasks; empty after so many seconds (None: never)."""
        if os.getpid() != self._owner:
            raise ArgumentError("this epoch was begun before the process was forked, its worker processes are the other "
                                "one's: begin another `for`")
        by_end = {member.connection: member for member in self._members}
        ready = multiprocessing.connection.wait([*by_end, *(m.process.sentinel for m in self._members)], seconds)
        came = []
        for end in ready:
            if end in by_end:
                came += self._take(by_end[end])
        if not came:
            for member in self._members:
                if member.process.sentinel in ready and not member.connection.poll(0):
                    raise member.ended()
        return came

    def _take(self, member):
        came = []
        while True:
            try:
                if not member.connection.poll(0):
                    return came
                (kind, tag, number), place = member.receive()
            except WorkerEnded:
                if came:
                    return came  # the end is seen the next time
                raise
            member.waiting.pop((tag, number), None)
            if tag != self.tag and (kind == "failed" or self._schema):
                member.received.drop(place[0])
                continue
            content = member.received.unpack(*place)
            if kind != "failed" and content[3] is not None and not self._schema:
                self._schema = content[3]
                for other in self._members:
                    if other is not member:
                        other.send(("schema", self._schema))
            if tag == self.tag:
                came.append((member.number, number, kind, content))

    def close(self):
        """Ends the processes: those that are at work after a few seconds, by force."""
        if hasattr(self, "_end"):
            self._end()
        else:
            end_all(self._members, self._owner)


class _Member(Child):
    """One worker of a pool."""

    def __init__(self, *given):
        super().__init__(*given)
        self.waiting = {}  # (tag, number of a batch) that it has not answered

    def ended(self, doing=""):
        numbers = [number for tag, number in self.waiting]
        return super().ended(f"batch {min(numbers)}" if numbers else "")
