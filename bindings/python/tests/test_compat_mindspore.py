"""MindSpore's names: Cells, Model, callbacks and files."""

import os
import pathlib
import re
import unittest
import unittest.mock
import warnings

import numpy as np

import ridgeline as rl
import ridgeline.compat.mindspore as ms
import ridgeline.compat.mindspore.dataset as de
import ridgeline.compat.mindspore.nn as nn
from ridgeline.compat.mindspore import Tensor, context
from ridgeline.compat.mindspore.common import initializer, set_seed
from ridgeline.compat.mindspore.train import callback as callbacks
from ridgeline.compat.mindspore.train.loss_scale_manager import DynamicLossScaleManager, FixedLossScaleManager
from ridgeline.compat.mindspore.train.model import Model
from compat_support import Network, Usual, data_of, images, model_of
from training_support import points

try:
    import torch
except ImportError:
    torch = None


@unittest.skipIf(torch is None, "no PyTorch")
class BesidePytorch(Usual):
    def test_a_net_of_cells_trains_as_pytorchs_on_images_nchw(self):
        class There(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = torch.nn.Conv2d(3, 4, 3, stride=2)
                self.norm = torch.nn.BatchNorm2d(4)
                self.scale = torch.nn.Parameter(torch.full((1, 4, 1, 1), 1.5))
                self.fc = torch.nn.Linear(16, 5)

            def forward(self, x):  # "same": 0 in front, 1 behind
                x = torch.relu(self.norm(self.conv(torch.nn.functional.pad(x, (0, 1, 0, 1))))) * self.scale
                return self.fc(torch.nn.functional.max_pool2d(x, 2).flatten(1))

        names = {"norm.gamma": "norm.weight", "norm.beta": "norm.bias", "norm.moving_mean": "norm.running_mean",
                 "norm.moving_variance": "norm.running_var"}
        torch.manual_seed(1)
        there, network, arrays = There(), Network(), images()
        state = there.state_dict()
        for name, parameter in network.parameters_and_names():
            parameter.set_data(state[names.get(name, name)].numpy().copy())
        model = model_of(network)
        there.eval()
        np.testing.assert_allclose(model.predict(Tensor(arrays["image"])).asnumpy(),
                                   there(torch.from_numpy(arrays["image"])).detach().numpy(), rtol=1e-4, atol=1e-5)
        losses = []

        class Kept(callbacks.Callback):
            def step_end(self, run_context):
                losses.append(float(run_context.original_args().net_outputs))

        model.train(2, data_of(arrays), Kept(), dataset_sink_mode=False)
        optimizer = torch.optim.SGD(there.parameters(), lr=0.05, momentum=0.9)
        there.train()
        self.assertEqual(len(losses), 12)
        for i, loss in enumerate(losses):
            part = slice(4 * (i % 6), 4 * (i % 6) + 4)
            own = torch.nn.functional.cross_entropy(there(torch.from_numpy(arrays["image"][part])),
                                                    torch.from_numpy(arrays["label"][part]).long())
            self.assertAlmostEqual(loss, own.item(), places=3)
            optimizer.zero_grad()
            own.backward()
            optimizer.step()
        state = there.state_dict()
        for name, parameter in network.parameters_and_names():
            np.testing.assert_allclose(parameter.asnumpy(), state[names.get(name, name)].numpy(), rtol=2e-3, atol=2e-4,
                                       err_msg=name)


class Training(Usual):
    def test_lines_are_mindspores_and_steps_count_in_their_epoch(self):
        model = model_of(Network())
        lines = self.printed(lambda: model.train(2, data_of(images()), [callbacks.LossMonitor(2), callbacks.TimeMonitor()],
                                                 dataset_sink_mode=False))
        shown = [re.sub(r"(loss is|time:) [\d.]+", r"\1 #", line) for line in lines]
        self.assertEqual(shown, [*(f"epoch: 1 step: {s}, loss is #" for s in (2, 4, 6)),
                                 "epoch time: # ms, per step time: # ms",
                                 *(f"epoch: 2 step: {s}, loss is #" for s in (2, 4, 6)),
                                 "epoch time: # ms, per step time: # ms"])

    def test_a_loss_that_is_not_finite_ends_the_run_with_mindspores_error(self):
        model = model_of(Network(), rate=1e30)
        with self.assertRaisesRegex(ValueError, r"^epoch: 1 step: \d\. Invalid loss, terminating training\.$"):
            self.printed(lambda: model.train(5, data_of(images()), callbacks.LossMonitor(0), dataset_sink_mode=False))

    def test_checkpoints_have_mindspores_names_and_go_back_into_a_net(self):
        network = Network()
        config = callbacks.CheckpointConfig(save_checkpoint_steps=4, keep_checkpoint_max=2)
        saver = callbacks.ModelCheckpoint("net", self.dir, config)
        model_of(network).train(2, data_of(images()), saver, dataset_sink_mode=False)
        self.assertEqual(sorted(os.listdir(self.dir)), ["net-2_2.ckpt", "net-2_6.ckpt", "net-graph.meta"])
        self.assertIn("graph @", pathlib.Path(self.path("net-graph.meta")).read_text())
        self.assertEqual(saver.latest_ckpt_file_name, self.path("net-2_6.ckpt"))
        found = ms.load_checkpoint(saver.latest_ckpt_file_name)
        self.assertEqual(set(found), {name for name, _ in network.parameters_and_names()})
        for name, parameter in network.parameters_and_names():
            np.testing.assert_array_equal(found[name].asnumpy(), parameter.asnumpy())
        again = callbacks.ModelCheckpoint("net", self.dir, config)
        model_of(Network()).train(1, data_of(images()), again, dataset_sink_mode=False)
        self.assertEqual(os.path.basename(again.latest_ckpt_file_name), "net_1-1_6.ckpt")
        # The engine reads them, too.
        plain = {p._engine_name: p.shape for p in network.get_parameters()}
        self.assertEqual(set(rl._core.read_weights(saver.latest_ckpt_file_name)), set(plain))

    def test_an_error_leaves_the_checkpoint_that_was_asked_for(self):
        class Stumbles(callbacks.Callback):
            def step_end(self, run_context):
                if run_context.original_args().cur_step_num == 3:
                    raise KeyError("mine")

        saver = callbacks.ModelCheckpoint("e", self.dir, callbacks.CheckpointConfig(save_checkpoint_steps=100,
                                                                                    exception_save=True))
        with self.assertRaisesRegex(KeyError, "mine"):
            model_of(Network()).train(1, data_of(images()), [Stumbles(), saver], dataset_sink_mode=False)
        self.assertIn("e-1_3_breakpoint.ckpt", os.listdir(self.dir))

    def test_evaluations_give_the_metrics_that_were_asked_for(self):
        class Rows(nn.Metric):
            def clear(self):
                self.rows = 0

            def update(self, outputs, labels):
                assert outputs.shape == (len(labels.asnumpy()), 5)
                self.rows += len(labels.asnumpy())

            def eval(self):
                return self.rows

        network = Network()
        model = model_of(network, metrics={"acc": nn.Accuracy(), "top5": "top_5_accuracy", "loss": nn.Loss(), "mine": Rows()})
        data = de.NumpySlicesDataset(images(22), shuffle=False).batch(4)
        found = model.eval(data, dataset_sink_mode=False)
        self.assertEqual(found["mine"], 22)
        self.assertEqual(found["top5"], 1.0)
        logits = model.predict(Tensor(images(22)["image"])).asnumpy()
        self.assertAlmostEqual(found["acc"], float((logits.argmax(1) == images(22)["label"]).mean()), places=6)
        with self.assertRaisesRegex(ValueError, "'metrics' can not be None or empty"):
            model_of(Network()).eval(data)

    def test_the_same_seed_gives_the_same_bits(self):
        def trained(seed):
            set_seed(seed)
            network = Network()
            model_of(network).train(2, data_of(images(), shuffle=True), dataset_sink_mode=False)
            return [p.asnumpy().tobytes() for p in network.get_parameters()]

        self.assertEqual(trained(3), trained(3))
        self.assertNotEqual(trained(3), trained(4))

    def test_a_parameter_that_is_read_first_begins_no_otherwise(self):
        def trained(read):
            network = Network()
            if read:
                network.fc.weight.asnumpy()
            model_of(network).train(1, data_of(images()), dataset_sink_mode=False)
            return network.fc.weight.asnumpy().tobytes()

        for seed in (1, 0):
            set_seed(seed)
            self.assertEqual(trained(False), trained(True))

    def test_a_parameter_begins_as_an_initializer_that_was_set_says(self):
        def begun(set_first):
            network = Network()
            if not set_first:
                network(Tensor(images()["image"]))
            network.fc.weight.set_data(initializer.initializer(initializer.Normal(1e-6), network.fc.weight.shape))
            network.fc.bias.set_data(initializer.initializer("ones", [5]))
            output = network(Tensor(images()["image"])).asnumpy()
            return network.fc.weight.asnumpy(), output

        weight, output = begun(True)
        self.assertTrue(0 < np.abs(weight).max() < 1e-5)
        np.testing.assert_allclose(output, np.ones_like(output), atol=1e-3)
        for a, b in zip((weight, output), begun(False)):
            np.testing.assert_array_equal(a, b)
        with self.assertRaisesRegex(ValueError, "has the shape"):
            Network().fc.bias.set_data(initializer.initializer("ones", [4]))
        np.testing.assert_array_equal(nn.BatchNorm2d(3).gamma.asnumpy(), np.ones(3))  # of no net

    def test_sinks_run_on_a_device_that_has_a_queue_and_fall_back_elsewhere_with_a_warning(self):
        steps = {}

        def ends(**settings):
            context._warned.clear()
            context.set_context(**{"mode": context.GRAPH_MODE, "device_target": "CPU", **settings})
            seen = []

            class Ends(callbacks.Callback):
                def step_end(self, run_context):
                    seen.append(run_context.original_args().cur_step_num)

            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                network = Network()
                model_of(network).train(2, data_of(images()), Ends())
            steps[tuple(settings.items())] = [p.asnumpy() for p in network.get_parameters()]
            return seen, [str(w.message) for w in told]

        self.assertEqual(ends(device_target="simulated")[0], [6, 12])
        self.assertEqual(ends(), (list(range(1, 13)), ["CPU does not support dataset_sink_mode: the dataset is not sunk"]))
        seen, told = ends(mode=context.PYNATIVE_MODE, device_target="simulated")
        self.assertEqual(seen, list(range(1, 13)))
        self.assertEqual(len(told), 2)
        self.assertIn("PYNATIVE_MODE does not support dataset_sink_mode", told[1])
        sunk, _, stepped = steps.values()
        for a, b in zip(sunk, stepped):
            np.testing.assert_array_equal(a, b)

    def test_loss_scales_are_the_engines(self):
        for manager, setting in ((DynamicLossScaleManager(1024, 2, 50), "dynamic,1024,2,50"),
                                 (DynamicLossScaleManager(), "dynamic,16777216,2,2000"),
                                 (FixedLossScaleManager(64.0, drop_overflow_update=False), (64.0, False))):
            self.assertEqual(manager._setting(), setting)
            network = Network()
            optimizer = nn.Momentum(network.trainable_params(), 0.05, 0.9,
                                    loss_scale=64.0 if isinstance(manager, FixedLossScaleManager) else 1.0)
            Model(network, nn.SoftmaxCrossEntropyWithLogits(True, "mean"), optimizer, amp_level="O2",
                  loss_scale_manager=manager).train(1, data_of(images()), dataset_sink_mode=False)
        with self.assertRaisesRegex(ValueError, "loss scale must be at least 1"):
            FixedLossScaleManager(0.5)
        network = Network()
        with self.assertRaisesRegex(ValueError, "loss_scale=64"):
            Model(network, None, nn.Momentum(network.trainable_params(), 0.05, 0.9, loss_scale=64.0))

    def test_a_rate_of_steps_is_kept_to_the_millionth(self):
        rates = [0.1 * (i + 1) / 50 for i in range(50)]
        rates += [0.05 * (1 + np.cos(np.pi * (i // 50) / 10)) for i in range(500)]
        network = Network()
        optimizer = nn.Momentum(network.trainable_params(), Tensor(rates, ms.float32), 0.9)
        for i in (0, 1, 25, 49, 50, 99, 100, 349, 549, 10000):
            self.assertAlmostEqual(optimizer._rate.rate(i), rates[min(i, 549)], delta=2e-7)
        with self.assertRaisesRegex(ValueError, "straight lines, more than 512: .*Cosine"):
            nn.Momentum(network.trainable_params(), list(np.random.default_rng(1).random(5000)), 0.9)

    def test_groups_decay_and_freeze_by_parameter(self):
        network = Network()
        network.conv.weight.requires_grad = False
        weights = [p for p in network.trainable_params() if p.name.endswith("weight")]
        rest = [p for p in network.trainable_params() if not p.name.endswith("weight") and p.name != "scale"]
        optimizer = nn.SGD([{"params": weights, "weight_decay": 0.5}, {"params": rest, "lr": 0.0}], learning_rate=0.1)
        before = {name: p.asnumpy().copy() for name, p in network.parameters_and_names()}
        Model(network, nn.SoftmaxCrossEntropyWithLogits(True, "mean"), optimizer).train(
            1, data_of(images()), dataset_sink_mode=False)
        moved = {name for name, p in network.parameters_and_names() if not np.array_equal(p.asnumpy(), before[name])}
        self.assertEqual(moved, {"fc.weight", "norm.moving_mean", "norm.moving_variance"})

    def test_a_parameter_of_ones_own_that_is_not_trained_stays_whatever_its_name_is(self):
        class Scaled(nn.Cell):
            def __init__(self):
                super().__init__()
                self.net = Network()
                self.moving_mean = ms.Parameter(Tensor(2.0), requires_grad=False)

            def construct(self, x):
                return self.net(x) * self.moving_mean

        network = Scaled()
        model_of(network).train(1, data_of(images()), dataset_sink_mode=False)
        self.assertEqual(float(network.moving_mean), 2.0)

    def test_a_network_that_gives_its_own_loss_trains(self):
        class WithLoss(nn.Cell):
            def __init__(self, inner):
                super().__init__(auto_prefix=False)
                self.inner, self.loss = inner, nn.MSELoss()

            def construct(self, x, target):
                return self.loss(self.inner(x), target)

        inner = nn.Dense(2, 1)
        network = WithLoss(inner)
        self.assertEqual([p.name for p in network.trainable_params()], ["weight", "bias"])
        x = points()["point"]
        target = (x @ np.array([[2.0], [-1.0]], np.float32) + 0.5).astype(np.float32)
        inner.update_parameters_name("net.")
        model = Model(network, optimizer=nn.Adam(network.trainable_params(), 0.05))
        model.train(60, data_of({"x": x, "y": target}, 16), dataset_sink_mode=False)
        np.testing.assert_allclose(inner.weight.asnumpy(), [[2, -1]], atol=0.05)

    def test_stops_and_graphs_that_were_asked_for(self):
        class Stop(callbacks.Callback):
            def on_train_step_end(self, run_context):
                args = run_context.original_args()
                if args.cur_epoch_num == 1 and args.cur_step_num == 2:
                    run_context.request_stop()

        context.set_context(save_graphs=True, save_graphs_path=self.path("ir"))
        model = model_of(Network())
        model.train(1, data_of(images()), Stop(), dataset_sink_mode=False)
        self.assertEqual(model._steps(), 2)
        text = pathlib.Path(self.path("ir", "00_train_0000.ir")).read_text()
        self.assertRegex(text, r"#IR entry      : @\S+\n#attrs")
        self.assertIn("# In file " + __file__, text)


class Devices(unittest.TestCase):
    def test_a_rank_may_say_its_own_number_and_a_card_may_be_chosen_by_its(self):
        kept = dict(context._context)
        self.addCleanup(context._context.update, kept)
        with unittest.mock.patch.dict(os.environ, {"DEVICE_ID": "3"}):
            self.assertEqual(context.get_context("device_id"), 3)
            context.set_context(device_target="CPU", device_id=int(os.environ["DEVICE_ID"]))
            self.assertEqual(context.device(), "cpu")
            context.set_context(device_target="GPU", device_id=3)
            self.assertEqual(context.device(), "cuda")
            context.set_context(device_id=0)
            self.assertEqual((context.get_context("device_id"), context.device()), (0, "cuda:0"))
            with self.assertRaisesRegex(ValueError, r"'CPU' is one device, .*allowed: 3"):
                context.set_context(device_target="CPU", device_id=1)
            self.assertEqual(context.get_context("device_target"), "GPU")


class Files(Usual):
    def test_cells_are_saved_loaded_exported_and_asked(self):
        network, arrays = Network(), images(6)
        ms.save_checkpoint(network, self.path("n"))
        other = Network()
        self.assertEqual(ms.load_param_into_net(other, ms.load_checkpoint(self.path("n.ckpt"))), [])
        expected = network(Tensor(arrays["image"])).asnumpy()
        self.assertEqual(expected.shape, (6, 5))
        np.testing.assert_array_equal(other(Tensor(arrays["image"])).asnumpy(), expected)
        ms.save_checkpoint([{"name": "number", "data": Tensor(2.0)}], self.path("number"))
        self.assertEqual(ms.load_checkpoint(self.path("number.ckpt"))["number"].shape, ())
        ms.export(network, Tensor(arrays["image"]), file_name=self.path("m"), file_format="ONNX")
        ms.export(network, Tensor(arrays["image"]), file_name=self.path("m"))
        self.assertTrue(os.path.getsize(self.path("m.onnx")) > 0 and os.path.getsize(self.path("m.rdgm")) > 0)
        with self.assertRaisesRegex(ValueError, r"Illegal file format TXT, it must be one of \['RDGM', 'ONNX'\]"):
            ms.export(network, Tensor(arrays["image"]), file_name="x", file_format="TXT")
        with self.assertRaisesRegex(ValueError, "'MINDIR'.*'RDGM'"):
            ms.export(network, Tensor(arrays["image"]), file_name="x", file_format="MINDIR")

    def test_values_that_are_set_behind_a_training_are_evaluated_and_not_trained_silently(self):
        network = Network()
        ms.save_checkpoint(network, self.path("first.ckpt"))
        model = model_of(network, metrics={"loss"})
        data = data_of(images())
        before = model.eval(data)
        model.train(3, data, dataset_sink_mode=False)
        trained = model.eval(data)
        self.assertLess(trained["loss"], before["loss"])
        ms.load_param_into_net(network, ms.load_checkpoint(self.path("first.ckpt")))
        self.assertAlmostEqual(model.eval(data)["loss"], before["loss"], places=5)
        with self.assertRaisesRegex(RuntimeError, "a new Model trains"):
            model.train(1, data, dataset_sink_mode=False)

    def test_files_that_are_none_and_shapes_that_differ_are_refused(self):
        with self.assertRaisesRegex(ValueError, "does not exist"):
            ms.load_checkpoint(self.path("none.ckpt"))
        with open(self.path("mine.ckpt"), "wb") as file:
            file.write(b"\x0a\x10conv.weight....." * 20)
        with self.assertRaisesRegex(ValueError, "mine.ckpt.*converted there"):
            ms.load_checkpoint(self.path("mine.ckpt"))
        with self.assertRaisesRegex(RuntimeError, "same shape"):
            ms.load_param_into_net(Network(), {"fc.bias": ms.Parameter(np.zeros(4), name="fc.bias")})


if __name__ == "__main__":
    unittest.main()
