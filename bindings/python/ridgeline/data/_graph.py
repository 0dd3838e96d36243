"""Datasets: graphs of where samples come from and what is done to them. Nothing here runs; `Iterator` does."""

from __future__ import annotations

import os

from .. import _core
from ._names import named_predicate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._run import Batch
    from ._types import *  # noqa: F403

kForever = -1
kUnknown = -2


class Sampler:
    """Which rows of what is below, in which order: made by the sampler functions, for `Dataset.sample`."""

    __slots__ = ("op", "args")

    def __init__(self, op: str, args: dict[str, Any]) -> None:
        self.op = op
        self.args = args

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.args.items() if value is not None)
        return f"{self.op}({given})"


class Filter:
    """A test of one column: made by `compare`, `is_in`, `is_not_in` and `passes`, for `Dataset.filter`."""

    __slots__ = ("args", "tokens")

    def __init__(self, args: dict[str, Any], tokens: Any = None) -> None:
        self.args = args
        self.tokens = tokens


def compare(column: str, test: str, value: float | str | bytes) -> Filter:
    """Rows whose column compares so with the value.

    test: 'equal', 'not_equal', 'less', 'less_equal', 'greater' or 'greater_equal'
    value: a number, or a text (equal and not_equal, of a column of bytes)
    """
    return Filter({"column": column, "test": test, "texts" if _is_text(value) else "values": [value]})


def is_in(column: str, values: Sequence[float | str | bytes]) -> Filter:
    """Rows whose column is one of the values: numbers, or texts for a column of bytes."""
    return _among(column, "in", values)


def is_not_in(column: str, values: Sequence[float | str | bytes]) -> Filter:
    """Rows whose column is none of the values."""
    return _among(column, "not_in", values)


def passes(column: str, predicate: Callable[[Any], bool] | str, name: str | None = None, thread_safe: bool = False) -> Filter:
    """Rows for whose column `predicate(value)` is true.

    The value is bytes for a column of bytes, else a NumPy array (of rank 0 for a single number). Workers call the
    function with the interpreter's lock, one call at a time unless `thread_safe`: it should be cheap, and depend on its
    argument alone.
    """
    found, tokens = named_predicate(predicate, name, thread_safe)
    return Filter({"column": column, "test": "function", "function": found}, tokens)


def _is_text(value):
    return isinstance(value, (str, bytes, os.PathLike))


def _among(column, test, values):
    values = list(values)
    return Filter({"column": column, "test": test, "texts" if values and _is_text(values[0]) else "values": values})


