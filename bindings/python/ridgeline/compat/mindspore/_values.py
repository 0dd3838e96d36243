"""Values of a net as MindSpore's scripts see them: images are [N,C,H,W] there, and lie as [N,H,W,C] here.

A value remembers that it is of images, so that layers read it as it lies. Whatever asks for the order of the script
(a reshape, a transpose) gets it by one transpose in the graph.
"""

import operator

import numpy as np

from ... import graph, nn
from ..._core import Value
from ._parameter import Parameter
from ._tensor import Tensor


class GraphTensor:
    """A value of the graph that is being built."""

    __slots__ = ("lies", "images")

    def __init__(self, lies, images=False):
        self.lies = lies  # the value
        self.images = images  # as [N,H,W,C], of what the script calls [N,C,H,W]

    @property
    def shape(self):
        extents = tuple(self.lies.shape)
        return (extents[0], extents[3], extents[1], extents[2]) if self.images else extents

    @property
    def ndim(self):
        return len(self.lies.shape)

    def plain(self):
        """In the order of the script."""
        return nn.transpose(self.lies, [0, 3, 1, 2]) if self.images else self.lies

    def as_images(self):
        """As layers of images read it; of four axes."""
        if self.images:
            return self.lies
        if self.ndim != 4:
            raise ValueError(f"images [N,C,H,W] are meant, and the value is {list(self.shape)}")
        return nn.transpose(self.lies, [0, 2, 3, 1])

    def axis(self, axis):
        """Where an axis of the script lies."""
        axis = axis + self.ndim if axis < 0 else axis
        return (0, 3, 1, 2)[axis] if self.images else axis

    def axes(self, axis):
        """The same of one, several, or all (None, or an empty tuple)."""
        if axis is None or axis == ():
            return list(range(self.ndim))
        return [self.axis(a) for a in (axis if isinstance(axis, (tuple, list)) else [axis])]

    def reduced(self, function, axis, keep_dims):
        axes = self.axes(axis)
        if self.images and not keep_dims and len(axes) < 4 and axes != [1, 2] and set(axes) != {1, 2}:
            return GraphTensor(function(self.plain(), axis, False))
        return GraphTensor(function(self.lies, axes, keep_dims), self.images and keep_dims)

    def mean(self, axis=None, keep_dims=False):
        return self.reduced(nn.mean, axis, keep_dims)

    def sum(self, axis=None, keepdims=False):
        return self.reduced(nn.sum, axis, keepdims)

    def max(self, axis=None, keepdims=False):
        return self.reduced(nn.max, axis, keepdims)

    def reshape(self, *shape):
        shape = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        if self.images and len(shape) == 2 and shape[0] in (self.shape[0], -1) and \
                shape[1] in (-1, self.shape[1] * self.shape[2] * self.shape[3]):
            return GraphTensor(graph.flatten(self.lies, order="chw"))
        return GraphTensor(nn.reshape(self.plain(), shape))

    view = reshape

    def flatten(self):
        return self.reshape(-1)

    def transpose(self, *axes):
        axes = axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes
        return GraphTensor(nn.transpose(self.plain(), axes))

    def __neg__(self):
        return GraphTensor(-self.lies, self.images)

    def __add__(self, other):
        return binary(graph.add, self, other)

    def __radd__(self, other):
        return binary(graph.add, other, self)

    def __sub__(self, other):
        return binary(graph.sub, self, other)

    def __rsub__(self, other):
        return binary(graph.sub, other, self)

    def __mul__(self, other):
        return binary(graph.mul, self, other)

    def __rmul__(self, other):
        return binary(graph.mul, other, self)

    def __truediv__(self, other):
        return binary(graph.div, self, other)

    def __rtruediv__(self, other):
        return binary(graph.div, other, self)

    def __gt__(self, other):
        return binary(operator.gt, self, other)

    def __ge__(self, other):
        return binary(operator.ge, self, other)

    def __lt__(self, other):
        return binary(operator.lt, self, other)

    def __le__(self, other):
        return binary(operator.le, self, other)

    def __bool__(self):
        return bool(self.lies)  # in a graph refused, with the line

    __float__ = __int__ = __iter__ = __bool__

    def asnumpy(self):
        raise TypeError("asnumpy() in construct(): a net is a graph here, whose values are known when a step runs. Read "
                        "them in a Callback, or from predict()")

    def __repr__(self):
        return f"Tensor(shape={list(self.shape)}, of a graph)"


def rule_of(parameter):
    """How a Parameter begins, for the engine."""
    return parameter._rule if parameter._rule is not None else nn.constant(0)


def declared(parameter):
    """The value of a Parameter in the graph that is being built."""
    extents = parameter.shape
    if len(extents) == 4:
        extents = (extents[0], extents[2], extents[3], extents[1])
    value = nn.parameter(parameter.name, extents, init=rule_of(parameter))
    return GraphTensor(value, len(extents) == 4)


def operand(x):
    """A GraphTensor or a number of what stands in a formula."""
    if isinstance(x, GraphTensor):
        return x
    if isinstance(x, Value):
        return GraphTensor(x)
    if isinstance(x, Parameter):
        return declared(x)
    if isinstance(x, Tensor) and x.size == 1:
        return float(x.asnumpy().reshape(()))
    if isinstance(x, (int, float, np.integer, np.floating)) and not isinstance(x, bool):
        return float(x)
    if isinstance(x, Tensor):
        raise TypeError(f"a Tensor of {list(x.shape)} where a graph is built: constants of a net are numbers, or Parameters "
                        "with requires_grad=False; a formula of Tensors is a function under ms_function")
    raise TypeError(f"{x!r} in construct(): values of the net, Parameters and numbers are meant")


def tensor(x):
    """The GraphTensor that an op of one operand reads."""
    x = operand(x)
    if not isinstance(x, GraphTensor):
        raise TypeError(f"the number {x} where a value of the net is meant")
    return x


def binary(function, a, b):
    """An op of two operands, repeated as NumPy does in the order of the script."""
    a, b = operand(a), operand(b)
    if not isinstance(a, GraphTensor) or not isinstance(b, GraphTensor):
        of = a if isinstance(a, GraphTensor) else tensor(b)
        return GraphTensor(function(getattr(a, "lies", a), getattr(b, "lies", b)), of.images)
    if a.ndim == b.ndim == 4 and (a.images or b.images):
        return GraphTensor(function(a.as_images(), b.as_images()), True)
    return GraphTensor(function(a.plain(), b.plain()))


def value_of(x):
    """A value in the order of the script, of what a construct() gave."""
    return tensor(x).plain()
