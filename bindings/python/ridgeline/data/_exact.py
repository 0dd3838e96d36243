"""Arrays as columns declare them, or the reason why not: nothing is cut, wrapped, read out of a text or made up."""

from __future__ import annotations

import numpy as np


def as_declared(array, name, rounds=True):
    """The array with the type `name`, which it does not have; or a text that says why that type cannot hold it.

    Whole numbers and bools must keep their value. Floating types may round to the nearest (`rounds`), but keep what is
    finite finite.
    """
    declared = f"and {name} is declared"
    if array.dtype.kind not in "biuf" and array.dtype.name != "bfloat16":
        return f"is no array of numbers ({_kind(array)}), {declared}"
    target = np.dtype(name)  # bfloat16: known where ml_dtypes is imported
    with np.errstate(all="ignore"):
        made = array.astype(target, order="C")
        lost = _lost(array, made, rounds)
    if not lost.any():
        return made
    return f"holds {array[lost].flat[0]} ({array.dtype.name}), {declared}, which cannot: declare another, or convert it"


def _kind(array):
    return f"{type(array.item()).__name__}" if array.ndim == 0 else array.dtype.name


def _lost(array, made, rounds):
    """Where the value is another one."""
    floats, to_floats = (a.dtype.kind not in "biu" for a in (array, made))
    if floats and to_floats and rounds:
        return np.isfinite(array) & ~np.isfinite(made)
    lost = (made.astype(array.dtype) != array) & (array == array)
    if floats and not to_floats:
        lost |= array != array  # a NaN has no whole number
    if made.dtype.kind in "iu":  # what wraps twice would look the same
        limits = np.iinfo(made.dtype)
        lost |= (array < limits.min) | (array > limits.max)
    return lost