class Dataset:
    """A graph that describes samples or batches. A value: every call returns a new dataset with one node more.

        train = (data.ImageFolder("flowers/train").shuffle()
                 .map(data.RandomResizedCrop(224), data.RandomHorizontalFlip(), data.Normalize.imagenet())
                 .batch(128, drop_remainder=True))
        for batch in train:
            step(batch["image"], batch["label"])

    Mistakes are `ridgeline.ArgumentError`s at the call that makes them. Names and defaults are those of the C++ API.
    """

    __slots__ = ("_core", "_epoch")

    def __init__(self, core: Any) -> None:
        if not isinstance(core, _core.Dataset):
            raise TypeError("datasets come from sources such as ridgeline.data.ImageFolder")
        self._core = core
        self._epoch = 0  # of the next `for`

    def _add(self, op, args, operations=(), tokens=None):
        return Dataset(self._core.add(op, args, list(operations), tokens or _no_tokens))

    # ---- order

    def shuffle(self, seed: int | None = None, buffer: int = 0) -> Dataset:
        """A new random order of all rows in every epoch.

        seed: absent: the graph's (`with_seed`)
        buffer: 0: all rows. Else what a shuffle buffer of that many rows gives, for rows whose number is not known.
        """
        return self._add("shuffle", {"seed": seed, "buffer": buffer})

    def repeat(self, count: int = kForever) -> Dataset:
        """The rows `count` times (-1: for ever); every pass is another epoch for what is random below."""
        return self._add("repeat", {"count": count})

    def take(self, count: int) -> Dataset:
        """The first `count` rows; -1: all."""
        return self._add("take", {"count": count})

    def skip(self, count: int) -> Dataset:
        """All but the first `count` rows."""
        return self._add("skip", {"count": count})

    def shard(self, count: int, index: int) -> Dataset:
        """Every count-th row from `index` on: the part of rank `index` of `count`."""
        return self._add("shard", {"count": count, "index": index})

    def sample(self, sampler: Sampler) -> Dataset:
        """Rows chosen by a sampler; samplers chain, the lower one's rows feed the upper one."""
        if not isinstance(sampler, Sampler):
            raise _core.ArgumentError(f"sample takes a sampler of ridgeline.data, not {type(sampler).__name__}")
        return self._add(sampler.op, sampler.args)

    # ---- rows

    def map(self, *transforms: Transform | Sequence[Transform]) -> Dataset:
        """Transforms of the column image, in their order. Each draws its random numbers under its own name.

        transforms: of ridgeline.data, one by one or in lists; an ArgumentError names what is none
        """
        return self._add("map", {}, _flat(transforms))

    def map_columns(self, columns: str | Sequence[str], *transforms: Transform | Sequence[Transform]) -> Dataset:
        """Transforms of the named columns; with several, every random draw is the same for all of them.

        columns: a name, or several
        transforms: as of map
        """
        return self._add("map", {"columns": columns}, _flat(transforms))

    def with_callbacks(self, *callbacks: Any) -> Dataset:
        """Objects whose methods a run calls around its batches, on the thread that asks for batches.

        Methods that are there of: begin, epoch_begin, step_begin, step_end, epoch_end, end; each gets
        (epoch, step, run_steps). An attribute `step_size` (default 1) says at every how many steps.
        """
        return Dataset(self._core.with_callbacks([(c, getattr(c, "step_size", 1)) for c in callbacks]))

    def filter(self, filter: Filter) -> Dataset:
        """The rows that pass a test. How many they are is not known before they are read.

        filter: made by `compare`, `is_in`, `is_not_in` or `passes`
        """
        if not isinstance(filter, Filter):
            raise _core.ArgumentError(f"filter takes compare, is_in, is_not_in or passes, not {type(filter).__name__}")
        return self._add("filter", filter.args, (), filter.tokens)

    def project(self, columns: Sequence[str]) -> Dataset:
        """These columns, in this order."""
        return self._add("project", {"columns": columns})

    def rename(self, names: Mapping[str, str] | Sequence[str], to: Sequence[str] | None = None) -> Dataset:
        """Other names for columns: a dict {present: new}, or two lists.

        names: the dict, or the present names; to: the new ones, as many
        """
        pairs = dict(names) if to is None else None  # type: ignore[arg-type]
        return self._add("rename", {"from": names if pairs is None else list(pairs),
                                    "to": to if pairs is None else list(pairs.values())})

    def cache(self, memory_limit: int = 1 << 30, directory: str | os.PathLike[str] = '') -> Dataset:
        """Keeps the rows of the first epoch. Nothing random may lie below.

        memory_limit: bytes in memory
        directory: where a file is kept for rows beyond it and for later runs; empty: none
        """
        return self._add("cache", {"memory_limit": memory_limit, "directory": directory})

    # ---- batches

    def batch(self, size: int, drop_remainder: bool = False, pad: bool = False,
              operations: Sequence[Transform] = ()) -> Dataset:
        """Rows side by side; adds the column mask, u8 [N], 1 for real rows (all, without Iterator's pad_last).

        size: rows of a batch, 1 or more
        drop_remainder: leave out a last batch that is not full
        pad: rows of different shapes are filled with zeros up to the largest of their batch
        operations: of whole batches: MixUp, CutMix
        """
        return self._add("batch", {"size": size, "drop_remainder": drop_remainder, "pad": pad}, operations)

    def bucket(self, column: str, boundaries: Sequence[int], sizes: Sequence[int], drop_remainder: bool = False,
               pad: bool = True) -> Dataset:
        """Batches of samples of similar length: bucket i holds lengths below boundaries[i], in batches of sizes[i].

        column: its first extent (of bytes: their number) is the length
        boundaries: rising
        sizes: samples of a batch, one more than boundaries
        drop_remainder: leave out the last batch of a bucket where it is not full
        pad: rows are filled with zeros up to the longest of their batch; else they must be of one shape
        """
        args = {"column": column, "boundaries": boundaries, "sizes": sizes}
        return self._add("bucket", {**args, "drop_remainder": drop_remainder, "pad": pad})

    def with_seed(self, seed: int | None) -> Dataset:
        """The seed of everything random in the graph that has none of its own, 0 to 2^64 - 1."""
        return Dataset(self._core.with_seed(seed))

    def with_hints(self, workers: int = 0, memory_limit: int = 0, slots: int = 0) -> Dataset:
        """Tuning, kept with the graph; cannot change results. After batch. 0: the engine decides.

        workers: threads
        memory_limit: bytes of prepared batches
        slots: most batches that are prepared or lent at one time
        """
        return Dataset(self._core.with_hints(workers, memory_limit, slots))

    def __iter__(self) -> Generator[Batch, None, None]:
        """The batches of an epoch: of the next one each time that this object is asked, also where a `for` was left early.

        Nothing stays from one `for` to the next. `Iterator` and `DataLoader` keep their threads, know what they read, and
        go on from a state.
        """
        from ._run import at_epoch

        if not self._core.batched():
            raise _core.ArgumentError("`for` over a dataset gives batches: call batch() on it first (replay() gives single "
                                      "samples)")
        epoch, self._epoch = self._epoch, self._epoch + 1
        if self._core.size() == 0:
            return
        with at_epoch(self, epoch, epochs=kForever) as iterator:
            for batch in iterator:
                last = batch.last_of_epoch
                yield batch
                del batch
                if last:
                    return

    # ---- what is known

    def size(self) -> int:
        """Rows of one epoch: batches after batch(), samples before. -1: endless; -2: unknown below filter or bucket."""
        return self._core.size()

    def __len__(self) -> int:
        size = self.size()
        if size < 0:
            why = "is endless" if size == kForever else "is not known without running it"
            raise TypeError(f"the length of this dataset {why}")
        return size

    def __bool__(self) -> bool:
        return True

    def num_samples(self) -> int:
        """Samples of one epoch, whether batched or not; -1: endless, -2: unknown."""
        return self._core.num_samples()

    def batch_size(self) -> int:
        """Rows of a batch; 1 before batch()."""
        return self._core.batch_size()

    def repeat_count(self) -> int:
        """Product of the repeats; -1 if one is endless."""
        return self._core.repeat_count()

    def columns(self) -> list[ColumnSpec]:
        """[(name, dtype, shape)] of a row or batch; -1 in a shape where samples differ. dtype: 'u8', 'f32', 'bytes', ..."""
        return self._core.columns()

    def num_classes(self) -> int:
        """One more than the greatest label. An Error if the source does not know."""
        return self._core.num_classes()

    def class_names(self) -> list[str]:
        """By label; empty if unknown, and where labels leave gaps."""
        return self._core.class_names()

    def class_indexing(self) -> dict[str, int]:
        """{name: label}; shows gaps, too."""
        return self._core.class_indexing()

    def label_base(self) -> int:
        """What is subtracted from stored labels."""
        return self._core.label_base()

    @property
    def seed(self) -> int:
        """The graph's seed."""
        return self._core.seed()

    # ---- forms

    def to_json(self, indent: int = -1) -> str:
        """The graph as JSON, the same text as in C++. Python functions stand in it by name."""
        return self._core.to_json(indent)

    @staticmethod
    def from_json(text: str) -> Dataset:
        """The dataset of a graph's JSON. Functions that it names must be registered and alive."""
        return Dataset(_core.from_json(text))

    def to_minddata_json(self, indent: int = -1) -> str:
        """The graph as MindData's serialised tree."""
        return self._core.to_minddata_json(indent)

    @staticmethod
    def from_minddata_json(text: str) -> Dataset:
        """The dataset of a MindData tree."""
        return Dataset(_core.from_minddata_json(text))

    def hash(self) -> int:
        """What samples depend on, apart from the seed: equal hash, seed and data give the same batches."""
        return self._core.hash()

    def to_text(self, prepared: bool = False, open_files: bool = False) -> str:
        """The graph for a terminal, output first; `prepared`: after the passes, as a run sees it."""
        return self._core.to_text(prepared, open_files)

    def to_svg(self, open_files: bool = False) -> str:
        """The graph before and after the passes, side by side, as an SVG document."""
        return self._core.to_svg(open_files)

    def show(self, svg: str | os.PathLike[str] | None = None, open_files: bool = False) -> None:
        """Prints the graph before and after the passes.

        svg: a file that gets the drawing
        open_files: whether sources may be opened, to show numbers of rows
        """
        print("before the passes\n" + self.to_text(False, open_files))
        print("after the passes\n" + self.to_text(True, open_files), end="")
        if svg is not None:
            with open(svg, "w", encoding="utf-8") as file:
                file.write(self.to_svg(open_files))

    def save(self, path: str | os.PathLike[str], workers: int = 0, epoch: int = 0) -> int:
        """Writes one epoch of rows, all transforms done, into a packed file for `Packed`. Number of rows."""
        return self._core.save(path, workers, epoch)

    def __repr__(self) -> str:
        return self.to_text().rstrip()

    def _repr_html_(self) -> str:
        """In a notebook: its columns, and the graph before and after the passes."""
        from html import escape

        try:
            rows = "".join(f"<tr><td>{escape(name)}</td><td>{dtype}</td><td>{list(shape)}</td></tr>"
                           for name, dtype, shape in self.columns())
            table = f"<table><tr><th>column</th><th>type</th><th>shape</th></tr>{rows}</table>"
        except _core.Error as error:  # a source that is not there
            table = f"<p>{escape(str(error))}</p>"
        return table + self.to_svg()

    def __reduce__(self):
        if self._core.has_callbacks():
            raise TypeError("a dataset with callbacks cannot be pickled: they would be lost")
        return (Dataset.from_json, (self.to_json(),))

    def __copy__(self) -> Dataset:
        return self

    def __deepcopy__(self, memo: Any) -> Dataset:
        return self


