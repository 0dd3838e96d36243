"""What values can do that takes more than one op of the engine; the class `Value` calls it."""

import math
import numbers
import operator

from .. import _core

# Element types by NumPy's names, beside our own.
_DTYPES = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "uint8": "u8", "int32": "i32",
           "int64": "i64"}
_OURS = ("f64", "f32", "bf16", "f16", "u8", "i32", "i64", "bool")


def refuse(text):
    file, line, _ = _core.user_line()
    raise _core.ArgumentError(f"{text} ({file}:{line})" if line else text)


def op(name, *operands, **attributes):
    return _core.apply_op(name, list(operands), attributes)


def as_value(x):
    """Of an array that stands where a value does."""
    if isinstance(x, _core.Value):
        return x
    if _core.is_array(x):
        return _core.value_of_array(x)
    return refuse(f"{x!r} stands where a value of the graph or an array is meant")


def power(x, exponent):
    """By multiplications where the exponent is whole, else by the root or by exp(exponent * log(x))."""
    x = as_value(x)
    if not isinstance(exponent, numbers.Real) or not math.isfinite(exponent):
        return refuse(f"the exponent of ** is {exponent!r}; a finite number is meant (of values: "
                      "ridgeline.graph.exp(y * ridgeline.graph.log(x)), for x above 0)")
    exponent = float(exponent)
    if exponent < 0:
        return op("div", 1, power(x, -exponent))
    if exponent == 0.5:
        return op("sqrt", x)
    if exponent != int(exponent):
        return op("exp", op("mul", op("log", x), exponent))
    left, factor, product = int(exponent), x, None
    while left > 0:
        if left & 1:
            product = factor if product is None else op("mul", product, factor)
        left >>= 1
        if left:
            factor = op("mul", factor, factor)
    if product is None:
        return op("broadcast_to", op("constant", value=1.0, dtype=x.dtype), shape=x.shape) if x.shape else op(
            "constant", value=1.0, dtype=x.dtype)
    return product


def matmul(x, y):
    """As NumPy's: an operand of one axis is a row on the left, a column on the right."""
    x, y = as_value(x), as_value(y)
    if not x.shape or not y.shape:
        return refuse("@ multiplies matrices and vectors; a number is multiplied by *")
    left, right = x, y
    if x.ndim == 1:
        left = op("reshape", x, shape=(1, *x.shape))
    if y.ndim == 1:
        right = op("reshape", y, shape=(*y.shape, 1))
    product = op("matmul", left, right)
    shape = list(product.shape)
    if y.ndim == 1:
        del shape[-1]
    if x.ndim == 1:
        del shape[-1 if y.ndim == 1 else -2]
    return product if len(shape) == product.ndim else op("reshape", product, shape=shape)


def negated(x):
    if x.dtype != "bool":
        return refuse(f"~ is of conditions, values of type bool, and this one is {x.dtype}")
    return op("equal", x, False)


def not_equal(x, y):
    return negated(op("equal", x, y))


def _conditions(sign, x, y):
    for one in (x, y):
        if not isinstance(one, bool) and as_value(one).dtype != "bool":
            refuse(f"{sign} joins conditions, values of type bool, and one of them is {as_value(one).dtype}")


def both(x, y):
    _conditions("&", x, y)
    return op("select", x, y, False) if isinstance(x, _core.Value) else op("select", y, x, False)


def either(x, y):
    _conditions("|", x, y)
    return op("select", x, True, y) if isinstance(x, _core.Value) else op("select", y, True, x)


def _whole(given, what):
    try:
        return operator.index(given)
    except TypeError:
        return refuse(f"{what} is {given!r}; a whole number is meant")


def axes_of(x, axis, what):
    """Counted from 0, in their order; none means all."""
    if axis is None:
        return list(range(x.ndim))
    given = axis if isinstance(axis, (tuple, list)) else [axis]
    axes = []
    for one in given:
        number = _whole(one, f"the axis of {what}")
        if not -x.ndim <= number < x.ndim:
            refuse(f"{what} has the axis {number}, and the value has the shape {x.shape}")
        axes.append(number % x.ndim)
    if len(set(axes)) != len(axes):
        refuse(f"{what} has one axis twice: {axis!r}")
    return sorted(axes)


