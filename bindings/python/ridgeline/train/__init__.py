"""What trains: models, callbacks, checkpoints.

    model = rl.train.Model(net, loss=rl.nn.SoftmaxCrossEntropy(label_smoothing=0.1),
                           optimizer=rl.optim.Momentum(lr=rl.optim.Cosine(0.05, warmup=1)))
    model.train(16, data, callbacks=[rl.train.Checkpoint("runs/flowers"), rl.train.Progress()])
    print(model.eval(val)["top_1"], model.predict("photo.jpg")[0])
    model.export("flowers.rdgm")

A program that is killed and started again goes on from its newest checkpoint and ends with the bytes of one that was
not. Training runs without Python's lock; callbacks run with it, on the thread that called train(). `python -m ridgeline
launch --ranks 2 -- train.py` trains over two processes: rank(), ranks(), Model.part_of().
"""

from .._core import RunView as Run
from ._callbacks import Callback, Checkpoint, Progress
from ._model import ClassProbability, Model, Result, WeightMatch, devices, metrics
from ._ranks import rank, ranks
from ._show import StepGraph

__all__ = ["Callback", "Checkpoint", "ClassProbability", "Model", "Progress", "Result", "Run", "StepGraph",
           "WeightMatch", "devices", "metrics", "rank", "ranks"]


def __getattr__(name):
    from .._instead import not_there

    raise not_there(__name__, name, __all__)


def __dir__():
    return __all__
