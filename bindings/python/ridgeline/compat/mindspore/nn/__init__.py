"""MindSpore's `nn` over `ridgeline.nn`: Cells, layers, losses, optimizers, metrics."""

from .._cell import Cell, CellList, SequentialCell
from .._names import lookup
from ._layers import (GELU, AdaptiveAvgPool2d, AvgPool2d, BatchNorm1d, BatchNorm2d, Conv2d, Conv2dTranspose, Dense,
                      Dropout, Embedding, Flatten, GroupNorm, Identity, LayerNorm, MaxPool2d, ReLU, ReLU6, Sigmoid, SiLU,
                      Softmax, Tanh, get_activation)
from .loss import L1Loss, LossBase, MSELoss, SoftmaxCrossEntropyWithLogits
from .metrics import (Accuracy, ConfusionMatrix, Loss, Metric, Precision, Recall, Top1CategoricalAccuracy,
                      Top5CategoricalAccuracy)
from .optim import SGD, Adam, Momentum, Optimizer, RMSProp

__all__ = ["Accuracy", "Adam", "AdaptiveAvgPool2d", "AvgPool2d", "BatchNorm1d", "BatchNorm2d", "Cell", "CellList",
           "ConfusionMatrix", "Conv2d", "Conv2dTranspose", "Dense", "Dropout", "Embedding", "Flatten", "GELU",
           "GroupNorm", "Identity", "L1Loss", "LayerNorm", "Loss", "LossBase", "MSELoss", "MaxPool2d", "Metric",
           "Momentum", "Optimizer", "Precision", "RMSProp", "ReLU", "ReLU6", "Recall", "SGD", "SequentialCell", "SiLU",
           "Sigmoid", "Softmax", "SoftmaxCrossEntropyWithLogits", "Tanh", "Top1CategoricalAccuracy",
           "Top5CategoricalAccuracy", "get_activation"]

_PLACES = {"optim": ".optim", "metrics": ".metrics", "loss": ".loss"}
_MODEL = "Model(network, loss_fn, optimizer) trains; no Cell does"
_RATE = "give learning_rate a list of numbers, or a schedule of ridgeline.optim"
REFUSED = {
    "TrainOneStepCell": _MODEL, "WithLossCell": _MODEL, "WithEvalCell": _MODEL, "ForwardValueAndGrad": _MODEL,
    "TrainOneStepWithLossScaleCell": _MODEL, "DistributedGradReducer": "ranks exchange gradients by themselves: DATA_PARALLEL",
    "cosine_decay_lr": _RATE, "exponential_decay_lr": _RATE, "piecewise_constant_lr": _RATE, "polynomial_decay_lr": _RATE,
    "natural_exp_decay_lr": _RATE, "inverse_decay_lr": _RATE, "warmup_lr": _RATE, "CosineDecayLR": _RATE,
    "ExponentialDecayLR": _RATE, "PolynomialDecayLR": _RATE, "WarmUpLR": _RATE,
    "LSTM": "nets of images are trained here", "GRU": "nets of images are trained here",
    "RNN": "nets of images are trained here", "Conv1d": "Conv2d with a kernel of height 1", "Conv3d": "Conv2d is there",
    "LeakyReLU": "write it with ridgeline.graph.maximum", "PReLU": "write it with ridgeline.graph and a Parameter",
    "HSwish": "write it with ridgeline.graph", "HSigmoid": "write it with ridgeline.graph", "ELU": "SiLU or GELU is there",
    "MultiheadAttention": "ridgeline.nn.Attention", "InstanceNorm2d": "GroupNorm with a group for each channel",
    "SyncBatchNorm": "sync_batch_norm of ridgeline.train.Model, for all batch norms", "BCELoss": "write it as a LossBase",
    "SmoothL1Loss": "write it as a LossBase", "DynamicLossScaleUpdateCell": "DynamicLossScaleManager",
    "AdamWeightDecay": "ridgeline.optim.AdamW", "LARS": "ridgeline.optim.Lars", "Lamb": "ridgeline.optim.Lamb",
}


def __getattr__(name):
    return lookup(__name__, name, _PLACES, REFUSED)