def reduce(name, x, axis, keepdims):
    """sum, mean, max, min: over no axis a value stays as it is."""
    axes = axes_of(x, axis, f"{name}()")
    if not isinstance(keepdims, bool):
        refuse(f"keepdims of {name}() is {keepdims!r}; True or False is meant")
    if not axes:
        return x
    if name == "min":
        return op("neg", op("reduce_max", op("neg", x), axes=axes, keep_dims=keepdims))
    return op("reduce_" + name, x, axes=axes, keep_dims=keepdims)


def _extents(given):
    return list(given[0]) if len(given) == 1 and isinstance(given[0], (tuple, list)) else list(given)


def reshape(x, shape):
    extents = [_whole(extent, "an extent of reshape()") for extent in _extents(shape)]
    if -1 in extents:
        known = 1
        for extent in extents:
            known *= extent if extent != -1 else 1
        if extents.count(-1) > 1 or known == 0 or x.size % known:
            refuse(f"reshape({tuple(extents)}) of a value of the shape {x.shape}: no extent stands for -1")
        extents[extents.index(-1)] = x.size // known
    return op("reshape", x, shape=extents)


def transpose(x, axes):
    order = _extents(axes)
    if not order:
        return op("transpose", x, permutation=list(reversed(range(x.ndim)))) if x.ndim > 1 else x
    if len(order) != x.ndim:
        refuse(f"transpose({', '.join(map(repr, order))}) of a value of the shape {x.shape}: each axis is named once")
    axes_of(x, order, "transpose()")
    return op("transpose", x, permutation=[_whole(one, "an axis") % x.ndim for one in order])


def astype(x, dtype):
    name = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", "") or getattr(dtype, "name", "")
    ours = _DTYPES.get(name, {"float": "f64", "int": "i64", "bool_": "bool"}.get(name, name))
    if ours not in _OURS:
        refuse(f"astype({dtype!r}): the element types are {', '.join(_OURS)}, and NumPy's of these names")
    return x if ours == x.dtype else op("cast", x, to=ours)


def _is_whole(given):
    """Also a value, whose number is asked for."""
    return (hasattr(type(given), "__index__") and not isinstance(given, bool)
            and not (_core.is_array(given) and given.ndim > 0))


