"""Samples of map-style data sets whose pictures go to the engine, as rows of a graph."""

from __future__ import annotations

import contextlib
import copy

from .._core import ArgumentError, Parts, Turn
from . import _joint, _pickled
from ._callables import FromGenerator
from ._collate import schema_of
from ._follow import BOXES, boxes_of, check_moved, moved_in
from ._labels import Labels
from ._leaves import Call, Misfit, Picture, shown
from ._picture_values import image_value, is_tv_image, lazy_image_value, tv_image
from ._places import pair_of, places_of_pictures, value_at, with_value


TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import *  # noqa: F403


class Input:
    """A data set before transforms: `dataset` of single samples, and how PyTorch would show its samples."""

    def __init__(self, dataset, columns=("image", "label"), form="tuple", keys=None, transform=None, channels=3,
                 classes=None, pictures=None, rest=None, counts=True, label_type=None):
        self.dataset = dataset
        self.columns = columns  # of image and label
        self.pictures = columns[:1] if pictures is None else pictures  # columns that transforms are for
        self.rest = rest  # makes batches of samples that are more than image and label
        self.counts = counts  # labels are whole numbers of Python, which are int64 in PyTorch
        self.label_type = label_type  # of a sample's label, for collate_fn; None: as the column has it
        self.form = form  # of a sample: tuple, list or dict
        self.keys = keys or {}  # {column: key or place} in a sample's order, where they are others
        self.transform = transform  # that the data set itself brought
        self.channels = channels
        self.classes = classes


def of_package(dataset, package):
    return any(c.__module__.split(".")[0] == package for c in type(dataset).__mro__)


def is_stream(dataset):
    """Whether samples come from an iterator, as of PyTorch's IterableDataset."""
    if of_package(dataset, "torch") and any(c.__name__ == "IterableDataset" for c in type(dataset).__mro__):
        return True
    return hasattr(dataset, "__iter__") and not hasattr(dataset, "__getitem__")


def turns_of(dataset, thread_safe):
    """Of all data sets behind this one: two loaders over parts of one data set take turns at it, too."""
    return [] if thread_safe else [Turn(part) for part in _parts(dataset)]


def sample_at(dataset, index, turns, take=lambda sample: sample):
    """take(dataset[index]), by one thread at a time."""
    if not turns:
        return take(dataset[index])
    with contextlib.ExitStack() as stack:
        for turn in turns:
            stack.enter_context(turn)
        return take(dataset[index])


def _users(dataset):
    """The user's own data set, where _joint.py has put something before it."""
    return dataset.behind if type(dataset).__module__ == _joint.__name__ else dataset


def _parts(dataset):
    """The data sets behind PyTorch's Subset and ConcatDataset, each once, in an order that is the same everywhere."""
    dataset = _users(dataset)
    kind = type(dataset).__name__ if of_package(dataset, "torch") else ""
    below = {"Subset": lambda: [dataset.dataset], "ConcatDataset": lambda: dataset.datasets}.get(kind)
    parts = {id(dataset): dataset}
    if below:
        parts = {id(part): part for inner in below() for part in _parts(inner)}
    return [parts[key] for key in sorted(parts)]


# ---- rows


class _Row:
    """A function of rows: `row(index)` reads a sample of the data set."""

    def __init__(self, rows):
        self._rows = rows

    def __call__(self, index):
        raise NotImplementedError

    @property
    def dataset(self):
        return _users(self._rows.dataset)

    @property
    def turns(self):
        return self._rows.turns

    def apart(self):
        """The same for another process, where it has the data set for itself."""
        made = copy.copy(self)
        made._rows = copy.copy(self._rows)
        made._rows.turns = ()
        return made


class _LabelledRow(_Row):
    """(picture, label)"""

    def __init__(self, rows, place, labels):
        super().__init__(rows)
        self._place, self._labels = place, labels

    def __call__(self, index):
        (picture,), target = self._rows.taken(index, lambda sample: value_at(sample, self._place))
        return picture, self._labels.value(target, f"sample {index}: label ({self._place[0]!r})")


class _WholeRow(_Row):
    """(pictures, boxes for the engine if it wants them, all else of the sample)"""

    def __init__(self, rows, rest):
        super().__init__(rows)
        self._rest = rest

    def __call__(self, index):
        pictures, sample = self._rows.taken(index, self._rows.chosen)
        return (*pictures, *self._rest.boxes(sample), self._rest.packed(sample, f"sample {index}"))

    def apart(self):
        made = super().apart()
        made._rest = self._rest.apart()
        return made


