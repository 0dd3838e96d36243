"""Layers: what they are told, and the calls of the engine that build them. Defaults are those of C++; a test holds
them to that."""

from __future__ import annotations

from .. import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .._core import Init, Value


class Layer:
    """A layer: called with a value of the graph it adds its ops and gives another one. One with parameters that is
    called again has the parameters of its first call.

    name: of its parameters and ops; None: after its kind and its turn, or its place in a `Sequential`
    """

    _kind = "layer"

    def __init__(self, name: str | None = None) -> None:
        if name is not None and not isinstance(name, str):
            raise TypeError(f"the name of a layer is a text, not {name!r}")
        self.name = name
        self._where = _core.user_line()

    def __call__(self, x: Value) -> Value:
        return self._called(x, "")

    def _called(self, x, place):
        """`place`: what it is called where it has no name of its own."""
        return self._build(x, _core.layer_name(self, self._kind, self.name or place))

    def _build(self, x, name):
        raise NotImplementedError

    def _op(self, op, x, **attributes):
        """The first result: a pool also tells where its numbers were."""
        results = _core.apply_op_at(op, [x], attributes, self._where)
        return results[0] if isinstance(results, tuple) else results

    def __repr__(self) -> str:
        shown = {k: v for k, v in vars(self).items() if not k.startswith("_") and v is not None}
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in shown.items())})"


class BatchNorm(Layer):
    """Normalises each channel by the mean and variance of the batch, in evaluations by their running means.

    momentum: weight of the new batch in the running statistics
    epsilon: added to variances
    name: as of `Layer`
    """

    _kind = "batch_norm"

    def __init__(self, momentum: float = 0.1, epsilon: float = 1e-5, name: str | None = None) -> None:
        super().__init__(name)
        self.momentum, self.epsilon = momentum, epsilon

    def _build(self, x, name):
        return _core.layer_batch_norm(x, name, self.momentum, self.epsilon, self._where)


class Conv(Layer):
    """A convolution of images [N,H,W,C], with a norm and an activation behind it where they are given.

    out: channels of the result
    kernel, stride, dilation: pixels, one number or (height, width)
    pad: zeros around the image in pixels, one number or (top, bottom, left, right)
    groups: parts of the channels that are convolved by themselves
    bias: whether a number is added to each channel
    norm: between the convolution and its activation
    activation: what follows it, one of `activations()`
    weight_init, bias_init: how parameters begin: one of `inits()`, of the fans of the kernel, or `normal(deviation)` or
        `constant(value)`
    name: as of `Layer`
    """

    _kind = "conv"

    def __init__(self, out: int, kernel: int | Sequence[int] = 3, stride: int | Sequence[int] = 1,
                 pad: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, groups: int = 1, bias: bool = True,
                 norm: BatchNorm | None = None, activation: str = "none",
                 weight_init: str | Init = "scaled_uniform", bias_init: str | Init = "scaled_uniform",
                 name: str | None = None) -> None:
        super().__init__(name)
        self.out, self.kernel, self.stride, self.pad, self.dilation = out, kernel, stride, pad, dilation
        self.groups, self.bias, self.norm, self.activation = groups, bias, norm, activation
        self.weight_init, self.bias_init = weight_init, bias_init
        if norm is not None and not isinstance(norm, BatchNorm):
            raise TypeError(f"norm of a Conv is a BatchNorm or None, not {norm!r}")

    def _build(self, x, name):
        norm = self.norm
        of_norm = _core.layer_name(norm, norm._kind, norm.name or name + ".norm") if norm else ""
        momentum, epsilon = (norm.momentum, norm.epsilon) if norm else (0.0, 0.0)
        return _core.layer_conv(x, name, self.out, self.kernel, self.stride, self.pad, self.dilation, self.groups,
                                self.bias, self.activation, self.weight_init, self.bias_init, of_norm, momentum,
                                epsilon, self._where)


