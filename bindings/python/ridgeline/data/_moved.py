"""Boxes, key points and masks between two transforms: plain arrays, which the engine's lines move with the very values that
torchvision's functionals give, and which become tv_tensors again at the end.

Boxes and key points are computed with by NumPy, in the order and types of torchvision's kernels. Of masks only the rows and
columns are chosen; their values are read once, when the mask is asked for. What this does not know goes on through
torchvision's functionals (_functionals.py).
"""

from __future__ import annotations

import sys

import numpy as np

from .._core import MaskLine, mask_of_lines
from ._functionals import functional

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import *  # noqa: F403


def form_of(leaf):
    """What moves a tv_tensor: an object with moved(word, fill, numbers), canvas, leaf() and, once, others of its kind."""
    kind = type(leaf).__name__ if type(leaf).__module__.startswith("torchvision.tv_tensors") else ""
    make = {"BoundingBoxes": Boxes, "KeyPoints": Points, "Mask": Mask}.get(kind)
    torch = sys.modules["torch"]
    plain = leaf.as_subclass(torch.Tensor)
    if make is None or plain.requires_grad or not plain.is_cpu or plain.layout != torch.strided or \
            torch.get_default_dtype() != torch.float32:
        return Other(leaf)
    return make.of(leaf, plain) or Other(leaf)


class Other:
    """A tv_tensor that torchvision's functionals move."""

    def __init__(self, leaf):
        self._leaf = leaf

    @property
    def canvas(self):
        return tuple(getattr(self._leaf, "canvas_size", self._leaf.shape[-2:]))

    @property
    def kind(self):
        return type(self._leaf).__name__

    def moved(self, word, fill, numbers):
        return form_of(functional(word, fill, numbers)(self._leaf))

    def leaf(self):
        return self._leaf


class _Plain:
    """One that is moved here: a move is the method of its name, which changes this object, and says whether it could."""

    __slots__ = ("_given",)
    kind = ""
    if TYPE_CHECKING:
        canvas: Any

        def leaf(self) -> Any: ...

    def moved(self, word, fill, numbers):
        move = getattr(self, word, None)
        if move is not None and move(fill, *numbers):
            return self
        return Other(self.leaf()).moved(word, fill, numbers)

    def _center_crop(self, height, width):
        """(top, left) of torchvision's center_crop."""
        above, beside = self.canvas
        return int(round((above - height) / 2.0)), int(round((beside - width) / 2.0))


# ---- boxes


