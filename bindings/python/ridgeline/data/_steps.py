"""Steps of a chain of torchvision's, timm's or albumentations' transforms: whose they are, what their arguments say."""

from __future__ import annotations

from .._core import ArgumentError
from ._delegates import unwrapped


class Untranslatable(ArgumentError):
    """Names the transform that the engine has nothing equal for, and why."""

    def __init__(self, transform, why):
        name = getattr(transform, "__name__", type(transform).__name__)
        owner = {"torchvision": "torchvision's", "timm": "timm's", "albumentations": "albumentations'"}.get(
            type(transform).__module__.partition(".")[0], "the transform")
        self.why = f"{owner} {name} cannot be translated: {why}"
        super().__init__(self.why + " (untranslatable='python' runs it, and what follows it, as a Python function)")


def is_torchvision(transform):
    return type(transform).__module__.startswith("torchvision.transforms")


def is_timm(transform):
    return type(transform).__module__.startswith("timm.data")


def is_albumentations(transform):
    return type(transform).__module__.startswith("albumentations.")


def flatten(transform):
    """The steps of a Compose and the like."""
    if transform is None:
        return
    transform = unwrapped(transform)
    name = type(transform).__name__
    if isinstance(transform, (list, tuple)):
        steps = transform
    elif name == "Compose" and (is_torchvision(transform) or is_albumentations(transform) and transform.p >= 1):
        steps = transform.transforms
    elif name == "Sequential" and type(transform).__module__.startswith("torch.nn"):
        steps = list(transform)
    else:
        yield transform
        return
    for step in steps:
        yield from flatten(step)


def steered_by_boxes(transform):
    """Whether crops go by the bounding boxes of a sample."""
    for step in flatten(transform):
        if type(step).__name__ == "RandomIoUCrop" or getattr(step, "op", "") == "random_iou_crop":
            return True
        inner = getattr(step, "transforms", getattr(step, "operations", None))
        if isinstance(inner, (list, tuple)) and steered_by_boxes(list(inner)):
            return True
    return False


def ours(name, **args):
    from .. import data

    return getattr(data, name)(**args)


def one(made):
    """Transforms as one that a random choice can hold: an engine's Compose holds at least one."""
    if not made:
        return ours("RandomHorizontalFlip", p=0.0)
    return made[0] if len(made) == 1 else ours("Compose", operations=made)


def filter_of(transform):
    return name_of_filter(transform.interpolation)


def name_of_filter(mode):
    name = getattr(mode, "value", mode)
    return "nearest" if name == "nearest-exact" else str(name)


def fill_of(transform, tensor):
    """tensor: whether pictures have become tensors at this place, which a dict of types tells from PIL's."""
    fill = transform.fill
    if isinstance(fill, dict):
        kinds = ("torchvision.tv_tensors", "torch") if tensor else ("PIL",)
        named = [value for kind in kinds for key, value in fill.items()
                 if getattr(key, "__module__", "").startswith(kind) and key.__name__ in ("Image", "Tensor")]
        if not named and "others" not in fill:
            raise Untranslatable(transform, "fill names no colour of pictures, a dict needs one for 'others'")
        fill = named[0] if named else fill["others"]
    if fill is None:
        return 0
    values = [fill] if isinstance(fill, (int, float)) else fill
    if any(v != int(v) for v in values):
        raise Untranslatable(transform, f"fill={fill!r} is no colour of whole numbers, 0 to 255")
    return [int(v) for v in values]


def pair(value):
    return [whole(v) for v in value] if isinstance(value, (list, tuple)) else whole(value)


def whole(value):
    """A number of pixels; others are left for the engine, which refuses them by name."""
    return int(value) if isinstance(value, int) or float(value).is_integer() else value
