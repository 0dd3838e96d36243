"""Worker processes that make batches in Python, and what the parent knows of them.

Each worker has a socket to the parent: tasks go down, headers of some hundred bytes come up, the batches themselves lie in
shared memory (_shared.py). A worker ends when its socket does, so none outlives its parent, however that ends.
"""

from __future__ import annotations

import collections
import contextlib
import multiprocessing
import multiprocessing.connection
import multiprocessing.reduction
import os
import pickle
import signal
import socket
import time
import weakref

from .._core import ArgumentError, RunError
from ._made import CollateError, Maker, bad_of, reopen_files, seed_all, sendable
from ._shared import Received, Slabs, pack
from ._worker_info import tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import *  # noqa: F403

_WATCH = 5.0  # seconds after which a worker without work looks whether its parent is there
_PATIENCE = 5.0  # seconds in which workers may end by themselves

# The parent's ends of all sockets of this process: children of a fork close them.
_ends: weakref.WeakSet = weakref.WeakSet()


class _Left(Exception):
    """The parent wants no more."""


class _Stale(Exception):
    """The parent has begun another epoch."""


# ---- in the worker


class _Worker:
    def __init__(self, connection, number, count, recipe, init):
        self.connection, self.number = connection, number
        self.slabs = Slabs()
        self.tasks = collections.deque()
        self.slab: Any = None  # that the batch at work lies in
        self.maker = Maker(recipe, worker=number, memory=lambda size: self.slab.memory(size))
        self.maker.check = self._look
        self.parent = os.getppid()
        self.finds_schema = self.schema_told = False
        self.stale = False  # what is at work belongs to an epoch that is over
        self.looked = time.monotonic()
        self.broken = None  # the error of worker_init_fn
        tell(number, count, recipe.seed + number, recipe.dataset)
        seed_all(recipe.seed, number)
        try:
            if init is not None:
                init(number)
        except Exception as error:
            self.broken = bad_of(f"worker_init_fn({number})", error).error()

    def run(self):
        try:
            while True:
                while not self.tasks:
                    self._receive()
                with contextlib.suppress(_Stale):
                    self._work(*self.tasks.popleft())
        except (_Left, EOFError, ConnectionError):
            pass
        finally:
            self.slabs.close()

    def _receive(self):
        """Takes one message; ends where the parent is gone."""
        while not self.connection.poll(_WATCH):
            if os.getppid() != self.parent:
                raise _Left
        kind, *content = pickle.loads(self.connection.recv_bytes())
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
            raise _Left

    def _look(self):
        """Between samples: ends early where nobody wants the batch."""
        now = time.monotonic()
        if now - self.looked > 0.02:
            self.looked = now
            while self.connection.poll(0):
                self._receive()
            if self.stale:
                raise _Stale

    def _ask_schema(self):
        """Waits for the schema that another worker finds; whether this one is to find it."""
        while self.maker.schema is None and not self.finds_schema:
            self._receive()
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
        slab = self.slab
        header = (kind, tag, number, slab.number, not slab.sent, (slab.size, slab.used, *where))
        self.connection.send_bytes(pickle.dumps(header))
        if not self.slab.sent:
            with socket.fromfd(self.connection.fileno(), socket.AF_UNIX, socket.SOCK_STREAM) as channel:
                multiprocessing.reduction.sendfds(channel, [self.slab.file])
            self.slab.sent = True

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


def _main(connection, number, count, recipe, init, forked):
    """A worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent's matter
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if forked:
        for end in list(_ends):
            with contextlib.suppress(OSError):
                os.close(end.fileno())
        reopen_files()
    if recipe.options.torch:
        import torch

        torch.set_num_threads(1)
    _Worker(connection, number, count, recipe, init).run()


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
        context = multiprocessing.get_context(context) if context is None or isinstance(context, str) else context
        forked = context.get_start_method() == "fork"
        try:
            for number in range(count):
                self._members.append(_Member(context, number, count, recipe, init, forked, turns))
        except BaseException:
            self.close()
            raise
        self._schema = recipe.collate_fn is not None or recipe.batch_size is None  # nobody needs one
        self._end = weakref.finalize(self, _end, self._members, self._owner)

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
                kind, tag, number, slab, new, where = pickle.loads(member.connection.recv_bytes())
                if new:
                    with socket.fromfd(member.connection.fileno(), socket.AF_UNIX, socket.SOCK_STREAM) as channel:
                        member.received.add(slab, *multiprocessing.reduction.recvfds(channel, 1))
            except (EOFError, ConnectionError):
                if came:
                    return came  # the end is seen the next time
                raise member.ended() from None
            member.waiting.pop((tag, number), None)
            if tag != self.tag and (kind == "failed" or self._schema):
                member.received.drop(slab)
                continue
            content = member.received.unpack(slab, *where)
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
            _end(self._members, self._owner)


class _Member:
    """One worker as the parent sees it."""

    def __init__(self, context, number, count, recipe, init, forked, turns):
        self.number = number
        self.waiting = {}  # (tag, number of a batch) that it has not answered
        self.received = Received()
        self.connection, theirs = multiprocessing.Pipe()
        _ends.add(self.connection)
        self.process = context.Process(target=_main, args=(theirs, number, count, recipe, init, forked), daemon=True,
                                       name=f"ridgeline-worker-{number}")
        try:
            with contextlib.ExitStack() as stack:
                for turn in turns:  # no other thread of ours is inside the data set while it is copied
                    stack.enter_context(turn)
                self.process.start()
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            self.connection.close()
            if forked:
                raise
            raise ArgumentError(f"worker processes of {context.get_start_method()!r} get the data set, collate_fn and "
                                f"worker_init_fn by pickle, which does not take them: {error} (functions and classes at "
                                "the top of a module can be pickled; multiprocessing_context='fork' needs none)") from error
        except BaseException:
            self.connection.close()
            raise
        finally:
            theirs.close()

    def send(self, message):
        try:
            self.connection.send_bytes(pickle.dumps(message))
        except (BrokenPipeError, ConnectionError):
            raise self.ended() from None

    def ended(self):
        """An error that says how the process ended."""
        self.process.join(_PATIENCE)
        code = self.process.exitcode
        if code is None:
            how = "does not answer any more"
        elif code < 0:
            try:
                name = signal.Signals(-code).name
            except ValueError:
                name = str(-code)
            how = f"was killed by signal {name}" + (": the system may have been short of memory" if code == -9 else "")
        else:
            how = f"ended with exit code {code}"
        doing = [number for tag, number in self.waiting]
        while_ = f" while it made batch {min(doing)}" if doing else ""
        return RunError(f"worker process {self.number} (pid {self.process.pid}) {how}{while_}")


def _end(members, owner):
    if os.getpid() != owner:  # a child of a fork: these are the parent's
        return
    for member in members:
        member.connection.close()
    until = time.monotonic() + _PATIENCE
    for member in members:
        member.process.join(max(0, until - time.monotonic()))
    for stop in ("terminate", "kill"):
        late = [member for member in members if member.process.is_alive()]
        for member in late:
            getattr(member.process, stop)()
        for member in late:
            member.process.join(1)
    for member in members:
        with contextlib.suppress(ValueError):
            member.process.close()
        member.received.close()
    members.clear()
