"""Labels as data sets give them: as columns of their own type, or refused by name."""

from __future__ import annotations

from .._core import ArgumentError
from ._names import NUMPY

# The column of an array's type; whole numbers of other widths go into the next wider one.
_COLUMNS = {"bool": "bool", "uint8": "u8", "int8": "i32", "int16": "i32", "uint16": "i32", "int32": "i32",
            "uint32": "i64", "int64": "i64", "float16": "f16", "float32": "f32", "float64": "f64"}
_ALLOWED = "a number, or an array or tensor of bool, whole or floating numbers"
_MOST = 2 ** 31 - 1


class Labels:
    """The column of a data set's labels, by its first one; `value(label, where)` is what a row of it gets.

    A whole number is i32 (i64 where its type is wider, or it does not fit), a Python float f32, a NumPy or PyTorch
    number or array its own type. What the column cannot hold without a loss is a TypeError that names `where`.
    """

    def __init__(self, first, where):
        array, self.dtype = _column(first, where)
        if array.ndim == 0 and self.dtype == "u8":
            self.dtype = "i32"  # a class, whatever its width
        self.shape = array.shape

    @property
    def column(self):
        return ("label", self.dtype, self.shape)

    def value(self, label, where):
        if type(label) is int and self.dtype == "i32" and not self.shape and abs(label) <= _MOST:
            return label
        import numpy as np

        from ._exact import as_declared

        array, _ = _column(label, where)
        if array.shape != self.shape:
            raise TypeError(f"{where} has the shape {list(array.shape)}, the first label has {list(self.shape)}")
        if array.dtype.name == NUMPY[self.dtype]:
            return array
        if type(label) is float:  # for a column of another type: all of it, not rounded
            array = np.asarray(label)
        made = as_declared(array, NUMPY[self.dtype], rounds=False)
        if isinstance(made, str):
            raise TypeError(f"{where} is {_named(label)}, which the column does not hold: by the first label it is "
                            f"{self.dtype}")
        return made


def labels_array(labels, where):
    """All labels as one array, exact. where: `where(index)` names one."""
    import numpy as np

    if not len(labels):
        return np.zeros(0, np.int32)
    kind = Labels(labels[0], where(0))
    if kind.dtype == "i32" and any(abs(label) > _MOST for label in labels if type(label) is int):
        kind.dtype = "i64"
    return np.asarray([kind.value(label, where(i)) for i, label in enumerate(labels)], NUMPY[kind.dtype])


def _column(label, where):
    """The label as an array, and the type of its column."""
    import numpy as np

    if isinstance(label, bool):
        return np.asarray(label), "bool"
    if isinstance(label, int):
        return _whole(label, where), "i32" if abs(label) <= _MOST else "i64"
    if isinstance(label, float) and not isinstance(label, np.floating):
        return _rounded(label, where), "f32"
    if not (isinstance(label, (np.ndarray, np.generic)) or hasattr(label, "__array__")):
        raise TypeError(f"{where} is {_named(label)} (allowed: {_ALLOWED})")
    try:
        array = np.asarray(label)
    except Exception as error:
        raise TypeError(f"{where} is {_named(label)}, which NumPy does not take: {error}") from None
    column = _COLUMNS.get(array.dtype.name)
    if column is None:
        raise TypeError(f"{where} is {_named(label)} of {array.dtype.name} (allowed: {', '.join(_COLUMNS)})")
    return array, column


def _whole(label, where):
    import numpy as np

    if not -2 ** 63 <= label < 2 ** 63:
        raise TypeError(f"{where} is {label}, which does not fit 64 bits")
    return np.asarray(int(label), np.int64)


def _rounded(label, where):
    """A Python float as f32, as PyTorch makes tensors of them. Whole ones that would become others are refused."""
    import numpy as np

    with np.errstate(over="ignore"):
        made = np.asarray(label, np.float32)
    if (label.is_integer() and float(made) != label) or np.isfinite(label) != np.isfinite(made):
        raise TypeError(f"{where} is {label!r}, which f32 does not hold: give numpy.float64, which is f64")
    return made


def _named(label):
    text = repr(label)
    return f"{type(label).__name__} {text if len(text) < 60 else text[:57] + '...'}"


def first_label(label, where):
    """Labels by the first one of a data set; an ArgumentError where it is none."""
    try:
        return Labels(label, where)
    except TypeError as error:
        raise ArgumentError(str(error)) from None
