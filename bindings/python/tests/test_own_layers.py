"""Layers beside PyTorch's, layers that are called twice, functions of values."""

import unittest

import numpy as np

import ridgeline as rl
from training_support import Losses, points

try:
    import torch
except ImportError:
    torch = None

nn = rl.nn


def images(rows=6, size=8, channels=4, seed=3):
    return np.random.default_rng(seed).normal(size=(rows, size, size, channels)).astype(np.float32)


@unittest.skipIf(torch is None, "no PyTorch")
class BesidePytorch(unittest.TestCase):
    def compare(self, layer, there, x, first=True):
        """A net of one layer, from PyTorch's weights; `first`: PyTorch has channels there."""
        model = rl.train.Model(layer, input_shape=list(x.shape[1:]), inputs=["x"], name="net",
                               input_type="i32" if x.dtype == np.int32 else "f32")
        prefix = next(iter(model.parameters())).split(".")[0]
        model.load({f"{prefix}.{k}": v for k, v in there.state_dict().items()})
        t = torch.from_numpy(x)
        with torch.no_grad():
            if first:
                expected = there.eval()(t.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
            else:
                expected = there.eval()(t.long() if x.dtype == np.int32 else t)
        np.testing.assert_allclose(model.predict({"x": x})["output"], expected.numpy(), rtol=1e-4, atol=1e-5)

    def test_transposed_convolutions(self):
        for ours, theirs in (({}, {}), ({"stride": 2, "pad": 1, "output_pad": 1, "groups": 2},
                                        {"stride": 2, "padding": 1, "output_padding": 1, "groups": 2})):
            self.compare(nn.ConvTranspose(6, kernel=3, **ours), torch.nn.ConvTranspose2d(4, 6, 3, **theirs), images())

    def test_norms_of_samples(self):
        there = torch.nn.GroupNorm(2, 4)
        torch.nn.init.normal_(there.weight)
        self.compare(nn.GroupNorm(groups=2), there, images())
        there = torch.nn.LayerNorm([8, 4])
        torch.nn.init.normal_(there.bias)
        self.compare(nn.LayerNorm(axes=2), there, images(), first=False)

    def test_embeddings_and_dense_layers_of_any_rank(self):
        numbers = np.random.default_rng(1).integers(0, 11, (3, 7)).astype(np.int32)
        self.compare(nn.Embedding(11, 5), torch.nn.Embedding(11, 5), numbers, first=False)
        self.compare(nn.Dense(3, bias=False), torch.nn.Linear(4, 3, bias=False), images(), first=False)

    def test_attention_of_one_and_of_two_sequences(self):
        there = torch.nn.MultiheadAttention(12, 3, batch_first=True).eval()
        torch.nn.init.normal_(there.in_proj_bias)
        rng = np.random.default_rng(2)
        x, y = (rng.normal(size=(2, n, 12)).astype(np.float32) for n in (5, 7))
        for memory in (False, True):
            layer = nn.Attention(3, name="a")
            model = rl.train.Model((lambda x, y: layer(x, y)) if memory else (lambda x, y: layer(x) + 0 * nn.mean(y, [1, 2], keep_dims=True)),
                                   inputs=["x", "y"])
            model.build({"x": x, "y": y}, batch_size=2)
            model.load({f"a.{k}": v for k, v in there.state_dict().items()})
            t, s = torch.from_numpy(x), torch.from_numpy(y if memory else x)
            with torch.no_grad():
                expected = there(t, s, s)[0].numpy()
            np.testing.assert_allclose(model.predict({"x": x, "y": y})["output"], expected, rtol=1e-4, atol=1e-5)

    def test_functions_of_values(self):
        x = images(channels=6)
        t = torch.from_numpy(x)
        F = torch.nn.functional
        for ours, theirs in (
                (lambda v: nn.gelu(v), F.gelu), (lambda v: nn.gelu(v, "tanh"), lambda v: F.gelu(v, approximate="tanh")),
                (lambda v: nn.silu(v), F.silu), (nn.Silu(), F.silu), (nn.Gelu(), F.gelu),
                (lambda v: nn.softmax(v, axis=1), lambda v: v.softmax(1)),
                (lambda v: nn.mean(v, [1, -2]), lambda v: v.mean((1, 2))),
                (lambda v: nn.max(v, -1, keep_dims=True), lambda v: v.amax(-1, keepdim=True)),
                (lambda v: nn.sum(v, axes=2), lambda v: v.sum(2)),
                (lambda v: nn.concat(nn.split(v, 3)[::-1]), lambda v: torch.cat(v.chunk(3, -1)[::-1], -1)),
                (lambda v: nn.concat(nn.split(v, [1, 7], axis=1)[::-1], axis=1), lambda v: v.roll(-1, 1)),
                (lambda v: nn.transpose(nn.reshape(v, [v.shape[0], -1, 6]), [0, 2, 1]), lambda v: v.reshape(6, -1, 6).mT),
                (lambda v: nn.matmul(v, v, transpose_b=True), lambda v: v @ v.mT),
                (lambda v: nn.attention(v, v, v), lambda v: F.scaled_dot_product_attention(v, v, v))):
            model = rl.train.Model(ours, input_shape=[8, 8, 6], name="f")
            model.build({"image": x}, batch_size=6)
            found = model.predict(x)["output"]
            np.testing.assert_allclose(found, theirs(t).numpy(), rtol=1e-4, atol=1e-5)

    def test_a_layer_that_is_called_twice_trains_as_pytorchs(self):
        class There(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = torch.nn.Conv2d(4, 4, 3, padding=1)
                self.bn = torch.nn.BatchNorm2d(4)
                self.out = torch.nn.Linear(4, 3)

            def forward(self, x):
                for _ in range(3):
                    x = torch.relu(self.bn(self.conv(x)))
                return self.out(x.mean((2, 3)))

        conv, norm = nn.Conv(4, pad=1, name="conv"), nn.BatchNorm(name="bn")

        def here(x):
            for _ in range(3):
                x = nn.relu(norm(conv(x)))
            return nn.Dense(3, name="out")(nn.GlobalAvgPool()(x))

        torch.manual_seed(4)
        there = There()
        x, labels = images(32), np.arange(32, dtype=np.int32) % 3
        for rows in (8, 12):  # the last batch is full, and is not
            model = rl.train.Model(here, loss=nn.SoftmaxCrossEntropy(), input_shape=[8, 8, 4],
                                   optimizer=rl.optim.Momentum(lr=0.05, nesterov=False))
            copy = There()
            copy.load_state_dict(there.state_dict())
            self.assertEqual(model.load(copy).missing, [])
            optimizer = torch.optim.SGD(copy.parameters(), lr=0.05, momentum=0.9)
            losses = Losses()
            model.train(1, rl.data.InMemory({"image": x, "label": labels}).batch(rows), callbacks=[losses])
            for i, loss in enumerate(losses.values):
                part = slice(rows * i, rows * (i + 1))
                own = torch.nn.functional.cross_entropy(copy(torch.from_numpy(x[part]).permute(0, 3, 1, 2)),
                                                        torch.from_numpy(labels[part]).long())
                self.assertAlmostEqual(loss, own.item(), places=4)
                optimizer.zero_grad()
                own.backward()
                optimizer.step()
            found = model.parameters()
            for name, values in copy.state_dict().items():
                if not name.endswith("tracked"):
                    np.testing.assert_allclose(found[name], values.numpy(), rtol=2e-3, atol=2e-4, err_msg=name)


class CalledTwice(unittest.TestCase):
    def test_a_shared_layer_has_its_parameters_once(self):
        shared = nn.Dense(2, name="shared")
        model = rl.train.Model(lambda x: shared(nn.relu(shared(x))), input_shape=[2], inputs=["point"])
        self.assertEqual(sorted(model.parameters()), ["shared.bias", "shared.weight"])

    def test_parameters_of_one_name_are_one(self):
        def net(x):
            return x * nn.parameter("scale", [2], constant=2) * nn.parameter("scale", [2], constant=2)

        model = rl.train.Model(net, input_shape=[2], inputs=["point"])
        self.assertEqual(list(model.parameters()), ["scale"])
        np.testing.assert_allclose(model.predict(points()["point"])["output"], points()["point"] * 4)

    def test_other_extents_at_the_second_call_are_refused_with_the_line(self):
        shared = nn.Dense(3, name="shared")
        with self.assertRaisesRegex(rl.ArgumentError, r"parameter shared\.weight is f32\[3,2\] at one call of its layer "
                                                      r"and .*3,3.* at another.*test_own_layers\.py:"):
            rl.train.Model(lambda x: shared(shared(x)), input_shape=[2], inputs=["point"]).parameters()

    def test_a_norm_belongs_to_one_convolution_or_is_called_by_itself(self):
        norm = nn.BatchNorm()
        with self.assertRaisesRegex(rl.ArgumentError, r"norm conv\.norm of the layer conv_1 was called before.*"
                                                      r"test_own_layers\.py:\d+\)"):
            rl.train.Model(lambda x: nn.Conv(3, pad=1, norm=norm)(nn.Conv(3, pad=1, norm=norm)(x)),
                           input_shape=[8, 8, 3]).parameters()
        apart = rl.train.Model(lambda x: norm(nn.Conv(3, pad=1)(norm(nn.Conv(3, pad=1)(x)))), input_shape=[8, 8, 3])
        self.assertEqual([name for name in apart.parameters() if name.endswith("norm.weight")], ["batch_norm.weight"])

    def test_a_layer_of_the_net_in_its_loss_is_refused_with_the_line(self):
        shared = nn.Dense(2, name="shared")
        model = rl.train.Model(shared, loss=lambda y, label: nn.mean(shared(y)), inputs=["point"], optimizer=rl.optim.Sgd())
        with self.assertRaisesRegex(rl.ArgumentError, r"two arguments named shared\.weight.*test_own_layers\.py:\d+\)"):
            model.train(1, points(), batch_size=4)

    def test_two_layers_of_one_name_are_refused(self):
        with self.assertRaisesRegex(rl.ArgumentError, "two layers are called 'same'"):
            rl.train.Model(lambda x: nn.Dense(2, name="same")(nn.Dense(2, name="same")(x)), input_shape=[2],
                           inputs=["point"]).parameters()

    def test_each_call_of_a_dropout_draws_a_mask_of_its_own(self):
        drop = nn.Dropout(keep_prob=0.5, name="drop")
        seen = []
        model = rl.train.Model(lambda x: drop(x) - drop(x), loss=lambda y, label: nn.mean(y * y), inputs=["x"],
                               optimizer=rl.optim.Sgd())
        with self.assertRaisesRegex(rl.Error, "param"):  # there is nothing to train
            model.train(1, {"x": np.ones((4, 64), np.float32)}, batch_size=4)
        scale = rl.train.Model(lambda x: (drop(x) - drop(x)) * nn.parameter("w", [64], constant=1),
                               loss=lambda y, label: nn.mean(y * y), inputs=["x"], optimizer=rl.optim.Sgd())
        scale.train(1, {"x": np.ones((4, 64), np.float32)}, batch_size=4, callbacks=[lambda run: seen.append(run.loss)])
        self.assertGreater(seen[0], 0.5)


class Begin(unittest.TestCase):
    def test_parameters_begin_as_they_are_told(self):
        def net(x):
            return nn.Dense(500, weight_init=nn.normal(0.02), bias_init=nn.constant(3), name="d")(
                nn.Dense(400, weight_init="zeros", name="z")(x))

        found = rl.train.Model(net, input_shape=[2], inputs=["point"]).parameters()
        self.assertAlmostEqual(float(found["d.weight"].std()), 0.02, places=3)
        self.assertTrue((found["d.bias"] == 3).all() and not found["z.weight"].any())
        self.assertEqual(repr(nn.normal(0.02)), "normal(0.02)")

    def test_what_is_no_way_to_begin_is_refused(self):
        for wrong in ("uniform", 0.5):
            with self.assertRaisesRegex(rl.ArgumentError, "(uniform|0.5)"):
                rl.train.Model(lambda x: nn.Dense(2, weight_init=wrong)(x), input_shape=[2], inputs=["x"]).parameters()
        with self.assertRaisesRegex(rl.ArgumentError, "0 or more"):
            nn.normal(-1)
        with self.assertRaisesRegex(rl.ArgumentError, "allowed: .*silu"):
            nn.Activation("swish")

    def test_dropped_samples_are_dropped_whole_and_in_training_only(self):
        drop = nn.DropSamples(keep_prob=0.5, name="drop")
        model = rl.train.Model(lambda x: drop(x) * nn.parameter("w", [1], constant=1), inputs=["x"],
                               loss=lambda y, label: nn.max(y, 1) - nn.mean(y, 1), optimizer=rl.optim.Sgd())
        seen = []
        model.train(1, {"x": np.ones((64, 8), np.float32)}, batch_size=64, callbacks=[lambda run: seen.append(run.loss)])
        self.assertEqual(seen, [0.0])
        np.testing.assert_array_equal(model.predict(np.ones((3, 8), np.float32))["output"],
                                      np.full((3, 8), model.parameters()["w"][0], np.float32))


class Pixels(unittest.TestCase):
    def test_a_class_for_each_pixel_is_the_mean_over_the_pixels(self):
        x = images(rows=10, size=4, channels=3)
        labels = x.argmax(-1).astype(np.int32)
        model = rl.train.Model(lambda v: nn.Conv(3, kernel=1)(v), loss=nn.SoftmaxCrossEntropy(),
                               optimizer=rl.optim.Adam(lr=0.1))
        model.train(60, {"image": x, "label": labels}, batch_size=4)  # the last batch is not full
        result = model.eval({"image": x, "label": labels}, batch_size=4)
        found = model.predict(x)["output"]
        self.assertEqual(found.shape, (10, 4, 4, 3))
        self.assertAlmostEqual(result["top_1"], float((found.argmax(-1) == labels).mean()), places=5)
        shifted = found - found.max(-1, keepdims=True)
        chosen = np.take_along_axis(shifted, labels[..., None], -1)[..., 0] - np.log(np.exp(shifted).sum(-1))
        self.assertAlmostEqual(result["loss"], float(-chosen.mean()), places=4)
        self.assertGreater(result["top_1"], 0.9)


if __name__ == "__main__":
    unittest.main()
