"""torchvision's functionals for tv_tensors beside a picture, by the words of the engine's column image_geometry."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import *  # noqa: F403


def functional(word, fill, numbers):
    """What moves a tv_tensor as such a line says."""
    return _MOVES[word](fill, *numbers)


def corners_of(boxes):
    """Their corners, an array [N,4]."""
    import torch
    from torchvision import tv_tensors
    from torchvision.transforms.v2 import functional as F

    corners = F.convert_bounding_box_format(boxes.as_subclass(torch.Tensor), boxes.format,
                                            tv_tensors.BoundingBoxFormat.XYXY)
    return corners.detach().numpy().reshape(-1, 4)


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
