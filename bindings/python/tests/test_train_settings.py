"""Settings of models and optimizers: each does what it says."""

import unittest

import numpy as np

import ridgeline as rl
from training_support import Losses, batches, dense_model, pictures, points


def trained(epochs=3, data=None, **settings):
    model, seen = dense_model(**settings), Losses()
    model.train(epochs, data or batches(), callbacks=[seen])
    return model, seen.values


class Settings(unittest.TestCase):
    def test_seeds_and_names(self):
        first, again, other = trained(seed=4)[1], trained(seed=4)[1], trained(seed=5)[1]
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)

    def test_deterministic_bits_do_not_depend_on_threads(self):
        one = trained(threads=1, reproducibility="deterministic")[1]
        self.assertEqual(one, trained(threads=3, reproducibility="deterministic")[1])

    def test_frozen_parameters_stay_and_factors_scale_rates(self):
        groups = [rl.nn.ParameterGroup("hidden.*", frozen=True), rl.nn.ParameterGroup("out.bias", rate_factor=0.0)]
        model = dense_model(optimizer=rl.optim.Momentum(lr=0.1, groups=groups, weight_decay=0))
        model.build(batches())
        before = model.parameters()
        model.train(1, batches())
        for name, values in model.parameters().items():
            self.assertEqual(np.array_equal(values, before[name]), name != "out.weight", name)
        with self.assertRaisesRegex(rl.Error, "matches no parameter|no parameter"):
            trained(optimizer=rl.optim.Adam(groups=[rl.nn.ParameterGroup("conv*", frozen=True)]))

    def test_accumulated_batches_are_one_step(self):
        data = points()
        whole, parts = dense_model(optimizer=rl.optim.Sgd(lr=0.1)), dense_model(optimizer=rl.optim.Sgd(lr=0.1),
                                                                                accumulate=2)
        self.assertEqual(whole.train(2, rl.data.InMemory(data).batch(32)).step, 6)
        self.assertEqual(parts.train(2, rl.data.InMemory(data).batch(16)).step, 6)
        for name, values in whole.parameters().items():
            np.testing.assert_allclose(values, parts.parameters()[name], rtol=1e-4, atol=1e-5)
        with self.assertRaisesRegex(rl.ArgumentError, "6 batches, which steps of 4"):
            dense_model(accumulate=4).train(1, batches())

    def test_clipping_bounds_steps(self):
        for clip in ({"clip_norm": 1e-3}, {"clip_value": 1e-4}):
            model = dense_model(optimizer=rl.optim.Sgd(lr=1.0, weight_decay=0), **clip)
            model.build(batches())
            before = model.parameters()
            model.train(1, batches())  # six steps
            moved = np.sqrt(sum(((values - before[name]) ** 2).sum() for name, values in model.parameters().items()))
            self.assertGreater(moved, 0)
            self.assertLess(moved, 6.1e-3)

    def test_averages_are_what_is_evaluated(self):
        plain, averaged = trained(1)[0], trained(1, average=0.9)[0]
        for name, values in plain.parameters().items():
            np.testing.assert_array_equal(values, averaged.parameters()[name])
        self.assertNotEqual(plain.eval(batches())["loss"], averaged.eval(batches())["loss"])
        rows = points()["point"]
        self.assertFalse(np.array_equal(plain.predict(rows)["logits"], averaged.predict(rows)["logits"]))

    def test_precision_and_loss_scales(self):
        plain = trained()[1]
        losses = trained(precision="allow_mix_precision_bf16")[1]
        self.assertNotEqual(losses, plain)
        np.testing.assert_allclose(losses, plain, rtol=0.05, atol=0.02)
        result = dense_model(precision="O2").train(3, batches())  # its loss scale finds where f16 ends
        self.assertEqual(result.step, 18)
        self.assertGreater(result.skipped_steps, 0)
        np.testing.assert_allclose(trained(loss_scale=128)[1], plain, rtol=1e-4)
        result = dense_model(loss_scale="dynamic").train(1, batches())
        self.assertEqual(result.step, 6)

    def test_every_optimizer_and_schedule_trains(self):
        from ridgeline import _core
        from ridgeline.optim import spelled

        for entry in _core.optimizer_table():
            with self.subTest(entry["name"]):
                losses = trained(optimizer=getattr(rl.optim, spelled(entry["name"]))(lr=0.01))[1]
                self.assertLess(np.mean(losses[-6:]), np.mean(losses[:6]) + 0.05)
        for entry in _core.schedule_table():
            with self.subTest(entry["name"]):
                given = {"decay_epochs": [1, 2]} if "decay_epochs" in [a["name"] for a in entry["args"]] else {}
                schedule = getattr(rl.optim, spelled(entry["name"]))(0.1, **given)
                rates = []
                dense_model(optimizer=rl.optim.Momentum(lr=schedule)).train(
                    3, batches(), callbacks=[lambda run: rates.append(run.learning_rate)])
                np.testing.assert_allclose(rates, [schedule.rate(i, 6, 3) for i in range(18)], rtol=1e-6)

    def test_soft_labels_and_several_inputs(self):
        data = points()
        shares = np.eye(3, dtype=np.float32)[data["label"]]
        hard, soft = dense_model(), dense_model()
        one, two = Losses(), Losses()
        hard.train(2, rl.data.InMemory(data).batch(16), callbacks=[one])
        soft.train(2, rl.data.InMemory({"point": data["point"], "label": shares}).batch(16), callbacks=[two])
        np.testing.assert_allclose(one.values, two.values, rtol=1e-5)
        self.assertAlmostEqual(soft.eval({"point": data["point"], "label": shares}, batch_size=32)["loss"],
                               hard.eval(data, batch_size=32)["loss"], places=4)

        def both(left, right):
            return rl.nn.Dense(3)(left * right)

        model = rl.train.Model(both, loss=rl.nn.SoftmaxCrossEntropy(), optimizer=rl.optim.Sgd(), inputs=["left", "right"])
        columns = {"left": data["point"], "right": data["point"], "label": data["label"]}
        self.assertEqual(model.train(1, columns, batch_size=16).step, 6)
        self.assertEqual(model.predict(columns)["logits"].shape, (96, 3))

    def test_layers_without_parameters_are_called_as_often_as_wanted(self):
        relu = rl.nn.Relu()
        model = rl.train.Model(lambda x: relu(rl.nn.Dense(3)(relu(x))), input_shape=[2], inputs=["point"])
        self.assertEqual(sorted(model.parameters()), ["dense.bias", "dense.weight"])

    def test_a_net_of_convolutions_trains(self):
        nn = rl.nn

        def net(x):
            x = nn.Conv(8, kernel=3, pad=1, norm=nn.BatchNorm(), activation="relu")(nn.Normalize()(x))
            y = nn.Conv(8, kernel=(3, 3), pad=(1, 1, 1, 1), groups=2)(x)
            return nn.Dense(3)(nn.GlobalAvgPool()(nn.AvgPool()(rl.graph.relu(x + y))))

        for rows in (12, 14):  # the last batch is full, and is not
            model = dense_model(net)
            losses = Losses()
            model.train(10, rl.data.InMemory(pictures(rows)).shuffle().batch(4), callbacks=[losses])
            self.assertLess(np.mean(losses.values[-6:]), np.mean(losses.values[:6]))
            self.assertIn("conv.norm.running_var", model.parameters())
            self.assertIn("test_train_settings.py", model.graph)


if __name__ == "__main__":
    unittest.main()
