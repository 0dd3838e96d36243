"""Operations of any column."""

from ..._names import lookup
from ...common.dtype import name_of
from ..vision.c_transforms import Operation


def TypeCast(output_type):
    """To another type."""
    return Operation("TypeCast", data_type=name_of(output_type))


def OneHot(num_classes):
    """A label as f32 [num_classes]: 1 at its place."""
    return Operation("OneHot", num_classes=num_classes)


_OWN = "map() takes a list of operations, transforms of ridgeline.data, and functions"
REFUSED = {name: _OWN for name in ("Compose", "RandomApply", "RandomChoice", "Fill", "Slice", "Mask", "PadEnd",
                                   "Concatenate", "Duplicate", "Unique", "RandomOrder")}


def __getattr__(name):
    return lookup(__name__, name, {}, REFUSED)
