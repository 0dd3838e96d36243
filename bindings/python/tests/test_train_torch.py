"""Weights and tensors of PyTorch, where it is installed."""

import unittest

import numpy as np

import ridgeline as rl

try:
    import torch
except ImportError:
    raise unittest.SkipTest("no PyTorch")

from training_support import batches, dense_model, points


def net():
    return rl.nn.Sequential(rl.nn.Conv(8, kernel=3, pad=1), rl.nn.BatchNorm(), rl.nn.Relu(), rl.nn.MaxPool(),
                            rl.nn.Flatten(), rl.nn.Dense(5))


def torch_net():
    torch.manual_seed(1)
    made = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
                               torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(8 * 16, 5))
    with torch.no_grad():
        made[1].running_mean.uniform_(-0.1, 0.1)
        made[1].running_var.uniform_(0.5, 1.5)
    return made


class Torch(unittest.TestCase):
    def test_a_sequential_has_the_names_and_the_logits_of_pytorch(self):
        there = torch_net().eval()
        images = torch.randn(7, 3, 8, 8)
        for weights in (there, there.state_dict(), {"module." + k: v for k, v in there.state_dict().items()}):
            model = rl.train.Model(net(), input_shape=[8, 8, 3])
            match = model.load(weights)
            self.assertEqual(match.missing, [])
            found = model.predict(images.permute(0, 2, 3, 1))["output"]
            np.testing.assert_allclose(found, there(images).detach().numpy(), rtol=1e-4, atol=1e-5)
        for name, values in model.parameters().items():
            np.testing.assert_array_equal(values, there.state_dict()[name].numpy(), name)

    def test_steps_are_those_of_pytorch(self):
        there = torch_net().train()
        optimizer = torch.optim.SGD(there.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-3, nesterov=True)
        rng = np.random.default_rng(3)
        images = rng.normal(size=(40, 8, 8, 3)).astype(np.float32)
        labels = rng.integers(0, 5, 40).astype(np.int32)
        model = rl.train.Model(net(), loss=rl.nn.SoftmaxCrossEntropy(label_smoothing=0.1), input_shape=[8, 8, 3],
                               optimizer=rl.optim.Momentum(lr=0.05, weight_decay=1e-3))
        model.load(there)
        losses = []
        model.train(1, rl.data.InMemory({"image": images, "label": labels}).batch(4),
                    callbacks=[lambda run: losses.append(run.loss)])
        self.assertEqual(len(losses), 10)
        for i, loss in enumerate(losses):
            x = torch.from_numpy(images[4 * i:4 * i + 4]).permute(0, 3, 1, 2)
            own = torch.nn.functional.cross_entropy(there(x), torch.from_numpy(labels[4 * i:4 * i + 4]).long(),
                                                    label_smoothing=0.1)
            self.assertAlmostEqual(loss, own.item(), places=4)
            optimizer.zero_grad()
            own.backward()
            optimizer.step()
        for name, values in model.parameters().items():
            np.testing.assert_allclose(values, there.state_dict()[name].numpy(), rtol=2e-3, atol=2e-4, err_msg=name)

    def test_tensors_are_data_and_weights_of_other_types_are_converted(self):
        data = {name: torch.from_numpy(values) for name, values in points().items()}
        by_tensors, by_arrays = dense_model(), dense_model()
        by_tensors.train(2, data, batch_size=16)
        by_arrays.train(2, batches())
        for name, values in by_arrays.parameters().items():
            np.testing.assert_array_equal(values, by_tensors.parameters()[name])
        model = dense_model(input_shape=[2], inputs=["point"])
        model.load({name: torch.from_numpy(values).bfloat16() for name, values in by_arrays.parameters().items()})
        for name, values in by_arrays.parameters().items():
            np.testing.assert_array_equal(model.parameters()[name],
                                          torch.from_numpy(values).bfloat16().float().numpy())

    def test_whatever_has_dlpack_is_data(self):
        class Foreign:
            def __init__(self, array):
                self._array = array

            def __dlpack__(self, **kwargs):
                return self._array.__dlpack__(**kwargs)

            def __dlpack_device__(self):
                return self._array.__dlpack_device__()

        model = dense_model()
        model.train(1, {name: Foreign(values) for name, values in points().items()}, batch_size=16)
        self.assertEqual(model.predict(Foreign(points()["point"]))["logits"].shape, (96, 3))


if __name__ == "__main__":
    unittest.main()
