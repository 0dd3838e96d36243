"""MindSpore's `ops`: functions of values, and Primitives that are made first and called then."""

from .... import graph
from .... import nn as here
from .._names import lookup
from .._values import GraphTensor, binary, tensor


def _pointwise(name, doc):
    def function(x):
        x = tensor(x)
        return GraphTensor(getattr(graph, name)(x.lies), x.images)

    function.__name__, function.__doc__ = name, doc
    return function


relu = _pointwise("relu", "The greater of each number and 0.")
relu6 = _pointwise("relu6", "The same, and 6 at most.")
sigmoid = _pointwise("sigmoid", "1 / (1 + exp(-x)).")
tanh = _pointwise("tanh", "The hyperbolic tangent.")
silu = _pointwise("silu", "x times its sigmoid.")
exp = _pointwise("exp", "e to the power of each number.")
log = _pointwise("log", "The natural logarithm.")
sqrt = _pointwise("sqrt", "The square root.")
abs = _pointwise("abs", "The distance from 0.")


def add(x, y):
    """Sums."""
    return binary(graph.add, x, y)


def sub(x, y):
    """Differences."""
    return binary(graph.sub, x, y)


def mul(x, y):
    """Products of numbers."""
    return binary(graph.mul, x, y)


def div(x, y):
    """Quotients."""
    return binary(graph.div, x, y)


def maximum(x, y):
    """The greater ones."""
    return binary(graph.maximum, x, y)


def minimum(x, y):
    """The lesser ones."""
    return binary(graph.minimum, x, y)


def matmul(x, y):
    """Products of matrices."""
    return GraphTensor(here.matmul(tensor(x).plain(), tensor(y).plain()))


def reshape(x, shape):
    """The same numbers in another shape."""
    return tensor(x).reshape(shape)


def transpose(x, perm):
    """The axes in another order."""
    return tensor(x).transpose(perm)


def flatten(x):
    """[N,...] to [N,C]."""
    x = tensor(x)
    return x.reshape(x.shape[0], -1) if x.ndim != 2 else x


def concat(parts, axis=0):
    """Values side by side along an axis."""
    parts = [tensor(p) for p in parts]
    if parts[0].ndim == 4 and any(p.images for p in parts):
        lie = GraphTensor(parts[0].as_images(), True).axis(axis)
        return GraphTensor(here.concat([p.as_images() for p in parts], lie), True)
    return GraphTensor(here.concat([p.plain() for p in parts], axis))


def reduce_mean(x, axis=(), keep_dims=False):
    """Means over axes; (): all."""
    return tensor(x).mean(axis, keep_dims)


def reduce_sum(x, axis=(), keep_dims=False):
    """Sums over axes; (): all."""
    return tensor(x).sum(axis, keep_dims)


def softmax(x, axis=-1):
    """Shares along an axis."""
    x = tensor(x)
    return GraphTensor(here.softmax(x.lies, x.axis(axis)), x.images)


def gelu(x, approximate="tanh"):
    """x times the normal distribution's share below x."""
    x = tensor(x)
    return GraphTensor(here.gelu(x.lies, approximate), x.images)


def _primitive(name, function, *settings):
    """A class whose arguments `settings` go to the function behind the operands."""

    def __init__(self, *args, **named):
        if len(args) > len(settings) or set(named) - set(settings):
            raise TypeError(f"{name}() takes {', '.join(settings) or 'no arguments'}")
        self._settings = {**dict(zip(settings, args)), **named}

    def __call__(self, *operands):
        return function(*operands, **self._settings)

    return type(name, (), {"__init__": __init__, "__call__": __call__, "__doc__": function.__doc__, "__module__": __name__})


ReLU, ReLU6, Sigmoid = _primitive("ReLU", relu), _primitive("ReLU6", relu6), _primitive("Sigmoid", sigmoid)
Tanh, Exp, Log, Sqrt, Abs = (_primitive(n, f) for n, f in (("Tanh", tanh), ("Exp", exp), ("Log", log), ("Sqrt", sqrt),
                                                           ("Abs", abs)))
Add, TensorAdd, Sub, Mul = (_primitive(n, f) for n, f in (("Add", add), ("TensorAdd", add), ("Sub", sub), ("Mul", mul)))
RealDiv, Div, Maximum, Minimum = (_primitive(n, f) for n, f in (("RealDiv", div), ("Div", div), ("Maximum", maximum),
                                                                ("Minimum", minimum)))
MatMul, Reshape, Transpose = _primitive("MatMul", matmul), _primitive("Reshape", reshape), _primitive("Transpose", transpose)
Flatten, Concat = _primitive("Flatten", flatten), _primitive("Concat", concat, "axis")
Softmax, GeLU = _primitive("Softmax", softmax, "axis"), _primitive("GeLU", gelu)
ReduceMean, ReduceSum = _primitive("ReduceMean", reduce_mean, "keep_dims"), _primitive("ReduceSum", reduce_sum, "keep_dims")

_GRAPH = "write it with ridgeline.graph, whose ops take the values of construct() as `.plain()`"
REFUSED = {name: _GRAPH for name in ("Cast", "Gather", "OneHot", "Pad", "Split", "StridedSlice", "Squeeze", "ExpandDims",
                                     "Conv2D", "BiasAdd", "MaxPool", "AvgPool", "BatchNorm", "Select", "Tile", "ArgMax",
                                     "Argmax", "TopK", "Equal", "Less", "Stack", "BatchMatMul", "LRN", "Dropout")}
REFUSED |= {"AllReduce": "ranks exchange gradients by themselves: DATA_PARALLEL", "HyperMap": _GRAPH, "MultitypeFuncGraph": _GRAPH, "Custom": _GRAPH}


def __getattr__(name):
    places = {"operations": ".operations", "functional": ".functional", "composite": ".composite",
              "grad": "..common.api", "GradOperation": "..common.api"}
    return lookup(__name__, name, places, REFUSED)
