"""Functions of values, in the names of C++ (`ridgeline/nn/functional.h`). Each adds one op, or a few, at the line of the
caller. All ops, and with all their arguments, are in `ridgeline.graph`."""

from __future__ import annotations

from .. import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._core import Value


def _operators():
    # Imported when it is first needed: a net of layers does without.
    from ..graph import _operators

    return _operators


def concat(parts: Sequence[Value], axis: int = -1) -> Value:
    """Values side by side along an axis; their other extents and types are alike.

    axis: from 0, or from -1 at the last one
    """
    parts = list(parts)
    if not parts:
        _operators().refuse("concat() of no parts")
    return _core.apply_op("concat", parts, {"axis": axis})


def split(x: Value, sizes: int | Sequence[int], axis: int = -1) -> tuple[Value, ...]:
    """Parts of a value along an axis.

    sizes: of the parts, which add up to the extent; or one number: as many equal parts
    axis: from 0, or from -1 at the last one
    """
    if isinstance(sizes, int):
        extent = x.shape[_operators().axes_of(x, axis, "split()")[0]]
        if sizes < 1 or extent % sizes:
            _operators().refuse(f"split() of {extent} numbers into {sizes} equal parts")
        sizes = [extent // sizes] * sizes
    parts = _core.apply_op("split", [x], {"axis": axis, "sizes": list(sizes)})
    return parts if isinstance(parts, tuple) else (parts,)


def reshape(x: Value, shape: Sequence[int]) -> Value:
    """The same numbers in another shape.

    shape: one extent may be -1, and follows from the others
    """
    return _operators().reshape(x, shape)


def transpose(x: Value, permutation: Sequence[int]) -> Value:
    """The axes in another order: axis i of the result is axis permutation[i] of x."""
    return _core.apply_op("transpose", [x], {"permutation": list(permutation)})


def matmul(a: Value, b: Value, transpose_a: bool = False, transpose_b: bool = False) -> Value:
    """Products of matrices [...,M,K] and [...,K,N]; axes in front are repeated as NumPy does.

    transpose_a, transpose_b: the last two axes of a, b are read the other way round
    """
    return _core.apply_op("matmul", [a, b], {"transpose_a": transpose_a, "transpose_b": transpose_b})


def attention(q: Value, k: Value, v: Value) -> Value:
    """softmax(q k^T / sqrt(d)) v of q [...,T,d], k and v [...,S,d]: [...,T,d]."""
    return _core.attend(q, k, v)


def softmax(x: Value, axis: int = -1) -> Value:
    """Shares along an axis that are in proportion to the exponentials."""
    return _core.apply_op("softmax", [x], {"axis": axis})


def relu(x: Value) -> Value:
    """The greater of each number and 0."""
    return _core.apply_op("relu", [x], {})


def gelu(x: Value, approximate: str = "none") -> Value:
    """x times the normal distribution's share below x.

    approximate: "none": by erf; "tanh": an approximation
    """
    return _core.apply_op("gelu", [x], {"approximate": approximate})


def silu(x: Value) -> Value:
    """x times its sigmoid."""
    return _core.apply_op("silu", [x], {})


def sum(x: Value, axes: int | Sequence[int] | None = None, keep_dims: bool = False) -> Value:
    """Sums over some axes.

    axes: from 0, or from -1 at the last one; None: all
    keep_dims: they stay, with extent 1
    """
    return _operators().reduce("sum", x, axes, keep_dims)


def mean(x: Value, axes: int | Sequence[int] | None = None, keep_dims: bool = False) -> Value:
    """Means over some axes.

    axes, keep_dims: as of `sum`
    """
    return _operators().reduce("mean", x, axes, keep_dims)


def max(x: Value, axes: int | Sequence[int] | None = None, keep_dims: bool = False) -> Value:
    """The greatest numbers over some axes.

    axes, keep_dims: as of `sum`
    """
    return _operators().reduce("max", x, axes, keep_dims)
