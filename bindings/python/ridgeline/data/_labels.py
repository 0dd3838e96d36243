"""Labels that are numbers or arrays of them, as columns of their own type. What else samples hold: _collate.py."""

from __future__ import annotations

from .._core import MOST_EXTENTS, ArgumentError
from ._names import NUMPY

# The column of an array's type.
_COLUMNS = {"bool": "bool", "uint8": "u8", "int32": "i32", "int64": "i64", "float16": "f16", "float32": "f32",
            "float64": "f64"}
_ALLOWED = "a number, or an array or tensor of bool, whole or floating numbers"
_MOST = 2 ** 31 - 1


class Labels:
    """The column of a data set's labels, by its first one; `value(label, where)` is what a row of it gets.

    A whole number of Python's is i32 (i64 where it does not fit), a float f64, a NumPy or PyTorch number or array its own
    type. What the column cannot hold without a loss is a TypeError that names `where`.
    """

    def __init__(self, first, where):
        array, self.dtype = _column(first, where)
        self.shape = array.shape
        self.type = type(first)
        self.counts = self.type is int  # int64 in PyTorch, whatever the column

    @staticmethod
    def of(first, where):
        """The Labels that the first label makes; None where no column holds such."""
        try:
            return Labels(first, where)
        except TypeError:
            return None

    @property
    def column(self):
        return ("label", self.dtype, self.shape)

    def value(self, label, where):
        if type(label) is int and self.dtype == "i32" and not self.shape and abs(label) <= _MOST:
            return label
        from ._exact import as_declared

        array, _ = _column(label, where)
        if array.shape != self.shape:
            raise TypeError(f"{where} has the shape {list(array.shape)}, the first label has {list(self.shape)}")
        if array.dtype.name == NUMPY[self.dtype]:
            return array
        made = as_declared(array, NUMPY[self.dtype], rounds=False)
        if isinstance(made, str):
            raise TypeError(f"{where} is {_named(label)}, which the column does not hold: by the first label it is "
                            f"{self.dtype}")
        return made


def labels_given(column, kind):
    """The labels of a column one by one, of the type that the data set gave."""
    import numpy as np

    if kind in (int, float, bool):
        return column.tolist()
    if issubclass(kind, np.generic):
        return list(np.asarray(column))
    if issubclass(kind, np.ndarray):
        column = np.asarray(column)
        return [column[i, ...] for i in range(len(column))]
    return list(column)


def labels_array(labels, where):
    """All labels as one array, exact; None where the first is no number. where: `where(index)` names one."""
    import numpy as np

    if not len(labels):
        return np.zeros(0, np.int32)
    kind = Labels.of(labels[0], where(0))
    if kind is None:
        return None
    if kind.dtype == "i32" and any(abs(label) > _MOST for label in labels if type(label) is int):
        kind.dtype = "i64"
    try:
        return np.asarray([kind.value(label, where(i)) for i, label in enumerate(labels)], NUMPY[kind.dtype])
    except TypeError as error:
        raise ArgumentError(str(error)) from None


def _column(label, where):
    """The label as an array, and the type of its column."""
    import numpy as np

    if isinstance(label, bool):
        return np.asarray(label), "bool"
    if isinstance(label, int):
        return _whole(label, where), "i32" if abs(label) <= _MOST else "i64"
    if isinstance(label, float) and not isinstance(label, np.floating):
        return np.asarray(label, np.float64), "f64"
    if not (isinstance(label, (np.ndarray, np.generic)) or hasattr(label, "__array__")):
        raise TypeError(f"{where} is {_named(label)} (allowed: {_ALLOWED})")
    try:
        array = np.asarray(label)
    except Exception as error:
        raise TypeError(f"{where} is {_named(label)}, which NumPy does not take: {error}") from None
    column = _COLUMNS.get(array.dtype.name)
    if column is None:
        raise TypeError(f"{where} is {_named(label)} of {array.dtype.name} (allowed: {', '.join(_COLUMNS)})")
    if array.ndim > MOST_EXTENTS:
        raise TypeError(f"{where} has {array.ndim} extents (allowed: up to {MOST_EXTENTS})")
    return array, column


def _whole(label, where):
    import numpy as np

    if not -2 ** 63 <= label < 2 ** 63:
        raise TypeError(f"{where} is {label}, which does not fit 64 bits")
    return np.asarray(int(label), np.int64)


def _named(label):
    text = repr(label)
    return f"{type(label).__name__} {text if len(text) < 60 else text[:57] + '...'}"
