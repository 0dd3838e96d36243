"""A sample taken apart into what follows its picture and all else, and torchvision's transforms that do something to it."""

from __future__ import annotations

import functools
import sys

from ._functionals import corners_of
from ._moved import Boxes, Mask, form_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import *  # noqa: F403


class Parts:
    """The leaves of a sample, those that follow a picture as _moved.py moves them."""

    def __init__(self, sample):
        self._take(sample)

    def _take(self, sample):
        self.leaves, self._form = _flat(sample)
        self.moved = []
        for i, leaf in enumerate(self.leaves):
            if follows(leaf):
                self.moved.append(i)
                self.leaves[i] = form_of(leaf)

    def forms(self):
        return [self.leaves[i] for i in self.moved]

    def move(self, word, fill, numbers):
        for i in self.moved:
            self.leaves[i] = self.leaves[i].moved(word, fill, numbers)

    def sample(self):
        """The sample, put together again."""
        leaves = list(self.leaves)
        for i in self.moved:
            leaves[i] = leaves[i].leaf()
        return self._form(leaves)

    def through(self, step):
        """Lets a transform have the sample."""
        self._take(step(self.sample()))

    def labels(self, step):
        """The leaves that a SanitizeBoundingBoxes takes for labels, by number; None: it has to look for itself."""
        if step.labels_getter is None:
            return []
        if step.labels_getter != "default":
            return None
        try:
            found = step._labels_getter(self._form(self.leaves))
        except (ValueError, TypeError, AttributeError, LookupError):
            return None  # it will say it
        found = found if isinstance(found, (tuple, list)) else [found]
        at = {i for i, leaf in enumerate(self.leaves) if any(leaf is one for one in found)}
        tensors = all(isinstance(one, sys.modules["torch"].Tensor) for one in found)  # and so none that is moved here
        return sorted(at) if at and tensors else None


def follows(leaf):
    """Whether it is one of tv_tensors that follows a picture."""
    vision = sys.modules.get("torchvision.tv_tensors")
    return vision is not None and isinstance(leaf, vision.TVTensor) and not isinstance(leaf, (vision.Image, vision.Video))


def first_boxes(sample):
    """(corners [N,4], canvas) of the first bounding boxes in a sample, or None."""
    vision = sys.modules.get("torchvision.tv_tensors")
    for leaf in _flat(sample)[0]:
        if vision is not None and isinstance(leaf, vision.BoundingBoxes):
            form = form_of(leaf)
            return (form.corners() if isinstance(form, Boxes) else corners_of(leaf)), leaf.canvas_size
    return None


def _flat(sample):
    """(leaves, what makes a sample of such leaves), as PyTorch's tree_flatten."""
    tree = _pytree()
    leaves: list[Any] = []
    if _collect(sample, leaves, tree.SUPPORTED_NODES):
        return leaves, lambda given: _rebuilt(sample, iter(given))
    leaves, form = tree.tree_flatten(sample)
    return leaves, lambda given: tree.tree_unflatten(given, form)


@functools.cache
def _pytree() -> Any:
    import torch.utils._pytree as tree

    return tree


def _collect(value, leaves, nodes):
    """Whether there are no containers but Python's own dicts, lists and tuples."""
    kind = type(value)
    if kind is dict:
        value = value.values()
    elif kind is not list and kind is not tuple:
        leaves.append(value)
        return not isinstance(value, (dict, list, tuple)) and kind not in nodes
    for inner in value:
        if not _collect(inner, leaves, nodes):
            return False
    return True


def _rebuilt(value, leaves):
    kind = type(value)
    if kind is dict:
        return {key: _rebuilt(inner, leaves) for key, inner in value.items()}
    if kind is list or kind is tuple:
        return kind([_rebuilt(inner, leaves) for inner in value])
    return next(leaves)


@functools.cache
def stand_in():
    """A picture for transforms that ask whether there is one."""
    from PIL import Image

    return Image.new("RGB", (1, 1))


@functools.cache
def _tensor_stand_in():
    from torchvision.transforms.v2.functional import to_image

    return to_image(stand_in())


# ---- transforms


def apply(step, parts):
    """Does to the parts what the transform does to their sample."""
    kind = type(step)
    known = _KNOWN.get(kind.__name__) if kind.__module__.startswith("torchvision.transforms.v2") else None
    if known is None or not known(step, parts):
        parts.through(step)


def _clamped(step, parts):
    boxes = [form for form in parts.forms() if form.kind == "BoundingBoxes"]
    if not all(isinstance(form, Boxes) for form in boxes):
        return False
    for form in boxes:
        form.clamp(form.clamping if step.clamping_mode == "auto" else step.clamping_mode)
    return True


def _converted(step, parts):
    boxes = [form for form in parts.forms() if form.kind == "BoundingBoxes"]
    name = getattr(step.format, "value", str(step.format).upper())
    if name not in ("XYXY", "XYWH", "CXCYWH") or not all(isinstance(form, Boxes) for form in boxes):
        return False
    return all([form.convert(name) for form in boxes])


def _sanitized(step, parts):
    forms, labels = parts.forms(), parts.labels(step)
    boxes = next((form for form in forms if form.kind == "BoundingBoxes"), None)
    if labels is None or not isinstance(boxes, Boxes) or not all(isinstance(form, Boxes) or form.kind != "BoundingBoxes"
                                                                and (isinstance(form, Mask) or form.kind != "Mask")
                                                                for form in forms):
        return False
    count = len(boxes.values)
    if any(isinstance(form, Boxes) and len(form.values) != count for form in forms) or \
            any(parts.leaves[i].shape[:1] != (count,) for i in labels):
        return False
    chosen = boxes.large_enough(step.min_size, step.min_area)
    if chosen.all():
        return True
    for form in forms:
        if isinstance(form, (Boxes, Mask)):
            form.keep(chosen)
    for i in labels:
        parts.leaves[i] = _rows(parts.leaves[i], chosen)
    return True


def _rows(tensor, chosen):
    torch = sys.modules["torch"]
    if type(tensor) is torch.Tensor:
        try:
            return torch.from_numpy(tensor.numpy()[chosen])  # faster than PyTorch's own index
        except (TypeError, RuntimeError):  # it has a gradient, or a type that NumPy lacks
            pass
    return tensor[torch.from_numpy(chosen)]


def _to_image(step, parts):
    """It takes all arrays of a sample for pictures."""
    import numpy as np
    from PIL import Image

    if any(isinstance(leaf, np.ndarray) for leaf in parts.leaves):
        return False
    image = sys.modules["torchvision.tv_tensors"].Image
    if not any(isinstance(leaf, (Image.Image, image)) for leaf in parts.leaves):
        return False
    parts.leaves = [_tensor_stand_in() if leaf is stand_in() else leaf for leaf in parts.leaves]
    return not any(isinstance(leaf, Image.Image) for leaf in parts.leaves)


def _to_pure(step, parts):
    import torch

    for i in parts.moved:
        parts.leaves[i] = parts.leaves[i].leaf().as_subclass(torch.Tensor)
    parts.moved = []
    vision = sys.modules["torchvision.tv_tensors"]
    for i, leaf in enumerate(parts.leaves):
        if isinstance(leaf, vision.TVTensor):
            parts.leaves[i] = leaf.as_subclass(torch.Tensor)
    return True


_KNOWN = {"ClampBoundingBoxes": _clamped, "ConvertBoundingBoxFormat": _converted, "SanitizeBoundingBoxes": _sanitized,
          "ToImage": _to_image, "ToPureTensor": _to_pure}
