"""Layers, models and losses.

A net is a model of `models`, a `Sequential`, or a function of values that calls layers:

    def net(x):                                       # f32 [N,H,W,C]
        y = nn.Conv(64, kernel=3, pad=1, norm=nn.BatchNorm(), activation="relu")(x)
        y = y + nn.Conv(64, kernel=3, pad=1)(y)
        return nn.Dense(10)(nn.GlobalAvgPool()(y))

The function is called once for each of training, evaluation and prediction, and builds a graph: it sees shapes and
types, no numbers. Layers declare parameters by their names, "conv.weight" and "conv.bias"; those without a name are
called after their kind and their turn, in a `Sequential` after their place, as in PyTorch. A layer with
parameters that is called at several places of a net shares them. `concat`, `mean`, `matmul`, ... are functions of
values; all ops are in `ridgeline.graph`. Images are [N,H,W,C].
"""

from __future__ import annotations

from .. import _core
from .._core import Init, Loss, Net, ParameterGroup, Value
from ._functional import (attention, concat, gelu, matmul, max, mean, relu, reshape, silu, softmax, split, sum,
                          transpose)
from ._layers import (Activation, AdaptiveAvgPool, AvgPool, BatchNorm, Conv, ConvTranspose, Dense, DropSamples, Dropout,
                      Flatten, Gelu, GlobalAvgPool, Layer, Lrn, MaxPool, Normalize, Relu, Sequential, Silu)
from ._sequence_layers import Attention, Embedding, GroupNorm, LayerNorm

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from . import models


def SoftmaxCrossEntropy(label_smoothing: float = 0.0) -> Loss:
    """The cross-entropy of the softmax of a net's outputs [N,classes] and labels, the mean over the batch's rows.

    Labels are i32 or i64 [N], or f32 [N,classes]: a share of each class. Evaluations tell loss, top_1 and top_5. Of outputs
    [N,...,classes] and labels [N,...], a class for each pixel, it is the mean over the pixels of a row; evaluations
    tell loss and top_1, the share of pixels.

    label_smoothing: share of a row's weight that is spread over all classes, in [0, 1)
    """
    return _core.softmax_cross_entropy(label_smoothing)


def parameter(name: str, shape: Sequence[int], init: str | Init = "scaled_uniform",
              constant: float | None = None) -> Value:
    """A parameter of one's own, f32 of that shape, where a graph is built.

    name: in checkpoints; parameters of one name are one parameter
    init: a rule of `inits()`, of the fans of the shape [out,in] or [K,R,S,C], or `normal(deviation)`
    constant: all elements begin with this number instead
    """
    return _core.parameter(name, list(shape), init, constant, None)


def normal(deviation: float) -> Init:
    """Numbers of N(0, deviation) to begin with, for `weight_init` and `bias_init` of layers.

    deviation: 0 or more
    """
    return _core.init_normal(deviation)


def constant(value: float) -> Init:
    """One number to begin with, for `weight_init` and `bias_init` of layers."""
    return _core.init_constant(value)


def training() -> bool:
    """Whether the graph that is being built trains; False: it evaluates or predicts."""
    return _core.layer_training()


def inits() -> dict[str, str]:
    """The rules of initialisation by name, with what each is."""
    return dict(_core.init_table())


def activations() -> list[str]:
    """The names that `activation=` of layers takes."""
    return list(_core.activation_names())


__all__ = ["Activation", "AdaptiveAvgPool", "Attention", "AvgPool", "BatchNorm", "Conv", "ConvTranspose", "Dense",
           "DropSamples", "Dropout", "Embedding", "Flatten", "Gelu", "GlobalAvgPool", "GroupNorm", "Init", "Layer",
           "LayerNorm", "Loss", "Lrn", "MaxPool", "Net", "Normalize", "ParameterGroup", "Relu", "Sequential", "Silu",
           "SoftmaxCrossEntropy", "Value", "activations", "attention", "concat", "constant", "gelu", "inits",
           "matmul", "max", "mean", "models", "normal", "parameter", "relu", "reshape", "silu", "softmax", "split",
           "sum", "training", "transpose"]


def __getattr__(name):
    if name == "models":
        import importlib

        return importlib.import_module(".models", __name__)
    from .._instead import not_there

    raise not_there(__name__, name, __all__)


def __dir__():
    return __all__
