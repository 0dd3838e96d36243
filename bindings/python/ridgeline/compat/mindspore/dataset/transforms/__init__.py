"""Operations of any column."""

from ..._names import lookup
from .c_transforms import REFUSED, OneHot, TypeCast

__all__ = ["OneHot", "TypeCast"]


def __getattr__(name):
    return lookup(__name__, name, {"c_transforms": ".c_transforms"},
                  {**REFUSED, "py_transforms": "transforms itself: operations run in the engine"})
