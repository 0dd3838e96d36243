"""Boxes, masks and key points of torchvision's tv_tensors, moved as the engine says that it moved their picture.

The engine records what its steps do to a picture (the column image_geometry: a line a step, with the numbers that were
drawn). What lies beside it is moved by the same numbers, with the values that torchvision's own functionals give.
"""

from __future__ import annotations

from .._core import ArgumentError
from ._beside import Parts, apply, first_boxes, stand_in
from ._leaves import Misfit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import *  # noqa: F403

GEOMETRY = "image_geometry"  # the engine's column
BOXES = "boxes"  # f32 [?,4], for crops that are guided by boxes

_MOVED = ("BoundingBoxes", "Mask", "KeyPoints")


def moved_in(sample, place=()):
    """(place, type name) of all tv_tensors in a sample that follow a picture."""
    if type(sample).__module__.startswith("torchvision.tv_tensors"):
        yield place, type(sample).__name__
    elif isinstance(sample, dict):
        for key, inner in sample.items():
            yield from moved_in(inner, (*place, key))
    elif isinstance(sample, (tuple, list)):
        for i, inner in enumerate(sample):
            yield from moved_in(inner, (*place, i))
    elif hasattr(sample, "__dataclass_fields__") and not isinstance(sample, type):
        for name in sample.__dataclass_fields__:
            for inner, kind in moved_in(getattr(sample, name), (*place, name)):
                raise ArgumentError(f"sample 0: {_where(inner)}is {kind} of tv_tensors in a dataclass, into which "
                                    "torchvision's transforms do not look: give dicts or tuples")


def check_moved(found, pictures):
    """An ArgumentError where they do not follow one picture. found: of moved_in, with the pictures left out."""
    for place, kind in found:
        if kind not in _MOVED:
            raise ArgumentError(f"sample 0: {_where(place)}is {kind} of tv_tensors beside the picture: name pictures "
                                "with image=")
        if pictures > 1:
            raise ArgumentError(f"sample 0: {_where(place)}is {kind} of tv_tensors, which follows one picture, image= "
                                "names several")


def _where(place):
    where = "".join(f"[{key!r}]" for key in place)
    return where + " " if where else ""


def boxes_of(sample):
    """The first bounding boxes of a sample as the engine takes them: f32 [?,4], shares of top, left, bottom, right."""
    import numpy as np

    boxes = first_boxes(sample)
    if boxes is None:
        return np.zeros((0, 4), np.float32)
    corners, (height, width) = boxes
    return (corners.astype(np.float64)[:, [1, 0, 3, 2]] / [height, width, height, width]).astype(np.float32)


class Follow:
    """Moves what lies beside a picture. `steps[i]` is what stands in the chain at the engine's line 'note i'."""

    def __init__(self, steps):
        self._steps = steps

    def __call__(self, sample, geometry, name, put):
        """The sample as torchvision's chain gives it; at the place of its picture a stand-in of the same type.

        geometry: the engine's lines for this picture
        put: `put(sample, picture)` puts a picture to its place in the sample
        """
        import numpy as np

        with np.errstate(all="ignore"):  # as PyTorch has it
            parts = Parts(put(sample, stand_in()))
            fill = 0
            for line in bytes(geometry).decode().splitlines():
                word, *numbers = line.split(" ")
                if word == "size":
                    self._check(parts, tuple(map(int, numbers)), name)
                    continue
                if word == "note":
                    step = self._steps[int(numbers[0])]
                    if isinstance(step, Fill):
                        fill = step.value
                    else:
                        apply(step, parts)
                    continue
                parts.move(word, fill, list(map(_number, numbers)))
            return parts.sample()

    @staticmethod
    def _check(parts, size, name):
        for form in parts.forms():
            if tuple(form.canvas) != size:
                own = tuple(form.canvas)
                raise Misfit(f"{name}: its {form.kind} lies on a canvas of {own[0]}x{own[1]}, its picture has "
                             f"{size[0]}x{size[1]}")


class Fill:
    """What masks are filled with from here on."""

    def __init__(self, value):
        self.value = value


def _number(text):
    number = float(text)
    return int(number) if number.is_integer() else number