class Boxes(_Plain):
    __slots__ = ("values", "format", "canvas", "clamping")
    kind = "BoundingBoxes"

    @classmethod
    def of(cls, leaf, plain):
        """None: of a type or format that is left to torchvision."""
        form, dtype = leaf.format.value, str(plain.dtype)
        if plain.dim() != 2 or form not in ("XYXY", "XYWH", "CXCYWH") or dtype not in _NUMBERS or \
                dtype == "torch.int64" and form == "CXCYWH":
            return None
        made = cls()
        made._given = leaf
        made.values, made.format = plain.numpy(), form
        made.canvas, made.clamping = leaf.canvas_size, leaf.clamping_mode
        return made

    def leaf(self):
        if self._given is not None:
            return self._given
        import torch
        from torchvision import tv_tensors

        made: Any = torch.from_numpy(self.values).as_subclass(tv_tensors.BoundingBoxes)
        made.format, made.canvas_size = tv_tensors.BoundingBoxFormat[self.format], self.canvas
        made.clamping_mode = self.clamping
        return made

    def _becomes(self, values, canvas=None):
        self.values, self._given = values, None
        self.canvas = canvas or self.canvas
        return True

    def _offset(self, x, y):
        return np.array((x, y, x, y) if self.format == "XYXY" else (x, y, 0, 0), self.values.dtype)

    def crop(self, fill, top, left, height, width):
        self._becomes(self.values - self._offset(left, top), (height, width))
        return self.clamp(self.clamping, own=True)

    def iou_crop(self, fill, top, left, height, width):
        """As RandomIoUCrop: boxes whose middle lies outside become empty."""
        corners = self.corners()
        if corners.dtype == np.int64:
            x, y = (np.float32(0.5) * (corners[:, i] + corners[:, i + 2]).astype(np.float32) for i in (0, 1))
        else:
            x, y = 0.5 * (corners[:, 0] + corners[:, 2]), 0.5 * (corners[:, 1] + corners[:, 3])
        within = (left < x) & (x < left + width) & (top < y) & (y < top + height)
        self.crop(fill, top, left, height, width)
        if not within.all():
            self.values[~within] = 0
        return True

    def center_crop(self, fill, height, width):
        return self.crop(fill, *self._center_crop(height, width), height, width)

    def pad(self, fill, left, top, right, bottom):
        height, width = self.canvas
        self._becomes(self.values + self._offset(left, top), (height + top + bottom, width + left + right))
        return self.clamp(self.clamping, own=True)

    def resize(self, fill, height, width):
        if (height, width) != tuple(self.canvas):
            x, y = width / self.canvas[1], height / self.canvas[0]
            self._becomes(_times(self.values, (x, y, x, y)), (height, width))
        return True

    def horizontal_flip(self, fill):
        return self._flip(0, self.canvas[1])

    def vertical_flip(self, fill):
        return self._flip(1, self.canvas[0])

    def _flip(self, at, extent):
        values = self.values.copy()
        if self.format == "XYXY":
            np.negative(self.values[:, at + 2::-2] - extent, out=values[:, at::2])
        elif self.format == "XYWH":
            values[:, at] = -((values[:, at] + values[:, at + 2]) - extent)
        else:
            values[:, at] = -(values[:, at] - extent)
        return self._becomes(values)

    # ---- what transforms of boxes alone do

    def clamp(self, mode, own=False):
        """own: whether nobody else has these values"""
        if mode is None:
            return True
        values, dtype = self.values, self.values.dtype
        values = values.astype(np.float32) if dtype == np.int64 else values if own else values.copy()
        _to_corners(values, self.format)
        height, width = self.canvas
        values.clip(0, np.array((width, height, width, height), values.dtype), out=values)
        _from_corners(values, self.format)
        return self._becomes(values.astype(dtype) if dtype == np.int64 else values)

    def convert(self, form):
        if form == self.format:
            return True
        if self.values.dtype == np.int64 and form == "CXCYWH":
            return False
        values = self.values.copy()
        if form == "CXCYWH" and self.format == "XYWH":
            values[:, :2] += values[:, 2:] / 2
        elif form == "XYWH" and self.format == "CXCYWH":
            values[:, :2] -= values[:, 2:] / 2
        else:
            _to_corners(values, self.format)
            _from_corners(values, form)
        self.format = form
        return self._becomes(values)

    def corners(self):
        if self.format == "XYXY":
            return self.values
        values = self.values.copy()
        _to_corners(values, self.format)
        return values

    def large_enough(self, size, area):
        """Which of them SanitizeBoundingBoxes keeps: bool [N]."""
        corners = self.corners()
        sides = corners[:, 2:] - corners[:, :2]
        areas = sides[:, 0] * sides[:, 1]
        if corners.dtype == np.int64:  # PyTorch compares whole numbers with floats as f32
            sides, areas, size, area = sides.astype(np.float32), areas.astype(np.float32), np.float32(size), np.float32(area)
        height, width = self.canvas
        within = (corners >= 0) & (corners <= np.array((width, height, width, height), corners.dtype))
        return (sides >= size).all(1) & within.all(1) & (areas >= area)

    def keep(self, chosen):
        return self._becomes(self.values[chosen])


def _to_corners(values, form):
    """In place."""
    if form == "XYWH":
        values[:, 2:] += values[:, :2]
    elif form == "CXCYWH":
        values[:, :2] -= values[:, 2:] / 2
        values[:, 2:] += values[:, :2]


def _from_corners(values, form):
    """In place."""
    if form == "XYXY":
        return
    values[:, 2:] -= values[:, :2]
    if form == "CXCYWH":
        values[:, :2] *= 2
        values[:, :2] += values[:, 2:]
        values[:, :2] /= 2


def _times(values, ratios):
    """As a tensor times one of f32, in the type that it had."""
    ratios = np.array(ratios, np.float32)
    if values.dtype == np.int64:
        return (values.astype(np.float32) * ratios).astype(np.int64)
    return values * ratios.astype(values.dtype, copy=False)


_NUMBERS = ("torch.float32", "torch.float64", "torch.int64")


# ---- key points


class Points(_Plain):
    __slots__ = ("values", "canvas")
    kind = "KeyPoints"

    @classmethod
    def of(cls, leaf, plain):
        if str(plain.dtype) not in _NUMBERS or plain.dim() < 2:
            return None
        made = cls()
        made._given, made.values, made.canvas = leaf, plain.numpy(), leaf.canvas_size
        return made

    def leaf(self):
        if self._given is not None:
            return self._given
        import torch
        from torchvision import tv_tensors

        made: Any = torch.from_numpy(self.values).as_subclass(tv_tensors.KeyPoints)
        made.canvas_size = self.canvas
        return made

    def _becomes(self, values, canvas=None):
        self.values, self._given = values, None
        self.canvas = canvas or self.canvas
        return True

    def crop(self, fill, top, left, height, width):
        return self._becomes(self.values - np.array((left, top), self.values.dtype), (height, width))

    iou_crop = crop

    def center_crop(self, fill, height, width):
        return self.crop(fill, *self._center_crop(height, width), height, width)

    def pad(self, fill, left, top, right, bottom):
        height, width = self.canvas
        return self._becomes(self.values + np.array((left, top), self.values.dtype),
                             (height + top + bottom, width + left + right))

    def resize(self, fill, height, width):
        if (height, width) != tuple(self.canvas):
            self._becomes(_times(self.values, (width / self.canvas[1], height / self.canvas[0])), (height, width))
        return True

    def horizontal_flip(self, fill):
        return self._flip(0, self.canvas[1])

    def vertical_flip(self, fill):
        return self._flip(1, self.canvas[0])

    def _flip(self, at, extent):
        values = self.values.copy()
        values[..., at] = -(values[..., at] - (extent - 1))
        return self._becomes(values)


