"""Cells that are layers: MindSpore's arguments, `ridgeline.nn`'s layers."""

from .... import graph
from .... import nn as here
from ...._core import user_line
from .._cell import Cell
from .._names import only
from .._parameter import Begin, Parameter
from .._values import GraphTensor, declared, rule_of, tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def pair(extent, what):
    """(height, width) of a number or of two."""
    if isinstance(extent, (tuple, list)):
        extent = tuple(extent)
        if len(extent) == 4 and extent[:2] == (1, 1):  # as some Cells are told: [N,C,H,W]
            extent = extent[2:]
        if len(extent) != 2:
            raise ValueError(f"{what} is {extent!r}; a number, or height and width, is meant")
        return extent
    return extent, extent


class Layer(Cell):
    """Keeps one layer of `ridgeline.nn`, made where it is first built, with its path for a name."""

    def __init__(self):
        super().__init__()
        self._where = user_line()
        self._layer: Any = None  # once it is built
        self._layer_name = None

    def _layer_of(self, make):
        name = self._path.rstrip(".")
        layer = self._layer
        if layer is None or self._layer_name != name:
            layer = make(name or None)
            layer._where = self._where
            object.__setattr__(self, "_layer", layer)
            self._layer_name = name
        return layer

    def __repr__(self):
        return f"{type(self).__name__}<{self._path.rstrip('.')}>"


def _values(init):
    """A Tensor as initializer: the Parameter's numbers; else None."""
    return init if hasattr(init, "__array__") else None


def _parameter(shape, init, fans=None, requires_grad=True):
    values = _values(init)
    parameter = Parameter(Begin(shape, "zeros" if values is not None else init, fans), requires_grad=requires_grad)
    return parameter.set_data(values) if values is not None else parameter


