"""Ridgeline: an engine that trains image models, and feeds them.

    import ridgeline as rl

    net = rl.nn.models.resnet18(num_classes=12)
    model = rl.train.Model(net, loss=rl.nn.SoftmaxCrossEntropy(), optimizer=rl.optim.Momentum(lr=0.05))
    model.train(16, rl.data.ImageFolder("flowers/train").shuffle().map(rl.data.RandomResizedCrop(224)).batch(64))

`data` holds datasets, transforms and `DataLoader`, `nn` layers, models and losses, `optim` optimizers and schedules,
`train` what trains, `graph` the ops of which graphs are made and `function`, which makes a graph of a Python function,
`compat` names of other systems. Each is imported when it is first used.
"""

from ._core import ArgumentError, Error, InternalError, RunError, UnreachableError, __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import compat, data, graph, nn, optim, train
    from .graph import function as function, grad as grad, value_and_grad as value_and_grad

_LATER = ("compat", "data", "graph", "nn", "optim", "train")
_OF_GRAPH = ("function", "grad", "value_and_grad")

__all__ = ["ArgumentError", "Error", "InternalError", "RunError", "UnreachableError", "__version__", *_LATER, *_OF_GRAPH]


def __getattr__(name):
    if name in _LATER:
        import importlib

        return importlib.import_module("." + name, __name__)
    if name in _OF_GRAPH:
        from . import graph

        return getattr(graph, name)
    from ._instead import not_there

    raise not_there(__name__, name, __all__)


def __dir__():
    return __all__
