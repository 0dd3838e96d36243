"""Signatures and docstrings of what trains: defaults are those of C++, tables are shown whole, every argument is told."""

import importlib
import inspect
import re
import unittest

import ridgeline as rl
from ridgeline import _core

MODULES = ("nn", "nn.models", "optim", "train", "graph")


def public():
    """(name, function) of everything shown."""
    for name in MODULES:
        module = importlib.import_module("ridgeline." + name)
        for shown in module.__all__:
            value = getattr(module, shown)
            if inspect.isfunction(value):
                yield f"{name}.{shown}", value
            elif inspect.isclass(value) and value.__module__.startswith("ridgeline.") and "_core" not in value.__module__:
                for member, function in vars(value).items():
                    if inspect.isfunction(function) and (not member.startswith("_") or member == "__init__"):
                        yield f"{name}.{shown}.{member}", function


def plain(value):
    """One number where all are the same."""
    if isinstance(value, (list, tuple)) and value and all(v == value[0] for v in value):
        return value[0]
    return list(value) if isinstance(value, tuple) else value


class Types(unittest.TestCase):
    def defaults(self, function):
        return {p.name: p.default for p in inspect.signature(function).parameters.values()
                if p.default is not inspect.Parameter.empty}

    def test_defaults_of_layers_are_those_of_cpp(self):
        for name, known in _core.layer_defaults().items():
            given = self.defaults(getattr(rl.nn, name).__init__)
            for argument, value in known.items():
                with self.subTest(f"{name}: {argument}"):
                    if isinstance(value, list) and len(set(value)) > 1:
                        self.assertEqual(list(given[argument]), value)
                    else:
                        self.assertEqual(plain(given[argument]), plain(value))

    def test_defaults_of_models_are_those_of_cpp(self):
        known = _core.model_defaults()
        model, train = self.defaults(rl.train.Model.__init__), self.defaults(rl.train.Model.train)
        keeper = self.defaults(rl.train.Checkpoint.__init__)
        checked = set()
        for given, names in ((model, {}), (train, {}), (keeper, {"steps": "save_steps", "seconds": "save_seconds"})):
            for argument, value in given.items():
                if names.get(argument, argument) in known:
                    with self.subTest(argument):
                        self.assertEqual(value, known[names.get(argument, argument)])
                    checked.add(names.get(argument, argument))
        self.assertEqual(checked, set(known))

    def test_every_row_of_the_tables_is_a_function_with_its_arguments(self):
        from ridgeline.optim import spelled

        for table, skipped in ((_core.optimizer_table(), {"lr", "weight_decay", "decay_vectors", "groups"}),
                               (_core.schedule_table(), set())):
            self.assertGreater(len(table), 6)
            for entry in table:
                function = getattr(rl.optim, spelled(entry["name"]))
                with self.subTest(entry["name"]):
                    given = self.defaults(function)
                    self.assertEqual({k: plain(v) for k, v in given.items() if k not in skipped},
                                     {a["name"]: plain(a["default"]) for a in entry["args"]
                                      if a["name"] not in skipped})
                    self.assertIn(entry["doc"][1:], function.__doc__)
        self.assertEqual(set(rl.nn.models.__all__) - {"Net"}, {m["name"] for m in _core.model_table()})
        self.assertGreaterEqual(len(rl.graph.__all__), len(_core.op_table()) - 1)

    def test_every_public_function_has_a_docstring_that_tells_its_arguments(self):
        seen = 0
        for name, function in public():
            with self.subTest(name):
                text = inspect.getdoc(function) or ""
                if name.endswith("__init__"):
                    text = inspect.getdoc(getattr(importlib.import_module("ridgeline." + name.rsplit(".", 2)[0]),
                                                  name.split(".")[-2])) or ""
                self.assertTrue(text)
                seen += 1
        self.assertGreater(seen, 100)
        for owner, call in ((rl.train.Model, rl.train.Model.__init__), (rl.train.Model.train, rl.train.Model.train),
                            (rl.train.Checkpoint, rl.train.Checkpoint.__init__)):
            text = inspect.getdoc(owner)
            for parameter in inspect.signature(call).parameters:
                if parameter not in ("self", "batch_size"):
                    with self.subTest(f"{owner.__name__}: {parameter}"):
                        self.assertRegex(text, rf"\b{parameter}\b")

    def test_hand_written_functions_are_annotated(self):
        for name, function in public():
            if "models." in name or name.startswith("graph.") or "def _made" in (function.__doc__ or ""):
                continue
            if name.startswith("optim.") and name[6].isupper():
                continue  # made from the tables: the stubs have their types
            with self.subTest(name):
                signature = inspect.signature(function)
                for parameter in signature.parameters.values():
                    if parameter.name != "self":
                        self.assertIsNot(parameter.annotation, inspect.Parameter.empty, parameter.name)
                self.assertIsNot(signature.return_annotation, inspect.Signature.empty)

    def test_stubs_tell_what_the_package_has(self):
        import pathlib

        folder = pathlib.Path(rl.__file__).parent
        if not (folder / "_core.pyi").is_file():
            folder = pathlib.Path(_core.__file__).resolve().parents[2] / "bindings" / "python" / "stubs"
        if not (folder / "_core.pyi").is_file():
            self.skipTest("no stubs beside the package")
        for name, module in (("nn/models", rl.nn.models), ("optim/__init__", rl.optim), ("graph/__init__", rl.graph)):
            text = (folder / f"{name}.pyi").read_text()
            for shown in module.__all__:
                with self.subTest(f"{name}: {shown}"):
                    self.assertRegex(text, rf"\b{re.escape(shown)}\b")


class Rates(unittest.TestCase):
    def test_schedules_count_in_epochs_of_the_training(self):
        cosine = rl.optim.Cosine(0.05, warmup=1)
        rates = [cosine.rate(i, steps_per_epoch=10, epochs=4) for i in range(41)]
        self.assertAlmostEqual(rates[0], 0.005)
        self.assertAlmostEqual(rates[9], 0.05)
        self.assertAlmostEqual(rates[25], 0.025)
        self.assertAlmostEqual(rates[40], 0)
        self.assertAlmostEqual(rl.optim.Cosine(0.05, epochs=2).rate(10, steps_per_epoch=10, epochs=9), 0.025)

    def test_formulas_of_python_are_those_numbers(self):
        o = rl.optim
        model = rl.train.Model(lambda x: rl.nn.Dense(1)(x), loss=lambda y, label: rl.graph.reduce_mean(y * y),
                               optimizer=o.Sgd(lr=lambda i: o.where(i < 2, 0.5 * (i + 1) / 2,
                                                                    o.maximum(0.5 * o.exp(-i / 3), 0.01))))
        import numpy as np

        rates = []
        model.train(1, {"x": np.ones((6, 2), np.float32)}, batch_size=1,
                    callbacks=[lambda run: rates.append(run.learning_rate)])
        np.testing.assert_allclose(rates, [0.25, 0.5, *np.maximum(0.5 * np.exp(-np.arange(2, 6) / 3), 0.01)], rtol=1e-6)


if __name__ == "__main__":
    unittest.main()
