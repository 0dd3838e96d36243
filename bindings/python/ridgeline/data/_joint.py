"""Joint transforms: whose data set they belong to, and what runs them where the engine cannot."""

from __future__ import annotations

import copy
import warnings

from .. import _core
from ._follow import moved_in
from ._picture_values import image_value
from ._places import places_of_pictures, value_at, with_value


class Untransformed:
    """A data set of torchvision's without the joint transforms that it would run on its samples."""

    def __init__(self, behind, sample, length):
        self.behind = behind  # whose turn it is
        self._sample, self._length = sample, length

    def __len__(self):
        return self._length

    def __getitem__(self, index):
        return self._sample(index)


class InPython:
    """A data set whose whole samples a joint transform gets, their pictures as PIL images."""

    def __init__(self, behind, transform, place):
        self.behind = behind
        self._transform, self._place = transform, place

    def __len__(self):
        return len(self.behind)

    def __getitem__(self, index):
        sample = self.behind[index]
        return self._transform(with_value(sample, self._place, _as_pil(value_at(sample, self._place))))


def _as_pil(picture):
    """What a sample may have for a picture as PIL's image of three channels, or of one."""
    import io

    from PIL import Image

    value = image_value(picture)
    if isinstance(value, bytes):
        return Image.open(io.BytesIO(value)).convert("RGB")
    return Image.fromarray(value[:, :, 0] if value.shape[2] == 1 else value)


def prepared(dataset, transform, image, untranslatable):
    """(data set, transform): as given, or with the data set's own joint transforms taken off it for the engine, or with
    the transform put upon a data set that Python computes."""
    from ._samples import is_stream
    from ._steps import Untranslatable
    from ._torchvision import translate

    if transform is None:
        apart = _apart(dataset)
        if apart is None or apart[1] is None:
            return dataset, None
        bare, own = apart
        kinds = _kinds_beside(bare[0], [(0,)]) if len(bare) else set()
        if not kinds:
            return dataset, None
        try:
            translate(own, moved=kinds)
        except Untranslatable as error:
            _say(error.why, "the data set's transforms run in Python")
            return dataset, None
        return bare, own
    if untranslatable != "python" or is_stream(dataset) or not hasattr(dataset, "__getitem__") or not len(dataset):
        return dataset, transform
    first = dataset[0]
    if not any(True for _ in moved_in(first)):
        return dataset, transform
    places = places_of_pictures(first, image, None)
    kinds = _kinds_beside(first, places)
    if not kinds:
        return dataset, transform
    try:
        translate(transform, moved=kinds)
        return dataset, transform
    except Untranslatable as error:
        _say(error.why, "all of transform= runs in Python, on the whole sample")
        return InPython(dataset, transform, places[0]), None


def _kinds_beside(first, places):
    for place in places:
        first = with_value(first, place, None)
    return {kind for _, kind in moved_in(first)}


def _say(why, what):
    warnings.warn(f"{why}: {what}", stacklevel=4)


# ---- torchvision's data sets that wrap_dataset_for_transforms_v2 made


def _apart(dataset):
    """(Untransformed, its transforms); None for all else."""
    from ._samples import of_package

    if type(dataset).__name__ == "Subset" and of_package(dataset, "torch"):
        inner = _apart(dataset.dataset)
        if inner is None:
            return None
        bare, indices = inner[0], list(dataset.indices)
        return Untransformed(dataset, lambda i: bare[indices[i]], len(indices)), inner[1]
    if not any(c.__name__ == "VisionDatasetTVTensorWrapper" for c in type(dataset).__mro__):
        return None
    given = _with_files(dataset._dataset)
    return Untransformed(dataset, lambda i: dataset._wrapper(i, given(i)), len(dataset)), dataset.transforms


def _with_files(dataset):
    """Samples of a data set of torchvision's; the pictures of those that are known here are not decoded yet."""
    from torchvision import datasets

    kind = type(dataset)
    if kind.__getitem__ is datasets.CocoDetection.__getitem__ and kind._load_image is datasets.CocoDetection._load_image:
        unread = copy.copy(dataset)
        unread._load_image = lambda id: _file(f"{dataset.root}/{dataset.coco.loadImgs(id)[0]['file_name']}")
        return unread.__getitem__
    if kind.__getitem__ is datasets.VOCSegmentation.__getitem__:
        return lambda i: (_file(dataset.images[i]), _mask(dataset.masks[i]))
    if kind.__getitem__ is datasets.VOCDetection.__getitem__:
        from xml.etree.ElementTree import parse

        return lambda i: (_file(dataset.images[i]), dataset.parse_voc_xml(parse(dataset.annotations[i]).getroot()))
    return dataset.__getitem__


def _mask(path):
    """PIL's image of a mask's numbers; a file that is no PNG of bytes, as PIL opens it."""
    from PIL import Image

    with open(path, "rb") as file:
        header = file.read(26)
    # Depth and type: indices of a palette, or grey of 8 bits; PIL makes other greys something else.
    if header[:8] == b"\x89PNG\r\n\x1a\n" and (header[25:] == b"\3" or header[24:] == b"\x08\0"):
        return Image.fromarray(_core.read_mask(path))
    return Image.open(path)


def _file(path):
    """PIL's image of a file that is not read yet, for what asks its size; _picture_values.py finds the file by its name."""
    from PIL import Image

    with Image.open(path) as image:  # its size stays
        setattr(image, "ridgeline_file", path)
    return image
