"""What tests of training share: small nets and data, runs in other processes."""

import os
import pathlib
import shutil
import tempfile
import unittest

import numpy as np

import ridgeline as rl

EXAMPLES = pathlib.Path(__file__).resolve().parents[1] / "examples"


def points(count=96, classes=3, seed=3):
    """Columns point f32 [2] and label i32 of `count` rows."""
    rng = np.random.default_rng(seed)
    labels = (np.arange(count) % classes).astype(np.int32)
    centres = np.array([[np.cos(a), np.sin(a)] for a in 2 * np.pi * np.arange(classes) / classes])
    return {"point": (centres[labels] + rng.normal(0, 0.2, (count, 2))).astype(np.float32), "label": labels}


def batches(count=96, batch=16, **kwargs):
    return rl.data.InMemory(points(count, **kwargs)).shuffle().batch(batch)


def pictures(count=12, size=32, classes=3, dtype=np.uint8, seed=5):
    """Columns image [size,size,3] and label i32."""
    rng = np.random.default_rng(seed)
    images = rng.integers(0, 256, (count, size, size, 3), dtype=np.uint8)
    if dtype != np.uint8:
        images = (images.astype(np.float32) / 255 - 0.45) / 0.225
    return {"image": images, "label": (np.arange(count) % classes).astype(np.int32)}


def dense_net(x):
    return rl.nn.Dense(3, name="out")(rl.nn.Dense(8, activation="relu", name="hidden")(x))


def dense_model(net=dense_net, loss=None, optimizer=None, **settings):
    return rl.train.Model(net, loss=loss or rl.nn.SoftmaxCrossEntropy(),
                          optimizer=optimizer or rl.optim.Momentum(lr=0.1), **settings)


class Losses(rl.train.Callback):
    """The loss of every step."""

    def __init__(self):
        self.values = []

    def step_end(self, run):
        self.values.append(run.loss)


def checkpoints(folder):
    """{name: bytes} of all checkpoints in a folder."""
    return {path.name: path.read_bytes() for path in sorted(pathlib.Path(folder).glob("*.safetensors"))}


class Folders(unittest.TestCase):
    """Tests with a folder of their own."""

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="ridgeline-train-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def path(self, *names):
        return os.path.join(self.dir, *names)