def map_style_input(dataset, image, label, options, thread_safe, classes=None, steered=False, processes=None):
    """The Input of a data set with samples by index; its pictures are at `image`, or where the first sample has one.

    steered: whether the engine's crops go by the bounding boxes of a sample
    processes: those that are to make its rows (_sample_processes.RowProcesses)
    """
    if len(dataset) == 0:
        raise ArgumentError("the data set is empty")
    turns = turns_of(dataset, thread_safe)
    first = sample_at(dataset, 0, turns)
    places = places_of_pictures(first, image, label)
    pair = pair_of(first, places, label)
    kinds, channels = _kinds_of(first, places)
    kind = type(_users(dataset))
    name = f"{kind.__module__}.{kind.__qualname__}"
    rows = _Rows(dataset, turns, places, kinds)
    moved = _moved_beside(first, places)
    if pair is not None and not moved:
        other, form = pair
        labels = None if options.known else Labels.of(value_at(first, other), f"sample 0: label ({other[0]!r})")
        if labels is not None:
            row = _by(processes, _LabelledRow(rows, other, labels))
            made = FromGenerator(row, [("image", *kinds[0]), labels.column], len(dataset), name=name, thread_safe=True)
            columns = {places[0][0]: "image", other[0]: "label"}
            keys = None
            if form == "dict" or label is None:
                keys = {columns[key]: key for key in (first if form == "dict" else (0, 1)) if key in columns}
                form = type(first).__name__
            return Input(made, form=form, keys=keys, counts=labels.counts, label_type=labels.type, channels=channels,
                         classes=classes)
    if pair is not None and label is not None:
        places = rows.choose(places[0][0], *pair[0], pair[1])
    rest = Rest(options, places, moved, steered)
    rest.begin(rows.chosen(first))
    row = _by(processes, _WholeRow(rows, rest))
    made = FromGenerator(row, rest.columns_of(kinds), len(dataset), name=name, thread_safe=True)
    return Input(made, columns=rest.columns, pictures=rest.columns, rest=rest, channels=channels,
                 classes=classes)


def _by(processes, row):
    return row if processes is None else processes.of(row)


def stream_input(window, first, image, label, options, steered=False):
    """The Input of a stream, `window(index)` gives its samples (None: there are no more) and `first` is the first one."""
    places = places_of_pictures(first, image, label)
    pair = pair_of(first, places, label)
    kinds, channels = _kinds_of(first, places)
    rows = _Rows(None, (), places, kinds)
    if pair is not None and label is not None:
        places = rows.choose(places[0][0], pair[0][0], pair[1])
    rest = Rest(options, places, _moved_beside(first, rows.pictures), steered)
    rest.begin(rows.chosen(first))
    filler = *rows.read(0, [value_at(first, place) for place in rows.pictures]), *rest.boxes(rows.chosen(first))

    def row(index):
        sample = window(index)
        if sample is None:
            return (*filler, b"")
        pictures = rows.read(index, [value_at(sample, place) for place in rows.pictures])
        sample = rows.chosen(sample)
        return (*pictures, *rest.boxes(sample), rest.packed(sample, f"sample {index}"))

    made = FromGenerator(row, rest.columns_of(kinds), 1 << 40, name="ridgeline.stream", thread_safe=True)
    return Input(made, columns=rest.columns, pictures=rest.columns, rest=rest, channels=channels)


def _moved_beside(first, places):
    """(place, type) of the tv_tensors that follow the picture of a sample."""
    for place in places:
        first = with_value(first, place, None)
    found = list(moved_in(first))
    check_moved(found, len(places))
    return found


def _kinds_of(first, places):
    """(type and shape of each picture, channels of all)."""
    shown = [_first_image(value_at(first, place), place) for place in places]
    channels = {3 if isinstance(value, bytes) else value.shape[2] for value in shown}
    if len(channels) > 1:
        raise ArgumentError("the pictures of a sample must have equally many channels, these have "
                            + " and ".join(map(str, sorted(channels))))
    kinds: list[tuple[str, tuple[int, ...]]] = [
        ("bytes", ()) if isinstance(value, bytes) else ("u8", (-1, -1, value.shape[2])) for value in shown]
    return kinds, channels.pop()


def _first_image(value, place):
    try:
        return image_value(value)
    except (TypeError, OSError) as error:
        where = f" ({place[0]!r})" if len(place) == 1 else f" {place!r}" if place else ""
        raise ArgumentError(f"sample 0: image{where}: {error}") from None


