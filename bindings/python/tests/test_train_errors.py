"""Wrong arguments: each is one clear error, which names what is allowed and the line of the user's program."""

import unittest

import numpy as np

import ridgeline as rl
from training_support import Folders, batches, dense_model, dense_net, pictures, points


class Errors(Folders):
    def refuses(self, text, call, kind=rl.ArgumentError):
        with self.subTest(text), self.assertRaisesRegex(kind, text):
            call()

    def test_models(self):
        self.refuses("momentun", lambda: rl.optim.Momentum(momentun=0.5), TypeError)
        self.refuses(r"\[0, 1\)", lambda: rl.optim.Momentum(momentum=1.5))
        self.refuses("must not be negative|not negative", lambda: rl.optim.Adam(weight_decay=-1))
        self.refuses("lr is 'fast'", lambda: rl.optim.Adam(lr="fast"))
        self.refuses("lr must be 0 or more", lambda: rl.optim.Cosine(-1))
        self.refuses("whole number", lambda: rl.optim.Cosine(0.1, warmup=1.5))
        self.refuses("no truth", lambda: rl.optim.Adam(lr=lambda i: 0.1 if i < 3 else 0.01))
        self.refuses("must lie in", lambda: rl.nn.SoftmaxCrossEntropy(1.0))
        self.refuses("num_classes is -3", lambda: rl.nn.models.resnet18(num_classes=-3))
        self.refuses("too small", lambda: rl.nn.models.alexnet(image_size=20))
        self.refuses("allowed", lambda: rl.nn.models.resnet18(init="zero"))
        self.refuses("cpu", lambda: dense_model(device="tpu"))
        self.refuses("precision", lambda: dense_model(precision="half"))
        self.refuses("fast", lambda: dense_model(reproducibility="exact"))
        self.refuses("'seed' is 'x'", lambda: dense_model(seed="x"))
        self.refuses("loss scale", lambda: dense_model(loss_scale=0.5))
        self.refuses("a net is", lambda: rl.train.Model(3), TypeError)
        self.refuses("optimizer is one of", lambda: rl.train.Model(dense_net, optimizer=0.1), TypeError)

    def test_trainings(self):
        self.refuses("epochs is 0", lambda: dense_model().train(0, batches()))
        self.refuses("not batched", lambda: dense_model().train(1, rl.data.InMemory(points())))
        self.refuses("batch_size", lambda: dense_model().train(1, points()), ValueError)
        self.refuses("no column 'target'", lambda: dense_model(labels="target", inputs=["target"]).train(1, batches()))
        self.refuses("needs labels", lambda: dense_model(inputs=["point"], labels="class").train(1, batches()))
        self.refuses("no optimizer", lambda: rl.train.Model(
            dense_net, loss=rl.nn.SoftmaxCrossEntropy()).train(1, batches()))
        self.refuses("no loss", lambda: rl.train.Model(dense_net).train(1, batches()))
        self.refuses("did you mean", lambda: dense_model().train(1, batches(), data_options={"memory_limits": 1}))
        self.refuses("validation", lambda: dense_model().train(1, batches(), patience=2))
        model = dense_model()
        model.train(1, batches())
        self.refuses("batches point", lambda: model.train(1, batches(96, 8)))
        self.refuses("before the first train", lambda: model.load(model.parameters()))
        self.refuses("no folder", lambda: model.train(1, batches(), callbacks=[rl.train.Checkpoint(self.path("x"))]))
        self.refuses("one Checkpoint", lambda: dense_model().train(
            1, batches(), callbacks=[rl.train.Checkpoint("a"), rl.train.Checkpoint("b")]), ValueError)
        keeper = rl.train.Checkpoint(self.path("run"))
        dense_model().train(1, batches(), callbacks=[keeper])
        self.refuses("set_seed|another network|of the network", lambda: dense_model(seed=2).train(
            1, batches(), callbacks=[keeper]), rl.Error)
        first = dense_model()
        first.train(1, batches(), callbacks=[rl.train.Checkpoint(self.path("both"))])
        self.refuses("both", lambda: dense_model().train(
            1, batches(), callbacks=[rl.train.Checkpoint(self.path("both"))]), rl.Error)

    def test_a_loss_that_is_not_finite_ends_the_run(self):
        data = points()
        data["point"][5] = np.inf
        with self.assertRaisesRegex(rl.RunError, "step 1"):
            dense_model().train(1, rl.data.InMemory(data).batch(96))

    def test_errors_of_a_net_name_the_line_of_python(self):
        def net(x):
            x = rl.nn.Dense(8)(x)
            return rl.graph.conv2d(x, x)  # here

        line = net.__code__.co_firstlineno + 2
        self.refuses(rf"\[conv2d\].*test_train_errors.py:{line}\)", lambda: dense_model(net).train(1, batches()))

        def widths(x):
            y = rl.nn.Dense(8)(x)
            return y + rl.nn.Dense(7)(x)

        line = widths.__code__.co_firstlineno + 2
        self.refuses(rf"\[add\].*test_train_errors.py:{line}\)", lambda: dense_model(widths).train(1, batches()))

        def groups(x):
            return rl.nn.Conv(8, groups=5)(x)

        line = groups.__code__.co_firstlineno + 1
        self.refuses(rf"groups=5.*test_train_errors.py:{line}\)",
                     lambda: dense_model(groups).train(1, rl.data.InMemory(pictures(dtype=np.float32)).batch(4)))

        def branches(x):
            return x if x else -x

        line = branches.__code__.co_firstlineno + 1
        self.refuses(rf"where.*test_train_errors.py:{line}\)", lambda: dense_model(branches).train(1, batches()))

        def raises(x):
            raise KeyError("mine")

        self.refuses("mine", lambda: dense_model(raises).train(1, batches()), KeyError)

        def unused(x):
            rl.nn.Dense(4, name="idle")(x)
            return rl.nn.Dense(3)(x)

        line = unused.__code__.co_firstlineno + 1
        self.refuses(rf"idle.weight.*test_train_errors.py:{line}\)", lambda: dense_model(unused).train(1, batches()),
                     rl.Error)

    def test_nets(self):
        self.refuses("two layers are called 'a'", lambda: dense_model(
            lambda x: rl.nn.Dense(3, name="a")(rl.nn.Dense(4, name="a")(x))).train(1, batches()))
        self.refuses("the layer dense is called where no model is built", lambda: rl.nn.Dense(3)(1.0))
        self.refuses(r"^parameter\(\) is called where no model is built", lambda: rl.nn.parameter("scale", [3]))
        self.refuses("one value of the graph", lambda: dense_model(lambda x: 3).train(1, batches()))
        self.refuses("unknown activation", lambda: dense_model(
            lambda x: rl.nn.Dense(3, activation="swish")(x)).train(1, batches()))
        self.refuses("unknown rule", lambda: dense_model(
            lambda x: rl.nn.Dense(3, weight_init="xavier")(x)).train(1, batches()))
        self.refuses("height and width", lambda: dense_model(
            lambda x: rl.nn.Conv(3, kernel="a")(x)).train(1, rl.data.InMemory(pictures()).batch(4)))
        self.refuses("must be floating", lambda: dense_model(
            rl.nn.Sequential(rl.nn.Conv(4), rl.nn.GlobalAvgPool(), rl.nn.Dense(3))).train(
                1, rl.data.InMemory(pictures()).batch(4)))
        self.refuses("a number a row", lambda: dense_model(
            loss=lambda outputs, labels: outputs).train(1, batches()))
        self.refuses("drop_remainder", lambda: dense_model(
            loss=lambda outputs, labels: rl.graph.reduce_mean(outputs)).train(1, batches(50, 16)))
        self.refuses("images u8 or normalised", lambda: rl.train.Model(
            rl.nn.models.resnet20(), loss=rl.nn.SoftmaxCrossEntropy(),
            optimizer=rl.optim.Sgd()).train(1, rl.data.InMemory(points()).batch(4)), rl.Error)

    def test_weights_and_predictions(self):
        self.refuses("follow from data", lambda: dense_model().parameters())
        model = dense_model(input_shape=[2], inputs=["point"])
        self.assertEqual(model.parameters()["hidden.weight"].shape, (8, 2))
        self.refuses("hidden.bias", lambda: model.load({"hidden.weight": np.zeros((8, 2), np.float32)}), rl.Error)
        self.refuses(r"f32\[8,3\]", lambda: model.load({"hidden.weight": np.zeros((8, 3), np.float32)}), rl.Error)
        match = model.load({"hidden.weight": np.zeros((8, 2), np.float64)}, strict=False)
        self.assertEqual(match.loaded, ["hidden.weight"])
        self.assertFalse(model.parameters()["hidden.weight"].any())
        self.refuses("any number of rows", lambda: model.predict(np.zeros((4, 3), np.float32)))
        self.refuses("ending", lambda: model.export(self.path("x.pt")))
        self.refuses("nowhere", lambda: model.load(self.path("nowhere.safetensors")), rl.Error)
        self.refuses("give it arrays", lambda: model.predict(self.path("photo.jpg")))


if __name__ == "__main__":
    unittest.main()