def _flat(transforms):
    """map(a, b) and map([a, b]) alike."""
    flat = []
    for transform in transforms:
        if isinstance(transform, (list, tuple)):
            flat.extend(_flat(transform))
        elif isinstance(transform, _core.Transform):
            flat.append(transform)
        else:
            raise _core.ArgumentError(
                f"map takes transforms of ridgeline.data, not {type(transform).__name__}: torchvision's go through "
                "from_torchvision, Python functions through Function"
            )
    return flat


def zip(inputs: Sequence[Dataset]) -> Dataset:
    """Columns of several datasets side by side; as many rows as the shortest has.

    inputs: datasets of samples whose columns have different names
    """
    return Dataset(_core.join("zip", [d._core for d in inputs], [], -1, None))


def concat(inputs: Sequence[Dataset]) -> Dataset:
    """The rows of one dataset after those of the other.

    inputs: datasets of samples with the same columns, types and shapes
    """
    return Dataset(_core.join("concat", [d._core for d in inputs], [], -1, None))


def mix(inputs: Sequence[Dataset], weights: Sequence[float], count: int = -1, seed: int | None = None) -> Dataset:
    """Rows of several datasets in random turns by weight, exactly in every 1000 rows.

    inputs: datasets of samples with the same columns
    weights: shares of the rows, one for each input, 0 or more
    seed: of the turns; absent: the graph's
    count: rows of an epoch; -1: as many as the inputs have together
    """
    return Dataset(_core.join("mix", [d._core for d in inputs], list(weights), count, seed))


_no_tokens = _core.Tokens()