class ConvTranspose(Layer):
    """A convolution turned round, as PyTorch's ConvTranspose2d: [N,h,w,in] to [N,H,W,out], H = (h - 1) * stride -
    top - bottom + dilation * (kernel - 1) + output_pad + 1.

    out: channels of the result
    kernel, stride, dilation: pixels, one number or (height, width)
    pad: pixels of the result that are cut off, one number or (top, bottom, left, right)
    output_pad: rows and columns that are added at its end, fewer than the stride
    groups, bias, activation, weight_init, bias_init: as of `Conv`; fans count out * kernel as going in
    name: as of `Layer`
    """

    _kind = "conv_transpose"

    def __init__(self, out: int, kernel: int | Sequence[int] = 2, stride: int | Sequence[int] = 1,
                 pad: int | Sequence[int] = 0, output_pad: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1,
                 groups: int = 1, bias: bool = True, activation: str = "none",
                 weight_init: str | Init = "scaled_uniform", bias_init: str | Init = "scaled_uniform",
                 name: str | None = None) -> None:
        super().__init__(name)
        self.out, self.kernel, self.stride, self.pad, self.output_pad = out, kernel, stride, pad, output_pad
        self.dilation, self.groups, self.bias, self.activation = dilation, groups, bias, activation
        self.weight_init, self.bias_init = weight_init, bias_init

    def _build(self, x, name):
        return _core.layer_conv_transpose(x, name, self.out, self.kernel, self.stride, self.pad, self.output_pad,
                                          self.dilation, self.groups, self.bias, self.activation, self.weight_init,
                                          self.bias_init, self._where)


class Dense(Layer):
    """Numbers of the last axis [...,C] times weights [out,C], and a number added to each: [...,out].

    out: numbers of the last axis of the result
    bias: whether a number is added
    activation, weight_init, bias_init: as of `Conv`
    name: as of `Layer`
    """

    _kind = "dense"

    def __init__(self, out: int, bias: bool = True, activation: str = "none",
                 weight_init: str | Init = "scaled_uniform", bias_init: str | Init = "scaled_uniform",
                 name: str | None = None) -> None:
        super().__init__(name)
        self.out, self.bias, self.activation = out, bias, activation
        self.weight_init, self.bias_init = weight_init, bias_init

    def _build(self, x, name):
        return _core.layer_dense(x, name, self.out, self.bias, self.activation, self.weight_init, self.bias_init,
                                 self._where)


class Dropout(Layer):
    """Keeps each element with a probability and divides it by that; in training only.

    keep_prob: the probability, in (0, 1], and not that of being dropped, as others have it
    name: as of `Layer`
    """

    _kind = "dropout"

    def __init__(self, *, keep_prob: float, name: str | None = None) -> None:
        super().__init__(name)
        self.keep_prob = keep_prob

    def _build(self, x, name):
        return _core.layer_dropout(x, name, self.keep_prob, self._where)


class DropSamples(Layer):
    """Drops whole samples, in training only, and divides those that stay by the probability: of a branch that is added
    to its input (stochastic depth, Huang et al. 2016).

    keep_prob: the probability, in (0, 1], and not that of being dropped, as others have it
    name: as of `Layer`
    """

    _kind = "drop_samples"

    def __init__(self, *, keep_prob: float, name: str | None = None) -> None:
        super().__init__(name)
        self.keep_prob = keep_prob

    def _build(self, x, name):
        return _core.layer_drop_samples(x, name, self.keep_prob, self._where)


class MaxPool(Layer):
    """The greatest number of each window of each channel.

    kernel, stride: pixels, one number or (height, width)
    pad: pixels around the image, which are never the greatest
    """

    _kind = "max_pool"

    def __init__(self, kernel: int | Sequence[int] = 2, stride: int | Sequence[int] = 2,
                 pad: int | Sequence[int] = 0) -> None:
        super().__init__()
        self.kernel, self.stride, self.pad = kernel, stride, pad

    def _build(self, x, name):
        return self._op("max_pool", x, kernel=_pair(self.kernel), stride=_pair(self.stride), pad=_sides(self.pad))


class AvgPool(Layer):
    """The mean of each window of each channel.

    kernel, stride, pad: as of `MaxPool`, with zeros around the image
    count_include_pad: whether these zeros count
    """

    _kind = "avg_pool"

    def __init__(self, kernel: int | Sequence[int] = 2, stride: int | Sequence[int] = 2,
                 pad: int | Sequence[int] = 0, count_include_pad: bool = True) -> None:
        super().__init__()
        self.kernel, self.stride, self.pad, self.count_include_pad = kernel, stride, pad, count_include_pad

    def _build(self, x, name):
        return self._op("avg_pool", x, kernel=_pair(self.kernel), stride=_pair(self.stride), pad=_sides(self.pad),
                        count_include_pad=self.count_include_pad)


