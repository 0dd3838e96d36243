"""Training steps of the models that are written in Python (bindings/python/examples) beside PyTorch's, in one process
and in turn: images a second of each, and the ratio.

    PYTHONPATH=build-python/package PYTHON bench/peers/python_models.py [MODEL ...] [--batch_size 32] [--size 224]
        [--steps 10] [--rounds 3] [--threads 0] [--device cpu]

Models, by default all: densenet121, unet, vit_tiny, convnext_tiny. PYTHON is an interpreter that has PyTorch and
torchvision. Both train on random images by SGD with momentum, in f32; PyTorch in channels_last, which is its faster
layout on CPUs. The first steps, which compile and choose kernels, are not counted.
"""

import argparse
import os
import pathlib
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bindings" / "python" / "examples"), str(ROOT / "bindings" / "python" / "tests")]

import numpy as np
import torch
import torchvision
from torch_unet import TorchUnet

import ridgeline as rl

CLASSES = 10
WARM = 3  # warm-up steps, not timed


def models(size):
    """{name: (net here, PyTorch's, whether labels are of pixels)}, made when it is their turn."""
    from convnext import convnext_tiny
    from densenet import densenet121
    from unet import unet
    from vit import vit_tiny

    there = torchvision.models
    return {
        "densenet121": (lambda: densenet121(CLASSES), lambda: there.densenet121(num_classes=CLASSES), False),
        "unet": (lambda: unet(CLASSES, channels=32), lambda: TorchUnet(3, CLASSES, channels=32, depth=4), True),
        "vit_tiny": (lambda: vit_tiny(CLASSES),
                     lambda: there.VisionTransformer(image_size=size, patch_size=16, num_layers=12, num_heads=3,
                                                     hidden_dim=192, mlp_dim=768, num_classes=CLASSES), False),
        "convnext_tiny": (lambda: convnext_tiny(CLASSES), lambda: there.convnext_tiny(num_classes=CLASSES), False),
    }


class Ours:
    """`steps` steps of a Model, and how long they took."""

    def __init__(self, net, images, labels, flags):
        self._data = rl.data.InMemory({"image": images, "label": labels}).batch(flags.batch_size)
        self._model = rl.train.Model(net, loss=rl.nn.SoftmaxCrossEntropy(), threads=flags.threads, device=flags.device,
                                     optimizer=rl.optim.Momentum(lr=1e-3, nesterov=False, weight_decay=0))

    def run(self, steps):
        seconds = 0.0

        def count(run):
            nonlocal seconds
            seconds += run.loop_seconds

        self._model.train(1, self._data.repeat(steps), callbacks=[_AtEnd(count)], loop=steps)
        return seconds


class _AtEnd:
    """Sees the loops, without a stop between steps."""

    def __init__(self, seen):
        self.step_end = seen

    def next_stop(self, step):
        return None


class Theirs:
    def __init__(self, net, images, labels, flags):
        self._device = torch.device(flags.device)
        self._net = net.to(self._device).to(memory_format=torch.channels_last).train()
        self._images = torch.from_numpy(images).permute(0, 3, 1, 2).to(self._device)  # channels_last, contiguous
        self._labels = torch.from_numpy(labels).long().to(self._device)
        self._optimizer = torch.optim.SGD(self._net.parameters(), lr=1e-3, momentum=0.9)

    def run(self, steps):
        begin = time.perf_counter()
        for _ in range(steps):
            self._optimizer.zero_grad()
            torch.nn.functional.cross_entropy(self._net(self._images), self._labels).backward()
            self._optimizer.step()
        if self._device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - begin


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("models", nargs="*")
    flags.add_argument("--batch_size", type=int, default=32)
    flags.add_argument("--size", type=int, default=224, help="pixels of a side; 32 divides it")
    flags.add_argument("--steps", type=int, default=10)
    flags.add_argument("--rounds", type=int, default=3)
    flags.add_argument("--threads", type=int, default=0, help="of both; 0: the cores")
    flags.add_argument("--device", default="cpu")
    given = flags.parse_args()
    known = models(given.size)
    for name in given.models:
        if name not in known:
            flags.error(f"unknown model '{name}' (allowed: {', '.join(known)})")
    torch.set_num_threads(given.threads or len(os.sched_getaffinity(0)))
    print(f"batch {given.batch_size}, {given.size} pixels, f32, {given.device}, PyTorch {torch.__version__}")
    print(f"{'images/s':<16}{'ridgeline':>12}{'pytorch':>12}{'ratio':>8}")
    rng = np.random.default_rng(1)
    for name in given.models or known:
        here, there, pixels = known[name]
        images = rng.normal(size=(given.batch_size, given.size, given.size, 3)).astype(np.float32)
        shape = images.shape[:3] if pixels else images.shape[:1]
        labels = rng.integers(0, CLASSES, shape).astype(np.int32)
        sides = [Ours(here(), images, labels, given), Theirs(there(), images, labels, given)]
        rates = [[], []]
        for round in range(given.rounds + 1):
            for side, found in zip(sides, rates):
                steps = given.steps if round else WARM
                seconds = side.run(steps)
                if round:
                    found.append(given.batch_size * steps / seconds)
        ours, theirs = map(statistics.median, rates)
        print(f"{name:<16}{ours:>12.1f}{theirs:>12.1f}{ours / theirs:>8.2f}", flush=True)


if __name__ == "__main__":
    main()
