"""Batches as Python code makes them from a data set's samples: in this process or in a worker's, the same way."""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import struct
import sys

from .._core import RunError
from .._place import at_length, place_of
from ._collate import schema_of
from ._leaves import Call, Misfit
from ._values import convert


TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import *  # noqa: F403


class Recipe:
    """What all processes of a loader know: the data set and how its samples become batches. Goes to other processes."""

    def __init__(self, dataset, streams, batch_size, drop_last, collate_fn, options, bad_samples, seed, rows=None):
        self.dataset = dataset
        self.streams = streams  # samples come from an iterator, not by index
        self.batch_size = batch_size  # None: samples are delivered alone
        self.drop_last = drop_last
        self.collate_fn = collate_fn  # None: by the schema
        self.options = options
        self.bad_samples = bad_samples
        self.seed = seed
        self.rows = rows  # of the data set, where bad samples are replaced


class Bad:
    """A sample that could not be made: what it is called, and why, in a line and at length."""

    def __init__(self, name, text, note="", cause=None):
        self.name, self.text, self.note, self.cause = name, text, note, cause

    def error(self):
        error = RunError(f"{self.name}: {self.text}")
        if self.note:
            error.add_note(self.note)
        error.__cause__ = self.cause
        return error

    def __reduce__(self):
        return Bad, (self.name, self.text, self.note, sendable(self.cause))


class CollateError(Exception):
    """What collate_fn raised, with its traceback as text."""

    def __init__(self, cause, note):
        super().__init__(str(cause))
        self.cause, self.note = cause, note


def sendable(error):
    """The exception, if it can go to another process as what it is."""
    import pickle

    try:
        return pickle.loads(pickle.dumps(error)) if error is not None else None
    except Exception:
        return None


def bad_of(name, error):
    reason = str(error)
    text = type(error).__name__ + (f": {reason}" if reason else "") + place_of(error.__traceback__)
    return Bad(name, text, at_length(error), error)


class Maker:
    """Makes the batches of a recipe, one at a time."""

    def __init__(self, recipe, turns=(), worker=0, memory=None):
        self.recipe = recipe
        self.schema: Any = None  # once it is known
        self.turns, self.worker, self.memory = turns, worker, memory
        self.check = lambda: None  # called between samples: whether to go on
        self.begin()
        self._finds_schema = True

    def begin(self):
        """A new epoch of a stream."""
        self._stream, self._read, self._over = None, 0, False

    def batch(self, epoch, number, indices, finds_schema=True, ask_schema=lambda: True):
        """(value, bad samples, ended): of these indices, or the stream's next ones; no value where it has ended.

        epoch: (seed, epoch)
        ask_schema: called without finds_schema where there is no schema yet: waits for one that another found, and says
        whether this sample is to make it after all
        """
        seed_all(*epoch, number, self.worker if self.recipe.streams else 0)
        self._finds_schema, self._ask_schema = finds_schema, ask_schema
        bad = []
        if self.recipe.streams:
            samples, names, ended = self._next_samples()
            if not samples:
                return None, bad, True
        else:
            samples, names = self._samples(epoch, number, indices, bad)
            ended = False
        return self._collated(samples, names, bad, epoch, number), bad, ended

    # ---- samples

    def _samples(self, epoch, number, indices, bad):
        recipe, dataset = self.recipe, self.recipe.dataset
        alone = recipe.batch_size is None
        if not alone and recipe.bad_samples == "raise" and getattr(dataset, "__getitems__", None):
            names = [f"sample {i!r}" for i in indices]
            with _entered(self.turns):
                try:
                    return list(dataset.__getitems__(indices)), names
                except Exception as error:
                    raise bad_of(f"samples {_some(indices)}", error).error() from error
        samples, names = [], []
        self._attempts, self._places = {}, []
        for place, index in enumerate([indices] if alone else indices):
            made = self._one(epoch, number, place, index, bad)
            if made is not _LEFT_OUT:
                samples.append(made)
                names.append(self._name)
                self._places.append(place)
        return samples, names

    def _one(self, epoch, number, place, index, bad):
        """A sample, or the one that stands in for it; `_name` says which."""
        recipe = self.recipe
        while True:
            attempt = self._attempts.get(place, 0)
            if attempt:
                index = mixed(*epoch, number, place, attempt) % recipe.rows
            self._name = f"sample {index!r}" + (" in place of a bad one" if attempt else "")
            self.check()
            try:
                with _entered(self.turns):
                    return recipe.dataset[index]
            except Exception as error:
                self._judge(place, bad_of(self._name, error), bad)
                if recipe.bad_samples == "skip":
                    return _LEFT_OUT

    def _judge(self, place, found, bad):
        """Counts a bad sample, or ends the run."""
        attempts = self._attempts[place] = self._attempts.get(place, 0) + 1
        if self.recipe.bad_samples == "raise":
            raise found.error() from found.cause
        if attempts == _ATTEMPTS:
            raise RunError(f"{found.name}: {_ATTEMPTS - 1} samples in its place were bad, too; this one: {found.text}")
        bad.append(found)

    def _next_samples(self):
        wanted = self.recipe.batch_size or 1
        samples, names = [], []
        while len(samples) < wanted and not self._over:
            self.check()
            name = self._stream_name()
            if (sample := self.next_sample()) is None:
                self._over = True
                break
            samples += sample
            names.append(name)
        if len(samples) < wanted and self.recipe.drop_last:
            samples = []
        return samples, names, self._over

    def next_sample(self):
        """[the next one of a stream]; None: it has ended."""
        if self._stream is None:
            self._stream = self._protected(self._begun)
        stream = self._stream
        try:
            sample = self._protected(lambda: next(stream))
        except StopIteration:
            return None
        self._read += 1
        return [sample]

    def _begun(self):
        dataset = self.recipe.dataset
        if hasattr(dataset, "__next__"):  # its own iterator, which knows how to begin anew
            dataset.reset()
        return iter(dataset)

    def _stream_name(self):
        return f"sample {self._read}" + (f" of worker {self.worker}" if self.worker else "")

    def _protected(self, call):
        try:
            with _entered(self.turns):
                return call()
        except StopIteration:
            raise
        except Exception as error:
            raise bad_of(self._stream_name(), error).error() from error

    # ---- batches

    def _collated(self, samples, names, bad, epoch, number):
        recipe = self.recipe
        alone = recipe.batch_size is None
        if recipe.collate_fn is not None:
            given = samples[0] if alone else samples
            try:
                return recipe.collate_fn(given)
            except Exception as error:
                raise CollateError(error, at_length(error)) from error
        if alone:
            return convert(samples[0], recipe.options.torch)
        while True:
            try:
                if self.schema is None and not samples:
                    return None
                return self._schema_by(samples, names).collate(samples, Call(names, self.memory))
            except Misfit as error:
                if recipe.bad_samples == "raise":
                    raise RunError(str(error)) from None
                at, place = error.place, self._places[error.place]
                self._judge(place, Bad(names[at], str(error).partition(": ")[2]), bad)
                if recipe.bad_samples == "replace":
                    samples[at] = self._one(epoch, number, place, None, bad)
                    names[at] = self._name
                else:
                    del samples[at], names[at], self._places[at]

    def _schema_by(self, samples, names) -> Any:
        """The schema: the first of these makes it, unless it is known or another process finds it."""
        if self.schema is None and (self._finds_schema or self._ask_schema()):
            self.schema = schema_of(samples[0], self.recipe.options, names[0])
        return self.schema


