"""Operations of images."""

from ..._names import lookup
from .c_transforms import (REFUSED, CenterCrop, Decode, HWC2CHW, Normalize, RandomCrop, RandomCropDecodeResize,
                           RandomHorizontalFlip, RandomResizedCrop, Rescale, Resize)
from .utils import Border, Inter

__all__ = ["Border", "CenterCrop", "Decode", "HWC2CHW", "Inter", "Normalize", "RandomCrop", "RandomCropDecodeResize",
           "RandomHorizontalFlip", "RandomResizedCrop", "Rescale", "Resize"]


def __getattr__(name):
    return lookup(__name__, name, {"c_transforms": ".c_transforms", "utils": ".utils"},
                  {**REFUSED, "py_transforms": "vision itself: operations run in the engine"})
