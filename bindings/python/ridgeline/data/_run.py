"""Runs of a dataset: batches one after the other, and single samples."""

from __future__ import annotations

import atexit

from .. import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import *  # noqa: F403
    from ._graph import Dataset

# No worker may wait for the interpreter's lock when the interpreter ends.
atexit.register(_core.close_all)


class Batch:
    """One batch: columns as arrays over memory that the run lends.

    The memory stays valid as long as the batch or one of its arrays or tensors lives, whatever the iterator does. A
    few batches may be kept at no cost; those beyond are copies.
    """

    __slots__ = ("_core",)

    def __init__(self, core: Any) -> None:
        self._core = core

    def __getitem__(self, name: str) -> Any:
        """The column as a NumPy array, no copy (byte strings: a list of bytes, copied)."""
        return self._core[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._core

    def __iter__(self) -> Generator[str, None, None]:
        """Names of the columns, as of a dict."""
        yield from self.keys()

    def keys(self) -> list[str]:
        """Names of the columns."""
        return self._core.keys()

    def columns(self) -> list[ColumnSpec]:
        """[(name, dtype, shape)], this batch's rows in front of every shape."""
        return self._core.columns()

    def dlpack(self, name: str, channels_first: bool = False) -> Any:
        """The column as an object with __dlpack__, for any library that takes it.

        channels_first: shows [N,H,W,C] as [N,C,H,W] over the same memory
        """
        return self._core.dlpack(name, channels_first)

    def torch(self, name: str, channels_first: bool | None = None) -> Any:
        """The column as a PyTorch tensor over the same memory.

        channels_first: [N,H,W,C] as [N,C,H,W], which PyTorch calls channels_last; absent: for the column image, where
        its last extent is 1 or 3
        """
        import torch

        if channels_first is None:
            shape = self.shape(name)
            channels_first = name == "image" and len(shape) == 4 and shape[3] in (1, 3)
        return torch.from_dlpack(self._core.dlpack(name, channels_first))

    def shape(self, name: str) -> tuple[int, ...]:
        """Extents of the column `name` of this batch. A KeyError where there is none."""
        for column, _, shape in self._core.columns():
            if column == name:
                return tuple(shape)
        raise KeyError(name)

    @property
    def image(self) -> Any:
        """u8 or f32 [N,H,W,C]"""
        return self["image"]

    @property
    def label(self) -> Any:
        """i32 [N]"""
        return self["label"]

    @property
    def flip(self) -> Any:
        """u8 [N], 1: mirror this image; with raw_images only"""
        return self["flip"]

    @property
    def mask(self) -> Any:
        """u8 [N]: 1 for a real row; with pad_last 0 for padding and for skipped samples"""
        return self["mask"]

    @property
    def rows(self) -> int:
        """Of this batch; with pad_last the batch size."""
        return self._core.rows

    @property
    def samples(self) -> int:
        """Rows that belong to samples; they come first. Without pad_last all."""
        return self._core.samples

    @property
    def epoch(self) -> int:
        """From 0."""
        return self._core.epoch

    @property
    def index(self) -> int:
        """Of this batch in its epoch, from 0."""
        return self._core.index

    @property
    def last_of_epoch(self) -> bool:
        """Whether the next batch is of another epoch."""
        return self._core.last_of_epoch

    @property
    def records(self) -> list[int]:
        """Record of the source, one a sample."""
        return self._core.records

    @property
    def copied(self) -> bool:
        """Whether it is a copy, because many batches are kept."""
        return self._core.copied

    def state_after(self) -> State:
        """The state of a consumer that has finished this batch, for Iterator(start=...)."""
        return _state(self._core.state_after())

    def __repr__(self) -> str:
        columns = ", ".join(f"{name} {dtype}{list(shape)}" for name, dtype, shape in self.columns())
        return f"<batch {self.index} of epoch {self.epoch}: {columns}>"


class Iterator:
    """The batches of a dataset, in an order and with contents that do not depend on workers.

    A batch holds samples and nothing else: the last one of an epoch may be shorter, and so is one whose bad samples are
    skipped. `pad_last` makes all of one size.

    dataset: one that ends in batch or bucket
    epochs: passes over it; -1: without end
    workers: threads; 0: the graph's hint, else one per core
    memory_limit: bytes of all prepared batches; 0: the graph's hint, else 512 MiB or six batches, as memory allows
    slots: most batches prepared or lent at one time; 0: the graph's hint, else 8
    seed: instead of the graph's
    start: a state to go on from
    raw_images: u8 images and a column flip; a trailing flip and Normalize are left to the consumer (`image_tail`)
    pad_last: batches of one size: a last one that is not full ends in rows of zeros, and a skipped sample leaves one.
        The column mask (u8) is 0 for these rows and 1 for all others, and nothing else tells them
    pull: no threads, the caller does the work: the reference in tests
    bad_samples: what a sample that cannot be made does: 'raise', 'skip' (it is left out) or 'replace' (by another one)
    bad_sample_budget: bad samples of a run; one more ends it
    quarantine: a file that gets a JSON line for each bad sample
    jpeg_index_memory: bytes for indices that let later epochs skip to their crops; 0: none; -1: a sixteenth of memory
    jpeg_index_directory: folder that keeps these indices for later runs; '': none are kept or read; None: the user's
        cache folder ($XDG_CACHE_HOME or ~/.cache), in runs of several epochs over 500 photos and more
    jpeg_index_disk: bytes that all of them may take in that folder
    autotune: as few workers as the consumer needs
    page_lock: (register, unregister), for memory that a device copies from: register(address, bytes) is called for the
        memory of every batch when it is made, unregister(address) before it is given back, each on any thread
    disabled_passes: names of passes that are left out

    One thread at a time. Waiting releases the interpreter's lock; Ctrl-C ends it. Threads end with `close()`, with the
    `with` block, or with the object.
    """

    def __init__(self, dataset: Dataset, *, epochs: int = 1, workers: int = 0, memory_limit: int = 0, slots: int = 0,
                 seed: int | None = None, start: State | str | None = None, raw_images: bool = False,
                 pad_last: bool = False, pull: bool = False, bad_samples: Literal['raise', 'skip', 'replace'] = 'raise',
                 bad_sample_budget: int = 1000, quarantine: str | os.PathLike[str] = '', jpeg_index_memory: int = -1,
                 jpeg_index_directory: str | os.PathLike[str] | None = None, jpeg_index_disk: int = 4 << 30,
                 autotune: bool = False, page_lock: tuple[Callable[[int, int], Any], Callable[[int], Any]] | None = None,
                 disabled_passes: Sequence[str] = ()) -> None:
        self._core = _core.Iterator(
            dataset._core, epochs=epochs, workers=workers, memory_limit=memory_limit, slots=slots, seed=seed,
            start=_state_text(start), raw_images=raw_images, pad_last=pad_last, pull=pull, bad_samples=bad_samples,
            bad_sample_budget=bad_sample_budget, quarantine=quarantine, jpeg_index_memory=jpeg_index_memory,
            jpeg_index_directory=jpeg_index_directory, jpeg_index_disk=jpeg_index_disk, autotune=autotune,
            page_lock=page_lock, disabled_passes=disabled_passes)

    def __iter__(self) -> Iterator:
        return self

    def __next__(self) -> Batch:
        batch = self._core.next()
        if batch is None:
            raise StopIteration
        return Batch(batch)

    def next(self, timeout: float = 0) -> Batch | None:
        """The next batch, or None at the end. timeout: seconds after which it is a RunError; 0: none."""
        batch = self._core.next(float(timeout))
        return None if batch is None else Batch(batch)

    def state(self) -> State:
        """Where the consumer stands, after the batches that it got: a dict of some 150 bytes, for JSON."""
        return _state(self._core.state())

    def restore(self, state: State | str) -> None:
        """Goes on from a state: discards what is prepared. An Error if it belongs to another graph, seed or data."""
        self._core.restore(_state_text(state))

    def columns(self) -> list[ColumnSpec]:
        """[(name, dtype, shape)] of a batch that is full, with mask."""
        return self._core.columns()

    def batches_per_epoch(self) -> int:
        """-1: endless; -2: unknown below a filter or a bucket."""
        return self._core.batches_per_epoch()

    def image_tail(self) -> tuple[bool, list[float], list[float], bool]:
        """(normalize, mean, std, flip): what raw_images leaves to the consumer."""
        return self._core.image_tail()

    def workers(self) -> int:
        """Threads in use; 0 in pull mode."""
        return self._core.workers()

    def slots(self) -> int:
        """Batches that can be prepared or lent at one time."""
        return self._core.slots()

    def slot_bytes(self) -> int:
        """Bytes of one of them."""
        return self._core.slot_bytes()

    def bad_samples(self) -> int:
        """Met so far, among the batches that were delivered."""
        return self._core.bad_samples()

    def stats(self) -> dict[str, Any]:
        """Where the time went, and `advice` where the consumer waited."""
        return self._core.stats()

    def close(self) -> None:
        """Ends the threads. Batches stay valid."""
        self._core.close()

    def __enter__(self) -> Iterator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def at_epoch(dataset, epoch, delivered=0, **options):
    """An Iterator that begins with an epoch, behind so many of its batches, and prepares nothing before."""
    start = None
    if epoch or delivered:
        with Iterator(dataset, pull=True, **{**options, "page_lock": None}) as counting:
            start = {**counting.state(), "epoch": epoch, "delivered": delivered}
    return Iterator(dataset, start=start, **options)


def following(iterator, timeout=0):
    """The next batch of a run without an end."""
    batch = iterator.next(timeout)
    if batch is None:
        raise _core.RunError("[iterator] the run has ended")
    return batch


class Opened:
    """A graph whose run is opened where it is first needed, and anew after close() or in a process that was forked."""

    def __init__(self, graph, options):
        self.graph, self._options = graph, options
        self.iterator: Iterator | None = None

    def __len__(self):
        return len(self.graph)

    def opened(self, start=None) -> Iterator:
        if self.iterator is None:
            self.iterator = Iterator(self.graph, start=start, **self._options)
        return self.iterator

    def go_to(self, state):
        iterator = self.opened(state)
        if state is not None and iterator.state() != state:
            iterator.restore(state)
        return iterator.state()

    def forget(self):
        """In a process that was forked: the run is the other one's."""
        self.iterator = None

    def close(self):
        if self.iterator is not None:
            self.iterator.close()
            self.iterator = None


class Sample:
    """One row outside any run: `columns` {name: array or bytes}, `record` of the source, `origin` in words."""

    __slots__ = ("columns", "record", "origin")

    def __init__(self, columns: dict[str, Any], record: int, origin: str) -> None:
        self.columns, self.record, self.origin = columns, record, origin

    def __getitem__(self, name: str) -> Any:
        return self.columns[name]


class Replayer:
    """Samples by their place in an epoch, exactly as a run delivers them. Many samples cost one compilation.

    dataset: of samples, or of batches, whose samples are meant
    seed: instead of the graph's
    """

    def __init__(self, dataset: Dataset, seed: int | None = None) -> None:
        self._core = _core.Replayer(dataset._core, seed)

    def sample(self, epoch: int, index: int) -> Sample | None:
        """Sample `index` in the order of `epoch`; None behind the last one."""
        found = self._core.sample(epoch, index)
        return None if found is None else Sample(*found)


def replay(dataset: Dataset, epoch: int, index: int, seed: int | None = None) -> Sample:
    """One sample, exactly as a run delivers it. An IndexError where the epoch has no such sample.

    dataset, seed: as of Replayer
    epoch, index: the epoch, and the place in its order, from 0
    """
    found = Replayer(dataset, seed).sample(epoch, index)
    if found is None:
        raise IndexError(f"epoch {epoch} has no sample {index}")
    return found


def _state(text):
    import json

    return json.loads(text)


def _state_text(state):
    import json

    return json.dumps(state) if isinstance(state, dict) else state
