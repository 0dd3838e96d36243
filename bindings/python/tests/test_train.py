"""Trainings: what they learn, how they go on, what comes out of them."""

import os
import subprocess
import sys
import unittest

import numpy as np

import ridgeline as rl
from support import run_python
from training_support import EXAMPLES, Folders, Losses, batches, checkpoints, dense_model, dense_net, pictures, points


class Training(Folders):
    def test_a_net_learns_and_evaluates_and_predicts(self):
        model = dense_model()
        result = model.train(20, batches())
        self.assertEqual(result.step, 120)
        self.assertFalse(result.interrupted)
        means = model.eval(batches())
        self.assertEqual(means["rows"], 96)
        self.assertGreater(means["top_1"], 0.95)
        data = points()
        found = model.predict(data["point"])
        self.assertEqual(found["probabilities"].shape, (96, 3))
        np.testing.assert_allclose(found["probabilities"].sum(1), 1, rtol=1e-5)
        self.assertEqual((found["logits"].argmax(1) == data["label"]).mean(), means["top_1"])

    def test_predictions_do_not_depend_on_how_many_rows_are_asked_at_once(self):
        model = dense_model()
        model.train(1, batches())
        rows = points(77)["point"]
        together = model.predict({"point": rows})["logits"]
        np.testing.assert_allclose(np.concatenate([model.predict(rows[i:i + 1])["logits"] for i in range(5)]),
                                   together[:5], rtol=1e-6, atol=1e-6)

    def test_two_calls_are_one_long_training(self):
        one, two = dense_model(), dense_model()
        one.train(6, batches())
        two.train(2, batches())
        two.train(4, batches())
        for name, values in one.parameters().items():
            self.assertTrue(np.array_equal(values, two.parameters()[name]), name)

    def test_a_run_goes_on_from_its_checkpoint_in_another_model(self):
        undisturbed = dense_model()
        undisturbed.train(4, batches(), callbacks=[rl.train.Checkpoint(self.path("one"))])
        first = dense_model()
        first.train(2, batches(), callbacks=[rl.train.Checkpoint(self.path("two"))])
        del first
        second = dense_model()
        end = second.train(2, batches(), callbacks=[rl.train.Checkpoint(self.path("two"))])
        self.assertEqual(end.step, 12)  # done already
        end = second.train(2, batches(), callbacks=[rl.train.Checkpoint(self.path("two"))])
        self.assertEqual(end.step, 24)
        name = "model.ckpt-24.safetensors"
        self.assertEqual(checkpoints(self.path("one"))[name], checkpoints(self.path("two"))[name])

    def test_loops_and_workers_change_no_bit(self):
        losses = []
        for loop, workers in ((1, 1), (7, 2), (100, 3)):
            model, seen = dense_model(), Losses()
            model.train(3, batches(), callbacks=[seen], loop=loop, workers=workers)
            losses.append(seen.values)
        self.assertEqual(losses[0], losses[1])
        self.assertEqual(losses[0], losses[2])

    def test_rows_of_a_last_batch_that_is_not_full_count_as_others(self):
        def net(x):  # no batch norm: the order of rows does not matter
            return rl.nn.Dense(3, name="out", weight_init="zeros", bias_init="zeros")(x)

        # One step over all rows of one batch, and of a batch that is two rows longer than the data.
        data = points(14)
        whole, padded = (dense_model(net, optimizer=rl.optim.Sgd(lr=0.5, weight_decay=0)) for _ in range(2))
        whole.train(1, rl.data.InMemory(data).batch(14))
        padded.train(1, rl.data.InMemory(data).batch(16))
        for name, values in whole.parameters().items():
            np.testing.assert_allclose(values, padded.parameters()[name], rtol=1e-5, atol=1e-6)

    def test_arrays_are_shuffled_and_batched(self):
        by_arrays, by_dataset = dense_model(), dense_model()
        by_arrays.train(2, points(), batch_size=16)
        by_dataset.train(2, batches())
        for name, values in by_arrays.parameters().items():
            self.assertTrue(np.array_equal(values, by_dataset.parameters()[name]))

    def test_the_best_evaluation_keeps_its_checkpoint_and_patience_ends_the_run(self):
        model = dense_model(optimizer=rl.optim.Momentum(lr=0.0))
        end = model.train(10, batches(), validation=batches(33, 8), patience=2,
                          callbacks=[rl.train.Checkpoint(self.path("run"))])
        self.assertEqual(end.step, 3 * 6)
        self.assertEqual(end.best_path, self.path("run", "model.ckpt-6.safetensors"))
        self.assertEqual(end.evaluation["rows"], 33)

    def test_evaluations_take_batches_of_any_size(self):
        model = dense_model()
        model.train(2, batches())
        expected = model.eval(batches(90, 16))
        for batch in (7, 90):
            self.assertAlmostEqual(model.eval(batches(90, batch))["loss"], expected["loss"], places=5)
            self.assertEqual(model.eval(batches(90, batch))["top_1"], expected["top_1"])

    def test_metrics_by_name_and_written_in_python(self):
        class Seen:
            name = "seen"

            def clear(self):
                self.rows = 0

            def update(self, inputs, outputs, mask):
                self.rows += int(mask.sum())
                assert outputs["logits"].shape[0] == inputs["labels"].shape[0]

            def value(self):
                return self.rows

        model = dense_model()
        model.train(5, batches())
        means = model.eval(batches(50, 16), metrics=["accuracy", "confusion_matrix", Seen()])
        self.assertEqual(means["seen"], 50)
        self.assertAlmostEqual(means["accuracy"], means["top_1"])
        self.assertEqual(means["confusion_matrix"].shape, (3, 3))
        with self.assertRaisesRegex(rl.ArgumentError, "accuracy"):
            model.eval(batches(), metrics=["acuracy"])

    def test_a_model_of_the_table_trains_on_pixels_and_is_exported(self):
        model = rl.train.Model(rl.nn.models.resnet20(num_classes=3), loss=rl.nn.SoftmaxCrossEntropy(0.1),
                               optimizer=rl.optim.Momentum(lr=0.05), class_names=["red", "green", "blue"])
        data = pictures(24)
        model.train(2, rl.data.InMemory(data).shuffle().batch(8))
        model.export(self.path("net.rdgm"))
        model.export(self.path("net.onnx"))
        model.export(self.path("net.safetensors"))
        self.assertTrue(all(os.path.getsize(self.path("net." + end)) > 1000 for end in ("rdgm", "onnx", "safetensors")))
        again = rl.train.Model(rl.nn.models.resnet20(num_classes=3, image_size=32))
        again.load(self.path("net.safetensors"))
        other = rl.train.Model(rl.nn.models.resnet20(num_classes=3, image_size=32))
        other.load(self.path("net.rdgm"))
        logits = model.predict(data["image"])["logits"]
        np.testing.assert_array_equal(again.predict(data["image"])["logits"], logits)
        np.testing.assert_array_equal(other.predict(data["image"])["logits"], logits)

    def test_a_file_is_predicted_by_the_names_of_classes(self):
        try:
            from PIL import Image
        except ImportError:
            self.skipTest("no Pillow")
        rng = np.random.default_rng(1)
        Image.fromarray(rng.integers(0, 256, (40, 50, 3), dtype=np.uint8)).save(self.path("photo.jpg"))
        model = rl.train.Model(rl.nn.models.resnet20(num_classes=3), class_names=["red", "green", "blue"])
        found = model.predict(self.path("photo.jpg"))
        self.assertEqual({c.name for c in found}, {"red", "green", "blue"})
        self.assertAlmostEqual(sum(c.probability for c in found), 1, places=5)
        self.assertEqual([c.probability for c in found], sorted((c.probability for c in found), reverse=True))
        with self.assertRaisesRegex(rl.Error, "nothing.jpg"):
            model.predict(self.path("nothing.jpg"))

    def test_losses_and_rates_written_in_python(self):
        def squares(outputs, labels):
            return rl.graph.reduce_sum((outputs - labels) * (outputs - labels), axes=[1])

        rng = np.random.default_rng(2)
        x = rng.normal(size=(64, 4)).astype(np.float32)
        weights = np.array([[1.0], [-2.0], [3.0], [0.5]], np.float32)
        data = {"x": x, "label": x @ weights}
        model = rl.train.Model(rl.nn.Sequential(rl.nn.Dense(1)), loss=squares,
                               optimizer=rl.optim.Sgd(lr=lambda i: 0.1 / (1 + rl.optim.floor(i / 40)), weight_decay=0))
        rates = []
        model.train(20, data, batch_size=8, callbacks=[lambda run: rates.append(run.learning_rate)])
        np.testing.assert_allclose(model.parameters()["0.weight"], weights.T, atol=1e-3)
        self.assertAlmostEqual(rates[39], 0.1, places=6)
        self.assertAlmostEqual(rates[40], 0.05, places=6)
        self.assertLess(model.eval(data, batch_size=10)["loss"], 1e-4)


class SameBits(Folders):
    """The same training in C++ and in Python."""

    def program(self):
        from support import ROOT

        named = os.environ.get("RIDGELINE_TRAIN_RESUMED")
        path = named or ROOT / "build-python" / "example_train_resumed"
        if not os.path.isfile(path):
            self.skipTest("no build-python/example_train_resumed: scripts/wheel.sh --develop builds it")
        return str(path)

    def run_example(self, folder):
        return run_python(f"import runpy, sys; sys.argv[0] = 'x'; runpy.run_path({str(EXAMPLES / 'train_resumed.py')!r}, "
                          "run_name='__main__')", folder, timeout=300)

    def test_a_training_in_python_leaves_the_checkpoints_of_the_same_one_in_cpp(self):
        done = subprocess.run([self.program(), self.path("cpp")], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        ran = self.run_example(self.path("python"))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        here, there = checkpoints(self.path("python")), checkpoints(self.path("cpp"))
        self.assertGreater(len(here), 2)
        self.assertEqual(here.keys(), there.keys())
        for name, content in here.items():
            self.assertEqual(content, there[name], name)
        self.assertEqual(ran.stdout.split(",")[0], done.stdout.split(",")[0])


if __name__ == "__main__":
    unittest.main()
