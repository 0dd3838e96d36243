"""The pictures of a DataLoader's samples: the engine's transforms for them, and the batches that come of it."""

from __future__ import annotations

import struct

import numpy as np

from .._core import ArgumentError, RunError, Tokens, make_transform
from ._callables import Function
from ._follow import BOXES, GEOMETRY, Follow
from ._labels import labels_given
from ._leaves import Misfit
from ._names import NUMPY
from ._run import replay
from ._tail import Unfinished
from ._torchvision import translate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import *  # noqa: F403

_TYPES = {numpy: dtype for dtype, numpy in NUMPY.items() if dtype != "bf16"}


class Pictures:
    """What is done to an Input's pictures, and how its batches are shown."""

    def __init__(self, source, transform, untranslatable, memory_format, end, options, collate_fn):
        self._source, self._transform, self._untranslatable = source, transform, untranslatable
        self._end = end  # what is left to the device (_tail.End)
        self._bytes_travel, self._flips, self._finish = False, False, None
        self._contiguous = memory_format == "contiguous"
        self._torch, self._collate_fn = options.torch, collate_fn
        self._packed = {}  # column: whether its pictures lie channels first; those of different sizes
        self._apart = self._lists(options)

    def _lists(self, options):
        """Columns of pictures that are delivered as lists."""
        source = self._source
        if source.rest is not None:
            return source.rest.pictures_in(options.as_list)
        place = source.keys.get(source.columns[0], source.columns[0] if source.form == "dict" else 0)
        if others := options.known - {(place,)} | set(options.pad):
            keys = ", ".join(repr(key[0] if len(key) == 1 else key) for key in others)
            raise ArgumentError(f"as_list and pad are for samples of your own, and as_list for pictures ({place!r}): "
                                f"{keys} is neither")
        return {source.columns[0]} if options.known else set()

    def of(self, dataset):
        """The data set with its pictures transformed, before batches are made."""
        source, pictures = self._source, list(self._source.pictures)
        if self._transform is not None and source.transform is not None:
            raise ArgumentError("the data set has a transform of its own: leave out transform=, or take it off")
        chosen = source.transform if self._transform is None else self._transform
        moved = source.rest.moved if source.rest is not None else ()
        translation = translate(chosen, source.channels, self._untranslatable, moved)
        made = list(translation.transforms)
        cast = [made.pop()] if made and made[-1].op == "type_cast" and not translation.python else []
        if moved and translation.python:
            raise ArgumentError(f"{type(translation.python[0]).__name__} of transform= would run in Python on the picture "
                                f"alone, and leave {' and '.join(sorted(moved))} behind: let the data set transform its "
                                "samples")
        if moved and made and source.rest is not None:
            made = [make_transform("record_geometry", {}, [], Tokens()), *made]
            source.rest.follow = Follow(translation.beside)
        if made:  # several pictures draw alike
            dataset = dataset.map_columns(pictures, *made)
        for picture in pictures:
            if _type_of(dataset, picture) == "bytes":  # nothing has asked for pixels yet
                dataset = dataset.map_columns([picture], make_transform("decode", {}, [], Tokens()))
        if translation.python:
            dataset = dataset.map_columns(pictures, self._python_function(dataset, pictures, translation))
        if self._contiguous:
            dataset = dataset.map_columns(pictures, make_transform("hwc_to_chw", {}, [], Tokens()))
        if cast:
            dataset = dataset.map_columns(pictures, *cast)
        if any(name == BOXES for name, _, _ in dataset.columns()) and source.rest is not None:
            dataset = dataset.project([name for name, _, _ in dataset.columns() if name != BOXES])
        self._packed.clear()
        for name, dtype, shape in dataset.columns():
            if name in pictures and -1 in shape and dtype in NUMPY and dtype != "bf16":
                dataset = dataset.map_columns([name], Function(_pack, "bytes", (), name="ridgeline.pixels",
                                                               thread_safe=True))
                self._packed[name] = NUMPY[dtype]
        return dataset

    def settled(self, graph, options, own=True):
        """The options of a run of this graph of batches; settles what of its pictures the device makes.

        own: whether the loader makes the batches
        """
        alone = "the usual collate_fn, another one gets finished pictures" if self._collate_fn is not None else \
            "memory_format='channels_last'" if self._contiguous else \
            "" if own else "a batch_size, these batches are the dataset's own"
        of_bytes = any(self._packed.get(name, dtype) in ("u8", NUMPY["u8"]) for name, dtype, _ in graph.columns()
                       if name in self._source.pictures)
        self._bytes_travel, self._flips, self._finish = self._end.of(graph, alone, of_bytes)
        if self._finish is not None and self._collate_fn is not None:
            raise ArgumentError("dtype is for pictures that are delivered as they are: let collate_fn convert them")
        return {**options, "raw_images": self._bytes_travel}

    def _python_function(self, dataset, pictures, translation):
        """The rest of a chain; the type and shape of its first result are those of all."""
        if len(pictures) > 1:
            raise ArgumentError("untranslatable='python' is for one picture a sample, image= names several")
        name = "python." + "_".join(type(t).__name__ for t in translation.python)
        result = translation.call_python(replay(dataset, 0, 0)[pictures[0]])
        if str(result.dtype) not in _TYPES:
            raise ArgumentError(f"{name} gives {result.dtype} (allowed: {', '.join(_TYPES)})")
        return Function(translation.call_python, _TYPES[str(result.dtype)], result.shape, name)

    def delivered(self, batch, rows):
        """The value of a batch, of which the first rows count."""
        source = self._source
        if source.rest is not None:
            return self._rest_delivered(batch, rows)
        beside = ("mask", "flip") if self._bytes_travel else ("mask",)
        names = source.keys or (source.columns if source.form != "dict" else
                                [name for name in batch.keys() if name not in beside])
        values = {source.keys.get(name, name): self._column(batch, name, rows) for name in names}
        if self._collate_fn is None:
            return values if source.form == "dict" else list(values.values())
        if source.label_type is not None:
            label = source.keys.get("label", "label")
            values[label] = labels_given(values[label], source.label_type)
        columns: list[Any] = list(values.values())
        samples: list[Any] = [tuple(column[i] for column in columns) for i in range(len(columns[0]))]
        if source.form == "dict":
            samples = [dict(zip(values, sample)) for sample in samples]
        elif source.form == "list":
            samples = [list(sample) for sample in samples]
        return self._collate_fn(samples)

    def _rest_delivered(self, batch, rows):
        rest = self._source.rest
        pictures = {name: self._column(batch, name, rows) for name in self._source.pictures}
        packed = batch._core.byte_arrays("rest")[:rows]
        geometry = batch[GEOMETRY][:rows] if rest.follow is not None else None
        try:
            if self._collate_fn is None:
                return rest.batch(packed, pictures, batch.records, geometry)
            samples = list(rest.samples(packed, pictures, batch.records, geometry))
        except Misfit as error:
            raise RunError(str(error)) from None
        return self._collate_fn(samples)

    def _column(self, batch, name, rows):
        if self._bytes_travel and name == "image":
            flip = batch.torch("flip")[:rows] if self._flips else None
            return Unfinished(self._finish, batch.torch(name, channels_first=False)[:rows], flip)
        values = self._made_column(batch, name, rows)
        if self._finish is None or self._bytes_travel or name not in self._source.pictures:
            return values
        return [Unfinished(self._finish, one) for one in values] if isinstance(values, list) else \
            Unfinished(self._finish, values)

    def _made_column(self, batch, name, rows):
        if name in self._packed:
            return self._of_sizes(batch, name, rows)
        dtype = _type_of(batch, name)
        if not self._torch or dtype == "bytes":
            values = batch[name][:rows] if rows != batch.rows else batch[name]
        else:
            first = not self._contiguous and name in self._source.pictures and len(batch.shape(name)) == 4
            values = batch.torch(name, channels_first=first)
            if rows != batch.rows:
                values = values[:rows]
            if dtype == "i32" and self._source.counts:
                values = values.long()  # as PyTorch's losses want labels
        return list(values) if name in self._apart else values

    def _of_sizes(self, batch, name, rows):
        """Pictures that may differ in size: side by side where they do not, or a list."""
        made = [_unpack(packed, self._packed[name]) for packed in batch[name][:rows]]
        if name in self._apart or self._collate_fn is not None:
            return [self._shown(picture) for picture in made]
        for record, picture in zip(batch.records, made):
            if picture.shape != made[0].shape:
                raise RunError(f"sample {record}: its picture has the shape {list(picture.shape)}, the first of its batch "
                               f"{list(made[0].shape)} (a Resize to height and width, or a crop, gives one; as_list keeps "
                               "pictures apart)")
        return self._shown(np.stack(made) if made else np.zeros((0, 0, 0, self._source.channels), self._packed[name]))

    def _shown(self, pixels):
        if not self._torch:
            return pixels
        import torch

        tensor = torch.from_numpy(pixels)
        return tensor if self._contiguous else tensor.movedim(-1, -3)


def _pack(pixels):
    return struct.pack("<3q", *pixels.shape) + pixels.tobytes()


def _unpack(packed, dtype):
    pixels = np.frombuffer(bytearray(packed), dtype, offset=24)
    return pixels.reshape(struct.unpack_from("<3q", packed))


def _type_of(columns, name):
    """Of a dataset or a batch."""
    return next(dtype for column, dtype, _ in columns.columns() if column == name)
