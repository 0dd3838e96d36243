"""Annotations are complete and name what exists; docstrings tell every argument, with its unit."""

import importlib
import inspect
import re
import unittest

from ridgeline import _core, data
from ridgeline.data import _generated, _types

MODULES = ("_graph", "_run", "_callables", "_loader", "_torchvision", "_worker_info")

# Arguments that are a quantity: what their text must name.
UNITS = {
    "memory_limit": "bytes", "jpeg_index_memory": "bytes", "inflate_limit": "bytes", "degrees": "degrees",
    "angle": "degrees", "timeout": "seconds", "window": "rows", "translate": "fraction|share|pixels", "sigma": "pixels",
    "padding": "pixels", "kernel_size": "pixels|odd",
}


def public():
    """(name, function) of everything that is written by hand and shown."""
    for module in MODULES:
        module = importlib.import_module("ridgeline.data." + module)
        for name, value in vars(module).items():
            if name.startswith("_") or getattr(value, "__module__", None) != module.__name__:
                continue
            if name not in data.__all__ and not inspect.isclass(value):
                continue
            if inspect.isfunction(value):
                yield name, value
            elif inspect.isclass(value) and name in data.__all__:
                for member, function in vars(value).items():
                    if isinstance(function, (staticmethod, classmethod)):
                        function = function.__func__
                    if isinstance(function, property):
                        yield f"{name}.{member}", function
                    elif inspect.isfunction(function) and (not member.startswith("_") or member.startswith("__")):
                        yield f"{name}.{member}", function


class Types(unittest.TestCase):
    def test_every_public_function_is_annotated_with_names_that_exist(self):
        seen = 0
        for name, function in public():
            if isinstance(function, property) or name.endswith(("__reduce__", "__init_subclass__")):
                continue
            with self.subTest(name):
                signature = inspect.signature(function)
                names = {**vars(_types), **vars(data), **vars(inspect.getmodule(function))}
                for parameter in signature.parameters.values():
                    if parameter.name == "self":
                        continue
                    self.assertIsNot(parameter.annotation, inspect.Parameter.empty, parameter.name)
                    eval(parameter.annotation, names)
                self.assertIsNot(signature.return_annotation, inspect.Signature.empty)
                eval(signature.return_annotation, names)
                seen += 1
        self.assertGreater(seen, 80)

    def test_every_public_function_has_a_docstring(self):
        for name, function in public():
            if not re.search(r"\.__\w+__$", name):
                with self.subTest(name):
                    self.assertTrue(inspect.getdoc(function))

    def test_every_argument_of_the_large_calls_is_told(self):
        for owner in (data.Iterator, data.DataLoader):
            text = inspect.getdoc(owner)
            for parameter in inspect.signature(owner.__init__).parameters:
                if parameter not in ("self", "batch_sampler", "worker_init_fn", "multiprocessing_context"):
                    with self.subTest(f"{owner.__name__}: {parameter}"):
                        self.assertRegex(text, rf"\b{parameter}\b")

    def test_an_iterator_takes_every_setting_of_the_engine_with_its_default(self):
        given = {p.name: p.default for p in inspect.signature(data.Iterator.__init__).parameters.values()}
        settings = _core.iterator_settings()
        self.assertEqual(set(given) - {"self", "dataset", "page_lock"}, set(settings))
        for name, (_, default) in settings.items():
            with self.subTest(name):
                self.assertEqual(list(given[name]) if isinstance(default, list) else given[name], default)

    def test_quantities_have_units(self):
        told = {}
        for f in _generated.functions(_core):
            for spec in f.args:
                told[f"{f.name}: {spec['name']}"] = spec["doc"]
        for owner in (data.Iterator, data.DataLoader, data.Dataset.cache, data.Dataset.with_hints, data.FromStream):
            for line in re.findall(r"^ *([\w, ]+: .*(?:\n {4,}.*)*)", inspect.getdoc(owner), re.M):
                for name in line.split(":")[0].split(", "):
                    told[f"{owner.__qualname__}: {name}"] = line.split(":", 1)[1]
        checked = 0
        for place, text in told.items():
            if unit := UNITS.get(place.split(": ")[1]):
                with self.subTest(place):
                    self.assertRegex(text, unit)
                    checked += 1
        self.assertGreater(checked, 15)


if __name__ == "__main__":
    unittest.main()
