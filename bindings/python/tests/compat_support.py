"""What tests of MindSpore's names share."""

import contextlib
import io

import numpy as np

import ridgeline.compat.mindspore as ms
import ridgeline.compat.mindspore.dataset as de
import ridgeline.compat.mindspore.nn as nn
from ridgeline.compat.mindspore import Tensor, context, ops
from ridgeline.compat.mindspore.common import set_seed
from ridgeline.compat.mindspore.train.model import Model
from training_support import Folders


class Network(nn.Cell):
    """What tests train: images [N,3,8,8]."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, stride=2, pad_mode="same", has_bias=True)
        self.norm = nn.BatchNorm2d(4)
        self.pool = nn.MaxPool2d(2, 2)
        self.scale = ms.Parameter(Tensor(np.full((1, 4, 1, 1), 1.5), ms.float32), name="scale")
        self.fc = nn.Dense(16, 5)

    def construct(self, x):
        x = ops.relu(self.norm(self.conv(x))) * self.scale
        return self.fc(self.pool(x).reshape(x.shape[0], -1))


def images(rows=24, classes=5):
    rng = np.random.default_rng(4)
    return {"image": rng.normal(size=(rows, 3, 8, 8)).astype(np.float32),
            "label": (np.arange(rows) % classes).astype(np.int32)}


def data_of(arrays, batch=4, shuffle=False):
    return de.NumpySlicesDataset(arrays, shuffle=shuffle).batch(batch, drop_remainder=True)


def model_of(network, rate=0.05, **settings):
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    return Model(network, loss, nn.Momentum(network.trainable_params(), rate, 0.9), **settings)


class Usual(Folders):
    """With the context as a program begins, and what is printed."""

    def setUp(self):
        super().setUp()
        context._warned.clear()
        self.addCleanup(context.set_context, mode=context.GRAPH_MODE, device_target="CPU", save_graphs=False)
        set_seed(1)

    def printed(self, call):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            call()
        return out.getvalue().splitlines()