def _padding(mode, padding, extents, kernel, stride, dilation, what):
    """(top, bottom, left, right)."""
    if mode == "pad":
        return tuple(padding) if isinstance(padding, (tuple, list)) else (padding,) * 4
    if padding not in (0, (0, 0, 0, 0), [0, 0, 0, 0]):
        raise ValueError(f"{what}: padding is {padding!r}, which pad_mode='{mode}' does not take (use 'pad')")
    sides = []
    for extent, k, s, d in zip(extents, kernel, stride, dilation):
        missing = max(0, (-(-extent // s) - 1) * s + d * (k - 1) + 1 - extent) if mode == "same" else 0
        sides += [missing // 2, missing - missing // 2]
    return tuple(sides)


def _mode(mode, what, allowed=("same", "valid", "pad")):
    if not isinstance(mode, str) or mode.lower() not in allowed:
        raise ValueError(f"{what}: pad_mode is {mode!r} (allowed: {', '.join(allowed)})")
    return mode.lower()


def _format(data_format, what):
    if data_format != "NCHW":
        raise ValueError(f"{what}: data_format is {data_format!r}; images of scripts are NCHW here")


class Conv2d(Layer):
    """A convolution of images [N,C,H,W]."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, pad_mode="same", padding=0, dilation=1, group=1,
                 has_bias=False, weight_init=None, bias_init=None, data_format="NCHW", dtype=None):
        super().__init__()
        _format(data_format, "Conv2d")
        self.in_channels, self.out_channels, self.group, self.has_bias = in_channels, out_channels, group, has_bias
        self.kernel_size = pair(kernel_size, "kernel_size of Conv2d")
        self.stride, self.dilation = pair(stride, "stride of Conv2d"), pair(dilation, "dilation of Conv2d")
        self.pad_mode, self.padding = _mode(pad_mode, "Conv2d"), padding
        if group < 1 or in_channels % group or out_channels % group:
            raise ValueError(f"Conv2d: group={group} does not divide {in_channels} and {out_channels} channels")
        self.weight = _parameter((out_channels, in_channels // group, *self.kernel_size), weight_init)
        if has_bias:
            self.bias = _parameter((out_channels,), bias_init, self.weight.shape)

    def construct(self, x):
        x = tensor(x)
        if x.shape[1:2] != (self.in_channels,):
            raise ValueError(f"{self!r} has in_channels={self.in_channels}, and reads {list(x.shape)}")
        sides = _padding(self.pad_mode, self.padding, x.shape[2:], self.kernel_size, self.stride, self.dilation, "Conv2d")
        layer = self._layer_of(lambda name: here.Conv(
            self.out_channels, self.kernel_size, self.stride, sides, self.dilation, self.group, self.has_bias,
            weight_init=rule_of(self.weight), bias_init=rule_of(self.bias) if self.has_bias else "zeros", name=name))
        layer.pad = sides  # of images of this size
        return GraphTensor(layer(x.as_images()), True)


class Conv2dTranspose(Layer):
    """A convolution turned round, of images [N,C,H,W]."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, pad_mode="same", padding=0, output_padding=0,
                 dilation=1, group=1, has_bias=False, weight_init=None, bias_init=None, dtype=None):
        super().__init__()
        self.in_channels, self.out_channels, self.group, self.has_bias = in_channels, out_channels, group, has_bias
        self.kernel_size = pair(kernel_size, "kernel_size of Conv2dTranspose")
        self.stride = pair(stride, "stride of Conv2dTranspose")
        self.dilation = pair(dilation, "dilation of Conv2dTranspose")
        self.output_padding = pair(output_padding, "output_padding of Conv2dTranspose")
        self.pad_mode, self.padding = _mode(pad_mode, "Conv2dTranspose"), padding
        self.weight = _parameter((in_channels, out_channels // group, *self.kernel_size), weight_init)
        if has_bias:
            self.bias = _parameter((out_channels,), bias_init, self.weight.shape)

    def construct(self, x):
        x = tensor(x)
        if self.pad_mode == "same":  # H = h * stride
            sides = []
            for k, s, d in zip(self.kernel_size, self.stride, self.dilation):
                cut = d * (k - 1) + 1 - s
                if cut < 0:
                    raise ValueError("Conv2dTranspose: pad_mode='same' needs kernels that reach as far as the stride")
                sides += [cut // 2, cut - cut // 2]
        else:
            sides = _padding(self.pad_mode, self.padding, (0, 0), self.kernel_size, self.stride, self.dilation,
                             "Conv2dTranspose")
        layer = self._layer_of(lambda name: here.ConvTranspose(
            self.out_channels, self.kernel_size, self.stride, tuple(sides), self.output_padding, self.dilation,
            self.group, self.has_bias, weight_init=rule_of(self.weight),
            bias_init=rule_of(self.bias) if self.has_bias else "zeros", name=name))
        return GraphTensor(layer(x.as_images()), True)


class Dense(Layer):
    """Numbers of the last axis [...,in_channels] times weights [out_channels,in_channels]."""

    def __init__(self, in_channels, out_channels, weight_init=None, bias_init=None, has_bias=True, activation=None,
                 dtype=None):
        super().__init__()
        self.in_channels, self.out_channels, self.has_bias = in_channels, out_channels, has_bias
        self.weight = _parameter((out_channels, in_channels), weight_init)
        if has_bias:
            self.bias = _parameter((out_channels,), bias_init, self.weight.shape)
        self._activation = get_activation(activation) if isinstance(activation, str) else activation

    def construct(self, x):
        x = tensor(x)
        if x.shape[-1] != self.in_channels:
            raise ValueError(f"{self!r} has in_channels={self.in_channels}, and reads {list(x.shape)}")
        layer = self._layer_of(lambda name: here.Dense(
            self.out_channels, self.has_bias, weight_init=rule_of(self.weight),
            bias_init=rule_of(self.bias) if self.has_bias else "zeros", name=name))
        y = GraphTensor(layer(x.plain()))
        return self._activation(y) if self._activation is not None else y


# What the engine calls the parameters of a batch norm, in its files, too.
BATCH_NORM = {"gamma": "weight", "beta": "bias", "moving_mean": "running_mean", "moving_variance": "running_var"}


class BatchNorm2d(Layer):
    """Normalises channels by the statistics of the batch, in evaluations by the moving ones.

    momentum: weight of the old moving statistics
    """

    def __init__(self, num_features, eps=1e-5, momentum=0.9, affine=True, gamma_init="ones", beta_init="zeros",
                 moving_mean_init="zeros", moving_var_init="ones", use_batch_statistics=None, data_format="NCHW",
                 dtype=None):
        super().__init__()
        _format(data_format, type(self).__name__)
        only(type(self).__name__, {"affine": ((True,), "scale and shift are always there"),
                                   "use_batch_statistics": ((None,), "training uses the batch's, evaluation the moving ones")},
             {"affine": affine, "use_batch_statistics": use_batch_statistics})
        if not 0 <= momentum <= 1:
            raise ValueError(f"{type(self).__name__}: momentum must lie in [0, 1], but got {momentum}")
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.gamma = _parameter((num_features,), gamma_init)
        self.beta = _parameter((num_features,), beta_init)
        self.moving_mean = _parameter((num_features,), moving_mean_init, requires_grad=False)
        self.moving_variance = _parameter((num_features,), moving_var_init, requires_grad=False)
        for name, called in BATCH_NORM.items():
            getattr(self, name)._called = called

    def construct(self, x):
        x = tensor(x)
        if x.shape[1:2] != (self.num_features,):
            raise ValueError(f"{self!r} has num_features={self.num_features}, and reads {list(x.shape)}")
        layer = self._layer_of(lambda name: here.BatchNorm(1 - self.momentum, self.eps, name=name))
        return GraphTensor(layer(x.as_images() if x.ndim == 4 else x.lies), x.ndim == 4)


class BatchNorm1d(BatchNorm2d):
    """The same of rows [N,C]."""


class LayerNorm(Layer):
    """Normalises the last axes of each sample."""

    def __init__(self, normalized_shape, begin_norm_axis=-1, begin_params_axis=-1, gamma_init="ones", beta_init="zeros",
                 epsilon=1e-7, dtype=None):
        super().__init__()
        self.normalized_shape, self.epsilon = tuple(normalized_shape), epsilon
        for name, axis in (("begin_norm_axis", begin_norm_axis), ("begin_params_axis", begin_params_axis)):
            if axis != -len(self.normalized_shape) and axis != -1:
                raise ValueError(f"LayerNorm({name}={axis!r}): the axes of normalized_shape are normalised, -1 or "
                                 f"{-len(self.normalized_shape)} is meant")
        if begin_norm_axis == -1 and len(self.normalized_shape) != 1:
            raise ValueError("LayerNorm: begin_norm_axis=-1 is for a normalized_shape of one extent")
        self.gamma = _parameter(self.normalized_shape, gamma_init)
        self.beta = _parameter(self.normalized_shape, beta_init)

    def construct(self, x):
        return GraphTensor(graph.layer_norm(tensor(x).plain(), declared(self.gamma).lies, declared(self.beta).lies,
                                            epsilon=self.epsilon)[0])


class GroupNorm(Layer):
    """Normalises groups of channels of each sample."""

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True, gamma_init="ones", beta_init="zeros", dtype=None):
        super().__init__()
        only("GroupNorm", {"affine": ((True,), "scale and shift are always there")}, {"affine": affine})
        self.num_groups, self.eps = num_groups, eps
        self.gamma = _parameter((num_channels,), gamma_init)
        self.beta = _parameter((num_channels,), beta_init)

    def construct(self, x):
        return GraphTensor(graph.group_norm(tensor(x).as_images(), declared(self.gamma).lies, declared(self.beta).lies,
                                            groups=self.num_groups, epsilon=self.eps)[0], True)


class Embedding(Layer):
    """Rows of a table by number."""

    def __init__(self, vocab_size, embedding_size, use_one_hot=False, embedding_table="normal", dtype=None,
                 padding_idx=None):
        super().__init__()
        only("Embedding", {"use_one_hot": ((False,), "rows are read by number"),
                           "padding_idx": ((None,), "no row is left out")},
             {"use_one_hot": use_one_hot, "padding_idx": padding_idx})
        self.embedding_table = _parameter((vocab_size, embedding_size), embedding_table)

    def construct(self, ids):
        return GraphTensor(graph.gather(declared(self.embedding_table).lies, tensor(ids).plain(), axis=0))


class _Pool(Layer):
    def __init__(self, kernel_size=1, stride=1, pad_mode="valid", padding=0, data_format="NCHW"):
        super().__init__()
        _format(data_format, type(self).__name__)
        self.kernel_size = pair(kernel_size, f"kernel_size of {type(self).__name__}")
        self.stride = pair(stride, f"stride of {type(self).__name__}")
        self.pad_mode, self.padding = _mode(pad_mode, type(self).__name__), padding

    def _sides(self, x):
        return _padding(self.pad_mode, self.padding, x.shape[2:], self.kernel_size, self.stride, (1, 1),
                        type(self).__name__)


class MaxPool2d(_Pool):
    """The greatest number of each window."""

    def construct(self, x):
        x = tensor(x)
        return GraphTensor(here.MaxPool(self.kernel_size, self.stride, self._sides(x))(x.as_images()), True)


class AvgPool2d(_Pool):
    """The mean of each window."""

    def construct(self, x):
        x = tensor(x)
        layer = here.AvgPool(self.kernel_size, self.stride, self._sides(x), count_include_pad=self.pad_mode == "pad")
        return GraphTensor(layer(x.as_images()), True)


class AdaptiveAvgPool2d(Layer):
    """Means over windows that give a map of that size."""

    def __init__(self, output_size):
        super().__init__()
        self.output_size = pair(output_size, "output_size of AdaptiveAvgPool2d")

    def construct(self, x):
        return GraphTensor(here.AdaptiveAvgPool(self.output_size)(tensor(x).as_images()), True)


class Flatten(Layer):
    """[N,C,H,W] to [N,C*H*W]."""

    def construct(self, x):
        x = tensor(x)
        if x.ndim == 2:
            return x
        if x.ndim == 4:
            return GraphTensor(graph.flatten(x.as_images(), order="chw"))
        return x.reshape(x.shape[0], -1)


class Dropout(Layer):
    """Keeps each number with a probability and divides it by that, in training.

    keep_prob: the probability; or p, the share that is dropped
    """

    def __init__(self, keep_prob=0.5, p=None, dtype=None):
        super().__init__()
        self.keep_prob = keep_prob if p is None else 1 - p
        if not 0 < self.keep_prob <= 1:
            raise ValueError(f"Dropout: the share that is kept must lie in (0, 1], but got {self.keep_prob}")

    def construct(self, x):
        x = tensor(x)
        layer = self._layer_of(lambda name: here.Dropout(keep_prob=self.keep_prob, name=name))
        return GraphTensor(layer(x.lies), x.images)


class Identity(Layer):
    """What it is given."""

    def construct(self, x):
        return x


class _Activation(Layer):
    _name = ""

    def construct(self, x):
        x = tensor(x)
        return GraphTensor(here.Activation(self._name)(x.lies), x.images)


def _activation(class_name, name, doc):
    return type(class_name, (_Activation,), {"_name": name, "__doc__": doc, "__module__": __name__})


ReLU = _activation("ReLU", "relu", "The greater of each number and 0.")
ReLU6 = _activation("ReLU6", "relu6", "The same, and 6 at most.")
Sigmoid = _activation("Sigmoid", "sigmoid", "1 / (1 + exp(-x)).")
Tanh = _activation("Tanh", "tanh", "The hyperbolic tangent.")
SiLU = _activation("SiLU", "silu", "x times its sigmoid.")


class GELU(_Activation):
    """x times the normal distribution's share below x, by default by the approximation with tanh."""

    def __init__(self, approximate=True):
        super().__init__()
        self._name = "gelu_tanh" if approximate else "gelu"


class Softmax(Layer):
    """Shares along an axis."""

    def __init__(self, axis=-1):
        super().__init__()
        self.axis = axis

    def construct(self, x):
        x = tensor(x)
        return GraphTensor(here.softmax(x.lies, x.axis(self.axis)), x.images)


_ACTIVATIONS = {"relu": ReLU, "relu6": ReLU6, "sigmoid": Sigmoid, "tanh": Tanh, "silu": SiLU, "gelu": GELU,
                "softmax": Softmax}


def get_activation(name):
    """The Cell of an activation by its name."""
    if name not in _ACTIVATIONS:
        raise KeyError(f"unknown activation {name!r} (allowed: {', '.join(_ACTIVATIONS)})")
    return _ACTIVATIONS[name]()
