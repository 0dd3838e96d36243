"""Worker processes: how they begin and end, and how what they make comes to their parent.

Each has a socket to the parent: messages go down, headers of some hundred bytes come up, values lie in shared memory
(_shared.py). A worker ends when its socket does, so none outlives its parent, however that ends.
"""

from __future__ import annotations

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
from ._made import reopen_files, seed_all
from ._shared import Received, Slabs
from ._worker_info import tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import *  # noqa: F403

_WATCH = 5.0  # seconds after which a worker without work looks whether its parent is there
_PATIENCE = 5.0  # seconds in which workers may end by themselves

# The parent's ends of all sockets of this process: children of a fork close them.
_ends: weakref.WeakSet = weakref.WeakSet()


class Left(Exception):
    """The parent wants no more."""


class Told(RunError):
    """An error of a row whose text says all: the engine adds neither its type nor a place."""

    ends_run = False


class WorkerEnded(Told):
    """No fault of a sample: the engine ends the run, whatever bad_samples says."""

    ends_run = True


# ---- in the worker


class Worker:
    """What runs in a worker process. `work()` takes messages and answers them until it raises Left."""

    def __init__(self, connection, number):
        self.connection, self.number = connection, number
        self.slabs = Slabs()
        self._parent = os.getppid()

    def begin(self, count, seed, dataset, init):
        """Tells the process which worker it is, and runs worker_init_fn."""
        tell(self.number, count, seed + self.number, dataset)
        seed_all(seed, self.number)
        if init is not None:
            init(self.number)

    def work(self):
        raise NotImplementedError

    def receive(self):
        """One message: what `Child.send` was given."""
        while not self.connection.poll(_WATCH):
            if os.getppid() != self._parent:
                raise Left
        return pickle.loads(self.connection.recv_bytes())

    def answer(self, head, place, slab):
        """head: a tuple; place: of what lies in the slab (_shared.pack)"""
        self.connection.send_bytes(pickle.dumps((head, slab.number, not slab.sent, (slab.size, slab.used, *place))))
        if not slab.sent:
            with socket.fromfd(self.connection.fileno(), socket.AF_UNIX, socket.SOCK_STREAM) as channel:
                multiprocessing.reduction.sendfds(channel, [slab.file])
            slab.sent = True

    def run(self):
        try:
            self.work()
        except (Left, EOFError, ConnectionError):
            pass
        finally:
            self.slabs.close()


def _main(kind, connection, number, torch, forked, given):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent's matter
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if forked:
        for end in list(_ends):
            with contextlib.suppress(OSError):
                os.close(end.fileno())
        reopen_files()
    if torch:
        import torch

        torch.set_num_threads(1)
    kind(connection, number, *given).run()


# ---- in the parent


def context_of(context):
    """multiprocessing's context by its name; None: Python's own choice."""
    return multiprocessing.get_context(context) if context is None or isinstance(context, str) else context


class Child:
    """A worker process as its parent sees it.

    kind: a class of Worker at the top of a module, made in the process by `kind(connection, number, *given)`
    torch: whether samples are PyTorch's, of which each process then uses one thread
    turns: of the data set, so that no other thread is inside while it is copied
    """

    def __init__(self, context, kind, number, torch, turns, *given):
        self.number = number
        self.received = Received()
        self.connection, theirs = multiprocessing.Pipe()
        _ends.add(self.connection)
        forked = context.get_start_method() == "fork"
        self.process = context.Process(target=_main, args=(kind, theirs, number, torch, forked, given), daemon=True,
                                       name=f"ridgeline-worker-{number}")
        try:
            with contextlib.ExitStack() as stack:
                for turn in turns:
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

    def send(self, message, doing=""):
        try:
            self.connection.send_bytes(pickle.dumps(message))
        except OSError:
            raise self.ended(doing) from None

    def receive(self, doing=""):
        """(head, place) of an answer, place for `received.unpack(*place)`. Waits for it."""
        try:
            head, slab, new, where = pickle.loads(self.connection.recv_bytes())
            if new:
                with socket.fromfd(self.connection.fileno(), socket.AF_UNIX, socket.SOCK_STREAM) as channel:
                    self.received.add(slab, *multiprocessing.reduction.recvfds(channel, 1))
        except (EOFError, OSError):
            raise self.ended(doing) from None
        return head, (slab, *where)

    def ended(self, doing=""):
        """An error that says how the process ended. doing: what it was at"""
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
        while_ = f" while it made {doing}" if doing else ""
        return WorkerEnded(f"worker process {self.number} (pid {self.process.pid}) {how}{while_}")


def end_all(children, owner):
    """Ends the processes, those that are at work after a few seconds by force. owner: the process that began them"""
    if os.getpid() != owner:  # a child of a fork: these are the parent's
        return
    for child in children:
        child.connection.close()
    until = time.monotonic() + _PATIENCE
    for child in children:
        child.process.join(max(0, until - time.monotonic()))
    for stop in ("terminate", "kill"):
        late = [child for child in children if child.process.is_alive()]
        for child in late:
            getattr(child.process, stop)()
        for child in late:
            child.process.join(1)
    for child in children:
        with contextlib.suppress(ValueError):
            child.process.close()
        child.received.close()
    children.clear()