class _Rows:
    """Samples of a data set, their pictures apart."""

    def __init__(self, dataset, turns, places, kinds):
        self.dataset, self.turns, self.kinds = dataset, turns, kinds
        self.pictures = list(places)  # where they are in the data set's samples
        self.only = None  # (image, label, form): what is delivered of a sample

    def taken(self, index, take):
        """([pictures], take(sample)): files are read beside those of other workers."""
        def both(sample):
            return [lazy_image_value(self._found(index, sample, place)) for place in self.pictures], take(sample)

        pictures, taken = sample_at(self.dataset, index, self.turns, both)
        return self.read(index, pictures), taken

    def _found(self, index, sample, place):
        try:
            return value_at(sample, place)
        except (LookupError, TypeError, AttributeError):
            where = f"({place[0]!r})" if len(place) == 1 else repr(place)
            raise TypeError(f"sample {index}: there is no image {where} in {shown(sample)}, which the first sample has") from None

    def read(self, index, pictures):
        return [self._picture(index, *one) for one in zip(pictures, self.pictures, self.kinds)]

    def _picture(self, index, value, place, kind):
        value = image_value(value)
        encoded = kind[0] == "bytes"
        if encoded != isinstance(value, bytes):
            where = f"({place[0]!r})" if len(place) == 1 else repr(place)
            raise TypeError(f"sample {index}: image {where} is {'pixels' if encoded else 'encoded'}, the first was "
                            f"{'encoded' if encoded else 'pixels'}")
        return value

    def choose(self, image, label, form):
        """These two alone are delivered; where the picture is in what is."""
        self.only = image, label, form
        return [(image,)] if form == "dict" else [(0,)]

    def chosen(self, sample):
        if self.only is None:
            return sample
        image, label, form = self.only
        if form == "tuple":
            return sample[image], sample[label]
        return {key: sample[key] for key in sample if key in (image, label)}


class Rest:
    """Samples whose pictures are the engine's matter and all else Python's: how they go apart and become batches.

    moved: (place, type) of what follows the picture; `follow` then says how (_follow.Follow)
    steered: whether the engine gets the bounding boxes, in a column
    """

    def __init__(self, options, places, moved=(), steered=False):
        # The engine records geometry of the column of this name alone, and takes the end of its transforms apart.
        self.columns = ("image",) if len(places) == 1 else tuple(f"image{i}" for i in range(len(places)))
        self.moved = {kind for _, kind in moved}
        self.follow: Callable[..., Any] | None = None
        self._steered = steered and "BoundingBoxes" in self.moved
        self._options, self._places = options, places
        self._for_another_process = False
        self._first: Any = None
        self._schema: Any = None
        self._given: Any = None

    def apart(self):
        """What packs samples in another process."""
        made = copy.copy(self)
        made._first = made.follow = None
        made._for_another_process = True
        return made

    def pictures_in(self, places):
        """The columns of pictures at these places."""
        return {column for column, place in zip(self.columns, self._places) if place in places}

    def begin(self, first):
        """Makes the schema, by the first sample."""
        self._first = self._apart(first)
        try:
            if self._options.checks:
                self._check(self._first, "sample 0")
        except Misfit as error:
            raise ArgumentError(str(error)) from None

    def columns_of(self, kinds) -> list[ColumnSpec]:
        """Of the rows that hold pictures of these kinds and the packed rest."""
        boxes = [(BOXES, "f32", (-1, 4))] if self._steered else []
        return [(column, *kind) for column, kind in zip(self.columns, kinds)] + boxes + [("rest", "bytes", ())]

    def boxes(self, sample):
        """The values of the column of boxes, if there is one."""
        return [boxes_of(sample)] if self._steered else []

    def _check(self, sample, name):
        if self._given is None:
            self._given = schema_of(self._first, self._options, "sample 0")
        self._given.fits(sample, Call([name]), 0)

    def _apart(self, sample):
        for column, place in zip(self.columns, self._places):
            sample = with_value(sample, place, Picture(column))
        return sample

    def packed(self, sample, name):
        """The sample without its pictures as bytes, or in parts that the engine joins."""
        sample = self._apart(sample)
        if self._options.checks:
            self._check(sample, name)
        parts = _pickled.parts(sample)
        return b"".join(parts) if self._for_another_process else Parts(*parts)

    def batch(self, packed, pictures, records, geometry=None):
        """pictures: {column: the batch's}; geometry: the engine's lines for each sample, where something follows"""
        samples = []
        lent = not self._options.as_list  # else all values are copied into those of the batch
        for i, one in enumerate(packed):
            sample = _pickled.loads(one, lent)
            if geometry is not None:
                sample = self._apart(self._followed(sample, geometry[i], f"sample {records[i]}"))
            samples.append(sample)
        if self._schema is None and (samples or geometry is None):
            first = self._first if geometry is None else samples[0]
            self._schema = schema_of(first, self._options, "sample 0" if geometry is None else f"sample {records[0]}")
        if self._schema is None:
            return self._given.collate(samples, Call([], pictures=pictures))
        return self._schema.collate(samples, Call([f"sample {r}" for r in records], pictures=pictures))

    def samples(self, packed, pictures, records, geometry=None):
        """One by one, as collate_fn gets them."""
        for i, one in enumerate(packed):
            sample = _pickled.loads(one)
            if geometry is not None:
                sample = self._followed(sample, geometry[i], f"sample {records[i]}")
            for column, place in zip(self.columns, self._places):
                picture = pictures[column][i]
                if geometry is not None and is_tv_image(value_at(sample, place)):
                    picture = tv_image(picture)
                sample = with_value(sample, place, picture)
            yield sample

    def _followed(self, sample, geometry, name):
        if self.follow is None:
            return sample
        return self.follow(sample, geometry, name, lambda given, picture: with_value(given, self._places[0], picture))