def index(x, key):
    """x[key] as slices of all axes and a reshape."""
    keys = list(key) if isinstance(key, tuple) else [key]
    if len(keys) == 1 and (isinstance(keys[0], (_core.Value, list)) or _core.is_array(keys[0])):
        return _rows(x, keys[0])
    for one in keys:
        if not (one is None or one is Ellipsis or isinstance(one, slice) or _is_whole(one)):
            refuse(f"an index of a value is {one!r}; whole numbers, slices, None and ... are meant, or one array of whole "
                   "numbers alone")
    named = sum(1 for one in keys if one is not None and one is not Ellipsis)
    places = [i for i, one in enumerate(keys) if one is Ellipsis]
    if named > x.ndim or len(places) > 1:
        refuse(f"{named} axes are indexed, and the value has the shape {x.shape}" if named > x.ndim
               else "an index has ... more than once")
    filled = [slice(None)] * (x.ndim - named)
    at = places[0] if places else len(keys)
    keys = keys[:at] + filled + keys[at + 1:]
    start, stride, size, shape, axis = [], [], [], [], 0
    for one in keys:
        if one is None:
            shape.append(1)
            continue
        extent = x.shape[axis]
        if isinstance(one, slice):
            first, end, step = one.indices(extent)
            if step < 1:
                refuse(f"a slice has the step {step}; 1 or more is meant")
            count = max(0, -(-(end - first) // step))
            if count == 0:
                refuse(f"a slice of axis {axis}, whose extent is {extent}, has no elements")
            shape.append(count)
        else:
            first, step, count = _whole(one, "an index"), 1, 1
            if not -extent <= first < extent:
                refuse(f"index {first} of axis {axis}, whose extent is {extent}")
            first %= extent
        start.append(first)
        stride.append(step)
        size.append(count)
        axis += 1
    part = x
    if size != list(x.shape) or any(start):
        part = op("strided_slice", x, start=start, stride=stride, size=size)
    return part if shape == list(part.shape) else op("reshape", part, shape=shape)


def _rows(x, which):
    if isinstance(which, list):
        import numpy as np

        which = np.asarray(which)
    if not isinstance(which, _core.Value):
        import numpy as np

        which = np.asarray(which)
        if which.dtype.kind not in "iu":
            refuse(f"x[indices] takes whole numbers, not {which.dtype} (where a condition holds: ridgeline.graph.where)")
        extent = x.shape[0] if x.shape else 0
        if which.size and not (-extent <= which.min() and which.max() < extent):
            refuse(f"x[indices] reaches from {which.min()} to {which.max()}, and the first axis has the extent {extent}")
        which = which.astype(np.int64)  # where the extent fits
        which = _core.value_of_array(np.where(which < 0, which + extent, which).astype(np.int32))
    if which.dtype == "bool":
        refuse("x[condition] would have a shape that is not known: ridgeline.graph.where(condition, a, b) chooses")
    return op("gather", x, which if which.dtype == "i32" else op("cast", which, to="i32"))


def refuse_assignment():
    refuse("values do not change, so x[...] = y is no op: ridgeline.graph.where(condition, y, x) and "
           "ridgeline.graph.concat make the value with other parts")


def length(shape):
    return shape[0] if shape else refuse("len() of a value without axes")


def parts(x):
    return iter([index(x, i) for i in range(length(x.shape))])


def where(condition, a, b):
    return op("select", condition, a, b)


# NumPy's functions of elements that are an op.
_UFUNCS = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div", "negative": "neg",
    "absolute": "abs", "exp": "exp", "log": "log", "sqrt": "sqrt", "sin": "sin", "cos": "cos", "tanh": "tanh",
    "floor": "floor", "maximum": "maximum", "minimum": "minimum", "less": "less", "less_equal": "less_equal",
    "equal": "equal",
}
_OTHERS = {
    "matmul": matmul, "power": power, "not_equal": not_equal, "positive": lambda x: x,
    "greater": lambda x, y: op("less", y, x), "greater_equal": lambda x, y: op("less_equal", y, x),
    "logical_and": both, "bitwise_and": both, "logical_or": either, "bitwise_or": either,
    "logical_not": negated, "invert": negated, "square": lambda x: op("mul", x, x),
    "reciprocal": lambda x: op("div", 1, x),
}


def numpy_function(function, method, given, options):
    name = function.__name__
    if method == "__call__" and not options:
        if name in _UFUNCS:
            return op(_UFUNCS[name], *given)
        if name in _OTHERS:
            return _OTHERS[name](*given)
    way = name if method == "__call__" else f"{name}.{method}"
    return refuse(f"NumPy's {way} is no op of a graph{' with ' + ', '.join(options) if options else ''}: "
                  "ridgeline.graph lists the ops")


def _reduction(name):
    return lambda x, axis=None, keepdims=False: reduce(name, x, axis, keepdims)


# NumPy's other functions that are an op, or a method of values.
_CALLS = {
    "sum": _reduction("sum"), "mean": _reduction("mean"), "max": _reduction("max"), "amax": _reduction("max"),
    "min": _reduction("min"), "amin": _reduction("min"), "where": where,
    "reshape": lambda x, shape=None, newshape=None: reshape(x, [newshape if shape is None else shape]),
    "transpose": lambda x, axes=None: transpose(x, axes or []),
    "concatenate": lambda values, axis=0: op("concat", *values, axis=axis),
}


def numpy_call(function, given, options):
    made = _CALLS.get(function.__name__)
    if made is None:
        return refuse(f"NumPy's {function.__name__} is no op of a graph: ridgeline.graph lists the ops")
    try:
        return made(*given, **options)
    except TypeError as error:
        return refuse(f"NumPy's {function.__name__} of values: {error}")
