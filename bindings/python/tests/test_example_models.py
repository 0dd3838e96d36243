"""The models of the examples beside PyTorch's from the same weights: logits, gradients, ten steps."""

import contextlib
import sys
import unittest
from unittest import mock

import numpy as np

import ridgeline as rl

try:
    import torch
except ImportError:
    raise unittest.SkipTest("no PyTorch")

from torch_unet import TorchUnet
from training_support import EXAMPLES, Losses

sys.path.insert(0, str(EXAMPLES))

SIZE, ROWS, CLASSES = 64, 4, 10


def torchvision():
    try:
        import torchvision
    except ImportError:
        raise unittest.SkipTest("no torchvision")
    return torchvision


@contextlib.contextmanager
def smooth():
    """Both systems with SiLU and means in the place of relu and greatest numbers. Of a value as near to a kink as f32 rounds
    one system takes one side and the other the other, which changes a gradient by a whole position and not by a bit."""
    conv = rl.nn.Conv

    def smooth_conv(*args, activation="none", **named):
        return conv(*args, activation="silu" if activation == "relu" else activation, **named)

    here = {"Conv": smooth_conv, "relu": rl.nn.silu, "MaxPool": rl.nn.AvgPool}
    functional = {"relu": lambda x, inplace=False: torch.nn.functional.silu(x),
                  "max_pool2d": lambda x, kernel, stride, padding, *_, **__: torch.nn.functional.avg_pool2d(
                      x, kernel, stride, padding)}
    with mock.patch.multiple(rl.nn, **here), mock.patch.multiple(torch.nn.functional, **functional):
        yield


def channels_first(images):
    return torch.from_numpy(images).permute(0, 3, 1, 2)


class Compared(unittest.TestCase):
    """`here`: the net; `there`: PyTorch's; labels of every pixel where `pixels`; `kinks`: it has relus, in the
    place of which gradients are compared with smooth functions; `smooth_steps`: the ten steps, too."""

    def compare(self, here, there, pixels=False, rate=0.01, kinks=False, smooth_steps=False):
        torch.manual_seed(1)
        with torch.no_grad():
            for name, values in there.named_parameters():
                if values.dim() < 2 or name.endswith(("layer_scale", "heads.head.weight", "class_token")):
                    values.add_(torch.randn(values.shape) * 0.1 + (0.3 if name.endswith("layer_scale") else 0))
            for name, values in there.named_buffers():
                if name.endswith("running_var"):
                    values.uniform_(0.5, 1.5)
        rng = np.random.default_rng(2)
        images = rng.normal(size=(10 * ROWS, SIZE, SIZE, 3)).astype(np.float32)
        labels = rng.integers(0, CLASSES, (10 * ROWS, SIZE, SIZE) if pixels else 10 * ROWS).astype(np.int32)
        weights = {name: values.clone() for name, values in there.state_dict().items()}
        self.logits(here, there, weights, images[:ROWS])
        with smooth() if kinks else contextlib.nullcontext():
            self.gradients(here, there, weights, images[:ROWS], labels[:ROWS])
        with smooth() if smooth_steps else contextlib.nullcontext():
            self.steps(here, there, weights, images, labels, rate)

    def model(self, here, weights, optimizer):
        model = rl.train.Model(here, loss=rl.nn.SoftmaxCrossEntropy(), optimizer=optimizer,
                               input_shape=[SIZE, SIZE, 3])
        match = model.load(weights)
        self.assertEqual(match.missing, [])
        self.assertEqual([name for name in match.unexpected if not name.endswith("num_batches_tracked")], [])
        return model

    def near(self, found, expected, what):
        expected = expected.detach().numpy()
        self.assertEqual(found.shape, expected.shape, what)
        self.assertLess(np.abs(found - expected).max(), 1e-4 * np.abs(expected).max() + 1e-12, what)

    def logits(self, here, there, weights, images):
        result = self.model(here, weights, None).predict(images)
        with torch.no_grad():
            expected = there.eval()(channels_first(images))
        found = result["logits"] if "logits" in result else np.moveaxis(result["output"], -1, 1)
        self.near(found, expected, "logits")

    def gradients(self, here, there, weights, images, labels):
        # One step of so high a rate that parameters are their gradients, except for what f32 drops.
        rate = 2.0 ** 30
        model = self.model(here, weights, rl.optim.Sgd(lr=rate, weight_decay=0))
        model.train(1, rl.data.InMemory({"image": images, "label": labels}).batch(ROWS))
        there.load_state_dict(weights)
        there.double().train()  # f64: what differs is ours
        loss = torch.nn.functional.cross_entropy(there(channels_first(images).double()),
                                                 torch.from_numpy(labels).long())
        there.zero_grad()
        loss.backward()
        moved = model.parameters()
        largest = max(values.grad.abs().max().item() for values in there.parameters())
        for name, values in there.named_parameters():
            found = (weights[name].numpy().astype(np.float64) - moved[name]) / rate
            # Of a gradient that is 0 in exact numbers (the bias in front of a norm) the rest is rounding.
            scale = max(values.grad.abs().max().item(), 1e-3 * largest)
            self.assertLess(np.abs(found - values.grad.numpy()).max(), 1e-4 * scale, name)
        there.float()

    def steps(self, here, there, weights, images, labels, rate):
        model = self.model(here, weights, rl.optim.Momentum(lr=rate, nesterov=False, weight_decay=0))
        losses = Losses()
        model.train(1, rl.data.InMemory({"image": images, "label": labels}).batch(ROWS), callbacks=[losses])
        there.load_state_dict(weights)
        there.train()
        optimizer = torch.optim.SGD(there.parameters(), lr=rate, momentum=0.9)
        expected = []
        for i in range(10):
            part = slice(ROWS * i, ROWS * (i + 1))
            loss = torch.nn.functional.cross_entropy(there(channels_first(images[part])),
                                                     torch.from_numpy(labels[part]).long())
            expected.append(loss.item())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        np.testing.assert_allclose(losses.values, expected, rtol=2e-3)

    def test_densenet_121(self):
        from densenet import densenet121

        self.compare(densenet121(CLASSES), torchvision().models.densenet121(num_classes=CLASSES),
                     rate=0.003, kinks=True, smooth_steps=True)

    def test_unet(self):
        from unet import unet

        self.compare(unet(CLASSES, channels=8, depth=3), TorchUnet(3, CLASSES, channels=8, depth=3), pixels=True,
                     kinks=True)

    def test_vit_tiny(self):
        from vit import vit_tiny

        there = torchvision().models.VisionTransformer(image_size=SIZE, patch_size=16, num_layers=12, num_heads=3,
                                                       hidden_dim=192, mlp_dim=768, num_classes=CLASSES)
        self.compare(vit_tiny(CLASSES), there, rate=0.003)

    def test_convnext_tiny(self):
        from convnext import convnext_tiny

        there = torchvision().models.convnext_tiny(num_classes=CLASSES, stochastic_depth_prob=0.0)
        self.compare(convnext_tiny(CLASSES, dropped=0.0), there, rate=0.003)


if __name__ == "__main__":
    unittest.main()
