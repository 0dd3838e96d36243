"""What those meet who come from PyTorch and try what they know."""

import re
import unittest
import warnings

import numpy as np

import ridgeline as rl
from ridgeline._instead import INSTEAD
from training_support import dense_model, points


def resolved(path):
    value = rl
    for name in path.split(".")[1:]:
        value = getattr(value, name)
    return value


class Names(unittest.TestCase):
    def test_names_that_are_elsewhere_tell_what_has_their_place(self):
        for call, told in ((lambda: rl.nn.Linear, r"no attribute 'Linear' \(rl.nn.Dense"),
                           (lambda: rl.nn.CrossEntropyLoss, "rl.nn.SoftmaxCrossEntropy"),
                           (lambda: rl.optim.SGD, "rl.optim.Momentum"),
                           (lambda: rl.optim.lr_scheduler, "a schedule is the lr of an optimizer"),
                           (lambda: rl.DataLoader, "rl.data.DataLoader"),
                           (lambda: rl.data.ToTensor, "rl.data.Normalize"),
                           (lambda: rl.data.WebDataset, "rl.data.Tar"),
                           (lambda: rl.train.EarlyStopping, "patience="),
                           (lambda: dense_model().fit, r"a Model has no attribute 'fit' \(train\(epochs, data\)"),
                           (lambda: dense_model().state_dict, "parameters"),
                           (lambda: rl.nn.models.resnet34, "did you mean resnet"),
                           (lambda: rl.nn.layernorm, "did you mean LayerNorm"),
                           (lambda: dense_model().tarin, "did you mean train")):
            with self.assertRaisesRegex(AttributeError, told):
                call()
        self.assertFalse(hasattr(rl.nn, "Linear"))
        with self.assertRaisesRegex(AttributeError, r"no attribute '_nothing'$"):
            rl.train._nothing

    def test_what_is_named_in_their_place_is_there_and_they_are_not(self):
        for module, names in INSTEAD.items():
            there = rl.train.Model if module == "Model" else resolved(module.replace("ridgeline", "rl"))
            for name, told in names.items():
                self.assertNotIn(name, dir(there), module)
                for path in re.findall(r"\brl(?:\.[A-Za-z_]+)+", told):
                    with self.subTest(f"{module}.{name}: {path}"):
                        resolved(path)


class Habits(unittest.TestCase):
    def test_labels_are_the_integers_that_numpy_and_pytorch_make(self):
        seen = []
        for dtype in (np.int32, np.int64):
            data = points()
            data["label"] = data["label"].astype(dtype)
            model = dense_model()
            model.train(2, data, batch_size=16, validation=data)
            told = model.eval(data, ["confusion_matrix"], batch_size=10)
            seen.append((told["loss"], told["top_1"], told["confusion_matrix"].tolist()))
        self.assertEqual(seen[0], seen[1])
        with self.assertRaisesRegex(rl.ArgumentError, "i32 or i64 .N.*it is f64"):
            dense_model().train(1, {**points(), "label": np.zeros(96)}, batch_size=16)

    def test_the_share_that_dropout_keeps_is_said_by_its_name(self):
        for layer in (rl.nn.Dropout, rl.nn.DropSamples):
            with self.assertRaises(TypeError):
                layer(0.1)
            self.assertEqual(layer(keep_prob=0.9).keep_prob, 0.9)

    def test_a_loop_of_trainings_of_one_epoch_each_is_told_that_its_schedule_is_over(self):
        def trained(lr):
            model = dense_model(optimizer=rl.optim.Momentum(lr=lr))
            for _ in range(3):
                model.train(1, points(), batch_size=16)

        with self.assertWarnsRegex(UserWarning, "over after epoch 1, .* goes on to epoch 2 with its last rate"):
            trained(rl.optim.Cosine(0.1))
        for lr in (0.1, rl.optim.Cosine(0.1, epochs=3), rl.optim.StepDecay(0.1), lambda i: 0.1 / (1 + i)):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                trained(lr)

    def test_columns_of_other_names_are_told(self):
        data = {"x": points()["point"], "y": points()["label"]}
        with self.assertRaisesRegex(rl.ArgumentError, "inputs= of the Model names .*labels= that of the loss"):
            dense_model().train(1, data, batch_size=16)
        self.assertEqual(dense_model(inputs=["x"], labels="y").train(1, data, batch_size=16).step, 6)


if __name__ == "__main__":
    unittest.main()
