"""The data engine: from files to batches.

    from ridgeline import data

    train = (data.ImageFolder("flowers/train").shuffle()
             .map(data.RandomResizedCrop(224), data.RandomHorizontalFlip(), data.Normalize.imagenet())
             .batch(128, drop_remainder=True))
    for batch in data.Iterator(train, epochs=3):
        batch["image"]  # f32 [128,224,224,3], a NumPy array over the engine's memory

PyTorch users change one import: `from ridgeline.data import DataLoader`. Names and defaults are those of the C++ API;
`reference_page()` prints all nodes and transforms.
"""

from __future__ import annotations

import copyreg

from .. import _core
from .._core import ArgumentError, Error, InternalError, RunError, Transform, UnreachableError, passes_page, reference_page
from . import _generated
from ._callables import FileList, FromGenerator, FromStream, Function
from ._graph import (Dataset, Filter, Sampler, compare, concat, is_in, is_not_in, kForever, kUnknown, mix, passes,
                     zip)
from ._run import Batch, Iterator, Replayer, Sample, replay

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import ColorJitter, Normalize, RandomCrop  # made of the tables below
    from ._types import *  # noqa: F403

_no_tokens = _core.Tokens()


def _source(op, args):
    return Dataset(_core.make_source(op, args, _no_tokens))


def _sampler(op, args):
    return Sampler(op, args)


def _transform(op, args, operations=()):
    from ._graph import _flat

    return _core.make_transform(op, args, _flat([operations]), _no_tokens)


def _same_transform(op, args, operations):
    return _core.make_transform(op, args, operations, _no_tokens)


def _reduced(transform):
    if transform.op == "function":
        raise TypeError("a Function cannot be pickled: its Python code would be lost")
    return _same_transform, (transform.op, transform.args, transform.operations)


copyreg.pickle(Transform, _reduced)  # type: ignore[arg-type]

_names = _generated.define(_core, globals())


def RandomColorAdjust(brightness: float | Sequence[float] = (), contrast: float | Sequence[float] = (),
                      saturation: float | Sequence[float] = (), hue: float | Sequence[float] = ()) -> Transform:
    """MindData's name for ColorJitter, whose arguments these are: of pixels u8 [height, width, channels].

    brightness, contrast, saturation: a factor is drawn from [max(0, 1 - value), 1 + value], or from (low, high), 0 or more
    hue: a share of the circle is drawn from [-value, value], 0 to 0.5, or from (low, high)
    """
    return ColorJitter(brightness, contrast, saturation, hue)


def RandomBrightness(brightness: float | Sequence[float]) -> Transform:
    """Brightness by a random factor: ColorJitter with one step.

    brightness: the factor is drawn from [max(0, 1 - value), 1 + value], or from (low, high), 0 or more
    """
    return ColorJitter(brightness=brightness)


def RandomContrast(contrast: float | Sequence[float]) -> Transform:
    """Contrast by a random factor: ColorJitter with one step.

    contrast: the factor is drawn from [max(0, 1 - value), 1 + value], or from (low, high), 0 or more
    """
    return ColorJitter(contrast=contrast)


def RandomSaturation(saturation: float | Sequence[float]) -> Transform:
    """Saturation by a random factor: ColorJitter with one step.

    saturation: the factor is drawn from [max(0, 1 - value), 1 + value], or from (low, high), 0 or more
    """
    return ColorJitter(saturation=saturation)


def RandomHue(hue: float | Sequence[float]) -> Transform:
    """Hue by a random share of the circle: ColorJitter with one step.

    hue: the share is drawn from [-value, value], 0 to 0.5, or from (low, high)
    """
    return ColorJitter(hue=hue)


def RandomCropWithPadding(size: int | Sequence[int], padding: int) -> Transform:
    """A random window after adding `padding` zero pixels on all sides.

    size: [side] or [height, width] of the window, in pixels
    """
    return RandomCrop(size, padding)


def NormalizeWith(mean: Sequence[float], std: Sequence[float]) -> Transform:
    """The same as Normalize: u8 to f32 (v / 255 - mean) / std.

    mean, std: of each channel, of values from 0 to 1; std above 0
    """
    return Normalize(mean, std)


def _imagenet():
    """Normalize with the usual means and deviations of ImageNet."""
    return Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


Normalize.imagenet = _imagenet


def found_data(dir: str | os.PathLike[str]) -> dict[str, Any]:
    """What a folder holds, as the command line sees it: {"parts", "not_used", "notes"}.

    Each of the parts has "name" ("train", "val", "test", or "all"), "use", "layout", "dir", "files", "images", "classes"
    and "broken"; the others are lists of sentences. Looks at names, reads no images.
    """
    return _core.found_data(dir)


def read_mask(file: str | os.PathLike[str] | bytes) -> Any:
    """The numbers of a segmentation's mask, a PNG: an array u8 [height, width], or u16 where the file has 16 bits.

    file: its path, or its bytes
    Numbers are as the file has them: grey is not scaled, indices of a palette are not looked up. Decodes as the engine
    does, beside other threads of Python. A file with several values a pixel, a damaged or incomplete one is a RunError.
    """
    return _core.read_mask(file)


_LATER = {"DataLoader": "_loader", "FromParquet": "_parquet", "from_torchvision": "_torchvision",
          "Translation": "_torchvision", "get_worker_info": "_worker_info"}

__all__ = sorted(
    [*_names, *_LATER, "ArgumentError", "Batch", "Dataset", "Error", "FileList", "Filter", "FromGenerator",
     "FromStream", "Function", "InternalError", "Iterator", "NormalizeWith", "RandomBrightness", "RandomColorAdjust",
     "RandomContrast", "RandomCropWithPadding", "RandomHue", "RandomSaturation", "Replayer", "RunError", "Sample",
     "Sampler", "Transform", "UnreachableError", "compare", "concat", "found_data", "is_in", "is_not_in", "kForever", "kUnknown", "mix", "passes",
     "passes_page", "read_mask", "reference_page", "replay", "zip"])


def __getattr__(name):
    if name in _LATER:
        import importlib

        value = getattr(importlib.import_module("." + _LATER[name], __name__), name)
        globals()[name] = value
        return value
    from .._instead import not_there

    raise not_there(__name__, name, __all__)


def __dir__():
    return __all__