_LEFT_OUT = object()
_ATTEMPTS = 17  # the sample, and what may stand in for it


def _some(indices):
    shown = ", ".join(repr(i) for i in list(indices)[:4])
    return shown + (", ..." if len(indices) > 4 else "")


@contextlib.contextmanager
def _entered(turns):
    with contextlib.ExitStack() as stack:
        for turn in turns:
            stack.enter_context(turn)
        yield


def mixed(*numbers):
    """64 bits that depend on all of these."""
    packed = b"".join(struct.pack("<Q", number & (2 ** 64 - 1)) for number in numbers)
    return int.from_bytes(hashlib.blake2b(packed, digest_size=8).digest(), "little")


def seed_all(*numbers):
    """Seeds Python's, NumPy's and PyTorch's generators of this process by these numbers."""
    seed = mixed(*numbers)
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % 2 ** 32)
    if "torch" in sys.modules:
        sys.modules["torch"].random.default_generator.manual_seed(seed % 2 ** 63)


class Generators:
    """Keeps the process's own random numbers while batches are made in it."""

    def __enter__(self):
        self._state = random.getstate()
        self._numpy = sys.modules["numpy"].random.get_state() if "numpy" in sys.modules else None
        self._torch = sys.modules["torch"].random.get_rng_state() if "torch" in sys.modules else None

    def __exit__(self, *_):
        random.setstate(self._state)
        if self._numpy is not None:
            sys.modules["numpy"].random.set_state(self._numpy)
        if self._torch is not None:
            sys.modules["torch"].random.set_rng_state(self._torch)


def reopen_files():
    """Gives this process, made by a fork, places of its own in the files that it has open for reading.

    Parent and children share them otherwise, and a seek of one moves the others. What cannot be opened again stays.
    """
    import stat

    for name in os.listdir("/proc/self/fd"):
        file = int(name)
        try:
            import fcntl

            flags = fcntl.fcntl(file, fcntl.F_GETFL)
            if flags & os.O_ACCMODE != os.O_RDONLY or not stat.S_ISREG(os.fstat(file).st_mode):
                continue
            own = os.open(f"/proc/self/fd/{file}", flags & ~(os.O_CREAT | os.O_EXCL | os.O_TRUNC) | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            os.lseek(own, os.lseek(file, 0, os.SEEK_CUR), os.SEEK_SET)
            os.dup2(own, file, inheritable=os.get_inheritable(file))
        finally:
            os.close(own)