# ---- masks


class Mask(_Plain):
    """`rows` and `columns` say which of the given ones the mask has; -1 - i: none, the value is `fills[i]`."""

    __slots__ = ("values", "rows", "columns", "fills")
    kind = "Mask"

    @classmethod
    def of(cls, leaf, plain):
        if str(plain.dtype) not in _OF_MASKS or plain.dim() < 2 or plain.numel() == 0:
            return None
        made = cls()
        made._given, made.values, made.fills = leaf, plain.numpy(), []
        made.rows, made.columns = (MaskLine(extent) for extent in made.values.shape[-2:])
        return made

    @property
    def canvas(self):
        return len(self.rows), len(self.columns)

    def leaf(self):
        if self._given is not None:
            return self._given
        import torch
        from torchvision import tv_tensors

        return torch.from_numpy(self._read()).as_subclass(tv_tensors.Mask)

    def _becomes(self, rows, columns):
        self.rows, self.columns, self._given = rows, columns, None
        return True

    def crop(self, fill, top, left, height, width):
        rows, columns = self.canvas
        if not (-height < top < rows and -width < left < columns):
            return False  # it has nothing of the mask
        return self._window(top, left, height, width, 0)

    iou_crop = crop

    def center_crop(self, fill, height, width):
        above, beside = self.canvas
        before = (max(height - above, 0) // 2, max(width - beside, 0) // 2)
        top, left = int(round((max(above, height) - height) / 2.0)), int(round((max(beside, width) - width) / 2.0))
        return self._window(top - before[0], left - before[1], height, width, 0)

    def pad(self, fill, left, top, right, bottom):
        if min(left, top, right, bottom) < 0 or not _holds(self.values.dtype, fill):
            return False
        height, width = self.canvas
        return self._window(-top, -left, top + height + bottom, left + width + right, fill)

    def _window(self, top, left, height, width, fill):
        self.fills.append(fill)
        none = -len(self.fills)
        return self._becomes(self.rows.window(top, height, none), self.columns.window(left, width, none))

    def resize(self, fill, height, width):
        if (height, width) != self.canvas:
            wide = self.values.dtype == np.float64
            self._becomes(self.rows.resized(height, wide), self.columns.resized(width, wide))
            if self.values.dtype in (np.int32, np.int64):
                self.fills = [int(np.float32(value)) for value in self.fills]
        return True

    def horizontal_flip(self, fill):
        return self._becomes(self.rows, self.columns.turned())

    def vertical_flip(self, fill):
        return self._becomes(self.rows.turned(), self.columns)

    def keep(self, chosen):
        """Those chosen of the first axis, if it is as long."""
        if self.values.ndim == 2:  # rows are what is chosen of, where there are as many
            if self.canvas[0] != len(chosen):
                return True
            self.values = self._read()
            self.rows, self.columns = (MaskLine(extent) for extent in self.values.shape[-2:])
        elif self.values.shape[0] != len(chosen):
            return True
        self.values, self._given = self.values[chosen], None
        if self.values.ndim == 2:
            self.rows = MaskLine(self.values.shape[0])
        return True

    def _read(self):
        values, dtype = self.values, self.values.dtype
        rounds = (self.rows.scaled or self.columns.scaled) and dtype in (np.int32, np.int64)  # torchvision resizes in f32
        before = rounds and any(int(np.float32(fill)) != fill for fill in self.fills)
        if before:  # what was filled in behind the resize stays
            values = values.astype(np.float32).astype(dtype)
        made = mask_of_lines(values, self.rows, self.columns, np.array(self.fills, dtype))
        return made.astype(np.float32).astype(dtype) if rounds and not before else made


_OF_MASKS = ("torch.uint8", "torch.bool", "torch.int8", "torch.int16", "torch.int32", "torch.int64", "torch.float32",
             "torch.float64")


def _holds(dtype, fill):
    """Whether a mask of this type holds the value as it is."""
    if dtype.kind == "f":
        return True
    low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return fill == int(fill) and low <= fill <= high and abs(fill) < 1 << 53
