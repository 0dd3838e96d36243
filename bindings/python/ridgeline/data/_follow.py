"""Boxes, masks and key points of torchvision's tv_tensors, moved as the engine says that it moved their picture.

The engine records what its steps do to a picture (the column image_geometry: a line a step, with the numbers that were
drawn); torchvision's own functionals do the same to what lies beside it, so values are torchvision's for those numbers.
"""

from __future__ import annotations

from .._core import ArgumentError
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
    import torch
    from torch.utils._pytree import tree_leaves
    from torchvision import tv_tensors
    from torchvision.transforms.v2 import functional as F

    for leaf in tree_leaves(sample):
        if isinstance(leaf, tv_tensors.BoundingBoxes):
            height, width = leaf.canvas_size
            corners = F.convert_bounding_box_format(leaf.as_subclass(torch.Tensor), leaf.format,
                                                    tv_tensors.BoundingBoxFormat.XYXY)
            corners = corners.detach().numpy().astype(np.float64).reshape(-1, 4)
            return (corners[:, [1, 0, 3, 2]] / [height, width, height, width]).astype(np.float32)
    return np.zeros((0, 4), np.float32)


class Follow:
    """Moves what lies beside a picture. `steps[i]` is what stands in the chain at the engine's line 'note i'."""

    def __init__(self, steps):
        self._steps = steps

    def __call__(self, sample, geometry, name, put):
        """The sample as torchvision's chain gives it; at the place of its picture a stand-in of the same type.

        geometry: the engine's lines for this picture
        put: `put(sample, picture)` puts a picture to its place in the sample
        """
        from PIL import Image
        from torch.utils._pytree import tree_flatten, tree_unflatten

        sample = put(sample, Image.new("RGB", (1, 1)))
        leaves, form = tree_flatten(sample)
        moved = self._moved(leaves)
        fill = 0
        for line in bytes(geometry).decode().splitlines():
            word, *numbers = line.split(" ")
            if word == "size":
                self._check(leaves, moved, tuple(map(int, numbers)), name)
                continue
            if word == "note":
                step = self._steps[int(numbers[0])]
                if isinstance(step, Fill):
                    fill = step.value
                    continue
                sample = step(tree_unflatten(leaves, form))
                leaves, form = tree_flatten(sample)
                moved = self._moved(leaves)
                continue
            move = _MOVES[word](fill, *map(_number, numbers))
            for i in moved:
                leaves[i] = move(leaves[i])
        return tree_unflatten(leaves, form)

    @staticmethod
    def _moved(leaves):
        from torchvision import tv_tensors

        return [i for i, leaf in enumerate(leaves) if isinstance(leaf, tv_tensors.TVTensor)
                and not isinstance(leaf, (tv_tensors.Image, tv_tensors.Video))]

    @staticmethod
    def _check(leaves, moved, size, name):
        for i in moved:
            leaf = leaves[i]
            own = tuple(getattr(leaf, "canvas_size", leaf.shape[-2:]))
            if own != size:
                raise Misfit(f"{name}: its {type(leaf).__name__} lies on a canvas of {own[0]}x{own[1]}, its picture has "
                             f"{size[0]}x{size[1]}")


class Fill:
    """What masks are filled with from here on."""

    def __init__(self, value):
        self.value = value


def _number(text):
    number = float(text)
    return int(number) if number.is_integer() else number


# ---- torchvision's functionals, by the engine's words


def _functional(name, **given):
    from torchvision.transforms.v2 import functional

    return lambda leaf: getattr(functional, name)(leaf, **given)


def _iou_crop(fill, top, left, height, width):
    """As RandomIoUCrop: boxes whose middle lies outside become empty."""
    import torch
    from torchvision import tv_tensors
    from torchvision.transforms.v2 import functional as F

    crop = _functional("crop", top=top, left=left, height=height, width=width)

    def move(leaf):
        if not isinstance(leaf, tv_tensors.BoundingBoxes):
            return crop(leaf)
        corners = F.convert_bounding_box_format(leaf.as_subclass(torch.Tensor), leaf.format,
                                                tv_tensors.BoundingBoxFormat.XYXY)
        x = 0.5 * (corners[..., 0] + corners[..., 2])
        y = 0.5 * (corners[..., 1] + corners[..., 3])
        within = (left < x) & (x < left + width) & (top < y) & (y < top + height)
        leaf = crop(leaf)
        leaf[~within] = 0
        return leaf

    return move


def _pad(mode):
    def of(fill, *sides):
        return _functional("pad", padding=list(sides), fill=fill, padding_mode=mode)

    return of


def _rotate(fill, angle, expand, *center):
    return _functional("rotate", angle=float(angle), expand=bool(expand), center=list(center) or None, fill=fill)


def _affine(fill, angle, x, y, scale, shear_x, shear_y, *center):
    return _functional("affine", angle=float(angle), translate=[x, y], scale=float(scale),
                       shear=[float(shear_x), float(shear_y)], center=list(center) or None, fill=fill)


def _perspective(fill, *coefficients):
    return _functional("perspective", startpoints=None, endpoints=None, fill=fill,
                       coefficients=[float(c) for c in coefficients])


def _exif(fill, orientation):
    """From the stored picture to the upright one."""
    transposed, across, down = {2: (0, 1, 0), 3: (0, 1, 1), 4: (0, 0, 1), 5: (1, 0, 0), 6: (1, 1, 0), 7: (1, 1, 1),
                                8: (1, 0, 1)}[orientation]

    def move(leaf):
        from torchvision.transforms.v2 import functional as F

        leaf = _transposed(leaf) if transposed else leaf
        leaf = F.horizontal_flip(leaf) if across else leaf
        return F.vertical_flip(leaf) if down else leaf

    return move


def _transposed(leaf):
    import torch
    from torchvision import tv_tensors
    from torchvision.transforms.v2 import functional as F

    wrap: Any = tv_tensors.wrap  # whose types lack like=: those of torch.compiler.disable, which decorates it, drop it
    if isinstance(leaf, tv_tensors.Mask):
        return wrap(leaf.as_subclass(torch.Tensor).transpose(-1, -2).contiguous(), like=leaf)
    plain, given = leaf.as_subclass(torch.Tensor), {"canvas_size": tuple(leaf.canvas_size)[::-1]}
    if isinstance(leaf, tv_tensors.BoundingBoxes):
        formats = tv_tensors.BoundingBoxFormat
        plain = F.convert_bounding_box_format(plain, leaf.format, formats.XYXY)[..., [1, 0, 3, 2]]
        plain = F.convert_bounding_box_format(plain, formats.XYXY, leaf.format)
    else:
        plain = plain.flip(-1)
    return wrap(plain, like=leaf, **given)


_MOVES = {
    "crop": lambda fill, top, left, height, width: _functional("crop", top=top, left=left, height=height, width=width),
    "iou_crop": _iou_crop,
    "center_crop": lambda fill, *size: _functional("center_crop", output_size=list(size)),
    "resize": lambda fill, *size: _functional("resize", size=list(size)),
    "horizontal_flip": lambda fill: _functional("horizontal_flip"),
    "vertical_flip": lambda fill: _functional("vertical_flip"),
    "pad": _pad("constant"),
    "pad_edge": _pad("edge"),
    "pad_reflect": _pad("reflect"),
    "pad_symmetric": _pad("symmetric"),
    "rotate": _rotate,
    "affine": _affine,
    "perspective": _perspective,
    "exif": _exif,
}