class GlobalAvgPool(Layer):
    """The mean of each channel: [N,H,W,C] to [N,C]."""

    _kind = "global_avg_pool"

    def _build(self, x, name):
        return self._op("reduce_mean", x, axes=[1, 2])


class AdaptiveAvgPool(Layer):
    """Means over windows that give a map of that size, as PyTorch's layer of the name.

    size: pixels, one number or (height, width)
    """

    _kind = "adaptive_avg_pool"

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = size

    def _build(self, x, name):
        return _core.layer_adaptive_avg_pool(x, self.size, self._where)


class Lrn(Layer):
    """Local response normalisation over neighbouring channels.

    size: channels
    """

    _kind = "lrn"

    def __init__(self, size: int = 5, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.bias = size, alpha, beta, bias

    def _build(self, x, name):
        return self._op("lrn", x, size=self.size, alpha=self.alpha, beta=self.beta, bias=self.bias)


class Flatten(Layer):
    """Images to rows: [N,H,W,C] to [N,H*W*C].

    order: 'chw', as PyTorch's weights behind it expect it, or 'hwc', as the numbers lie
    """

    _kind = "flatten"

    def __init__(self, order: str = "chw") -> None:
        super().__init__()
        self.order = order

    def _build(self, x, name):
        return self._op("flatten", x, order=self.order)


class Activation(Layer):
    """A function of each number.

    activation: one of `activations()`
    """

    _kind = "activation"

    def __init__(self, activation: str) -> None:
        super().__init__()
        if activation not in _core.activation_names():
            raise _core.ArgumentError(f"unknown activation {activation!r} (allowed: "
                                      f"{', '.join(_core.activation_names())})")
        self.activation = activation

    def _build(self, x, name):
        return _core.layer_activate(x, self.activation, self._where)


class Relu(Activation):
    """The greater of each number and 0."""

    def __init__(self) -> None:
        super().__init__("relu")


class Gelu(Activation):
    """x times the normal distribution's share below x.

    approximate: "none": by erf; "tanh": the approximation that some published models have
    """

    def __init__(self, approximate: str = "none") -> None:
        if approximate not in ("none", "tanh"):
            raise _core.ArgumentError(f"approximate of Gelu is {approximate!r} (allowed: 'none', 'tanh')")
        super().__init__("gelu_tanh" if approximate == "tanh" else "gelu")


class Silu(Activation):
    """x times its sigmoid."""

    def __init__(self) -> None:
        super().__init__("silu")


class Normalize(Layer):
    """Pixels u8 [N,H,W,3] to f32: less the mean, over the deviation, both for images in [0, 1]. Defaults: ImageNet's.

    mean, std: a number a channel
    """

    _kind = "normalize"

    def __init__(self, mean: Sequence[float] = (0.485, 0.456, 0.406),
                 std: Sequence[float] = (0.229, 0.224, 0.225)) -> None:
        super().__init__()
        self.mean, self.std = tuple(mean), tuple(std)

    def _build(self, x, name):
        return self._op("image_tail", x, mean=list(self.mean), std=list(self.std))


class Sequential(Layer):
    """Layers one after the other; functions of a value may stand among them.

    A layer without a name is called after its place, "0", "1", ..., behind the name of this one if that has one.
    name: as of `Layer`
    """

    _kind = "sequential"

    def __init__(self, *layers: Layer | Callable[[Value], Value], name: str | None = None) -> None:
        super().__init__(name)
        for layer in layers:
            if not callable(layer):
                raise TypeError(f"a Sequential is made of layers and functions, not {layer!r}")
        self.layers = layers

    def _called(self, x, place):
        return self._chain(x, _core.layer_name(self, self._kind, self.name or place) + ".")

    def _outermost(self, x):
        """As the net of a Model: names begin with the places, unless it has one."""
        return self._chain(x, self.name + "." if self.name else "")

    def _chain(self, x, prefix):
        for i, layer in enumerate(self.layers):
            x = layer._called(x, f"{prefix}{i}") if isinstance(layer, Layer) else layer(x)
        return x

    def __repr__(self) -> str:
        return f"Sequential({', '.join(map(repr, self.layers))})"


def _pair(extent):
    return list(extent) if isinstance(extent, (tuple, list)) else [extent, extent]


def _sides(pad):
    return list(pad) if isinstance(pad, (tuple, list)) else [pad] * 4
