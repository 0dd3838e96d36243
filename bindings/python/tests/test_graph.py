"""Graphs: the same names, JSON and samples as in C++; mistakes are exceptions that name the argument."""

import json
import pathlib
import pickle
import random
import re
import subprocess
import tempfile
import unittest

import numpy as np

import ridgeline
from ridgeline import data

from support import ROOT, Folder, binary, digest_of


def made_with_defaults(name):
    """A call of every transform with the arguments that it must have."""
    given = {"RandomResizedCrop": (24,), "Resize": ((24, 24),), "CenterCrop": (20,), "Crop": (2, 3, 20),
             "RandomCrop": (20,), "Normalize": ((0.5, 0.4, 0.3), (0.2, 0.3, 0.4)), "GaussianBlur": (3,),
             "Posterize": (3,), "RandomPosterize": (3,), "Solarize": (100,), "RandomSolarize": (100,),
             "Rotate": (30,), "RandomRotation": (30,), "RandomAffine": (10,), "Pad": (2,), "CutOut": (5,),
             "TypeCast": ("f32",), "Rescale": (0.5,), "OneHot": (5,), "RandomSharpness": (2.0,),
             "AdjustBrightness": (0.5,), "AdjustContrast": (0.5,), "AdjustSaturation": (0.5,),
             "AdjustSharpness": (0.5,), "AdjustHue": (0.1,), "Compose": ([data.Invert()],),
             "RandomApply": ([data.Invert()],), "RandomChoice": ([data.Invert(), data.Equalize()],),
             "RandomOrder": ([data.Invert(), data.Equalize()],), "RandomShortestSize": ([20, 30],),
             "RandomResize": (20, 30), "ScaleJitter": ((20, 30),)}
    return getattr(data, name)(*given.get(name, ()))


class Names(unittest.TestCase):
    def test_every_function_of_the_cpp_headers_is_there(self):
        root = ROOT / "ridgeline" / "data"
        if not root.is_dir():
            self.skipTest("no sources beside the tests")
        names = set()
        # What users include includes all that they may call.
        lists = [root / "transform" / "transforms.h", root / "source" / "sources.h", root / "api" / "dataset.h"]
        included = {name for path in lists for name in re.findall(r'#include "(ridgeline/data/.*)"', path.read_text())}
        for header in [ROOT / name for name in sorted(included)]:
            names |= set(re.findall(r"^(?:Transform|Dataset|Sampler) ([A-Z]\w+)\(", header.read_text(), re.M))
        self.assertGreater(len(names), 60)
        missing = {n for n in names if not hasattr(data, n)}
        self.assertEqual(missing, set())

    def test_every_entry_of_the_tables_has_a_function_with_a_docstring(self):
        from ridgeline import _core
        from ridgeline.data import _generated

        functions = _generated.functions(_core)
        self.assertGreater(len(functions), 60)
        for f in functions:
            with self.subTest(f.name):
                self.assertIn(f.name, data.__all__)
                for spec in f.args:
                    self.assertIn(spec["name"] + ":", getattr(data, f.name).__doc__)

    def test_the_stub_has_every_function_and_its_arguments(self):
        stub = pathlib.Path(data.__file__).with_name("__init__.pyi")
        if not stub.is_file():
            self.skipTest("the package was not installed by its build")
        text = stub.read_text()
        import ast

        defined = {n.name: n for n in ast.parse(text).body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
        shown = {a.asname for n in ast.parse(text).body if isinstance(n, ast.ImportFrom) for a in n.names}
        for name in data.__all__:
            self.assertTrue(name in defined or name in shown or name == "Normalize", name)
        self.assertIn("size", [a.arg for a in defined["RandomResizedCrop"].args.args])
        self.assertIn("Literal['nearest'", text)


class Json(Folder):
    def test_every_transform_is_the_same_after_json(self):
        from ridgeline import _core

        for entry in _core.transform_table():
            name = __import__("ridgeline.data._generated", fromlist=["camel"]).camel(entry["op"])
            # Some need columns beside the image.
            if entry["op"] in ("function", "clip_boxes", "random_iou_crop", "note_geometry") or entry["whole_batch"]:
                continue
            with self.subTest(name):
                transform = made_with_defaults(name)
                source = data.ImageFolder(self.dir)
                column = "label" if name == "OneHot" else "image"
                made = source.map_columns([column], transform)
                again = data.Dataset.from_json(made.to_json())
                self.assertEqual(again.to_json(), made.to_json())
                self.assertEqual(again.hash(), made.hash())
                self.assertEqual(json.loads(made.to_json())["schema"], "data-graph")
                self.assertEqual(pickle.loads(pickle.dumps(made)).to_json(), made.to_json())

    def test_the_command_line_writes_the_same_json(self):
        made = self.pipeline()
        with tempfile.TemporaryDirectory() as work:
            graph = f"{work}/graph.json"
            pathlib.Path(graph).write_text(made.to_json())
            out = subprocess.run([binary(), "dataset", "show", "--graph", graph, "--json", "--before"], text=True,
                                 capture_output=True, check=True).stdout
        self.assertEqual(json.loads(out), json.loads(made.to_json()))
        self.assertEqual(data.Dataset.from_json(out).hash(), made.hash())
        self.assertEqual(out.strip(), made.to_json(indent=2))

    def test_the_command_line_makes_the_same_samples(self):
        """Random chains, both from Python's JSON; and the standard pipeline, each side with its own calls."""
        draw = random.Random(3)
        u8 = [lambda: data.RandomHorizontalFlip(draw.random()), lambda: data.RandomVerticalFlip(),
              lambda: data.RandomRotation(draw.randrange(90)), lambda: data.ColorJitter(0.4, 0.3, 0.2, 0.1),
              lambda: data.RandAugment(), lambda: data.GaussianBlur(3), lambda: data.RandomErasing(1),
              lambda: data.RandomApply([data.Invert(), data.Solarize(99)], 0.5), lambda: data.Grayscale(3),
              lambda: data.RandomPerspective(), lambda: data.CutOut(7)]
        graphs = []
        for i in range(12):
            made = data.ImageFolder(self.dir)
            if draw.random() < 0.5:
                made = made.filter(data.is_in("label", [0, 2]))
            made = made.shuffle(buffer=draw.choice([0, 0, 6]))
            made = made.map(draw.choice([data.RandomResizedCrop(20), data.Resize((21, 19))]),
                            *[f() for f in draw.choices(u8, k=draw.randrange(4))])
            if draw.random() < 0.5:
                made = made.map(data.Normalize.imagenet())
            graphs.append(made.batch(draw.choice([3, 8]), drop_remainder=draw.random() < 0.5).with_seed(i))
        for made in graphs:
            with self.subTest(made.to_text()), tempfile.TemporaryDirectory() as work:
                graph = f"{work}/graph.json"
                pathlib.Path(graph).write_text(made.to_json())
                out = subprocess.run([binary(), "dataset", "bench", "--graph", graph, "--hash", "--json", "--epochs",
                                      "2"], text=True, capture_output=True, check=True).stdout
                self.assertEqual(digest_of(data.Iterator(made, epochs=2, pad_last=True)), json.loads(out)["hash"])

    def test_the_standard_pipeline_of_the_command_line_is_that_of_python(self):
        out = subprocess.run([binary(), "dataset", "bench", "--data_dir", self.dir, "--image_size", "24",
                              "--batch_size", "8", "--seed", "5", "--hash", "--json"], text=True, capture_output=True)
        self.assertEqual(out.returncode, 0, out.stderr)
        made = (data.ImageFolder(self.dir).shuffle()
                .map(data.RandomResizedCrop(24), data.RandomHorizontalFlip(), data.Normalize.imagenet())
                .batch(8, drop_remainder=True).with_seed(5))
        self.assertEqual(digest_of(data.Iterator(made)), json.loads(out.stdout)["hash"])


class Calls(Folder):
    def test_lengths_columns_and_classes(self):
        folder = data.ImageFolder(self.dir)
        self.assertEqual(len(folder), 30)
        self.assertEqual(folder.columns(), [("image", "bytes", ()), ("label", "i32", ())])
        self.assertEqual(folder.class_names(), ["class0", "class1", "class2"])
        self.assertEqual(folder.num_classes(), 3)
        batched = folder.map(data.Resize((8, 9))).batch(8)
        self.assertEqual((len(batched), batched.num_samples(), batched.batch_size()), (4, 30, 8))
        self.assertEqual(batched.columns()[0], ("image", "u8", (8, 8, 9, 3)))
        filtered = folder.filter(data.compare("label", "equal", 1))
        self.assertEqual(filtered.size(), data.kUnknown)
        with self.assertRaisesRegex(TypeError, "not known"):
            len(filtered)
        self.assertEqual(folder.repeat().size(), data.kForever)

    def test_every_order_node_sampler_and_join(self):
        rows = data.InMemory({"x": np.arange(10), "name": [b"%d" % i for i in range(10)]})

        def values(made):
            return [int(v) for batch in data.Iterator(made.batch(1)) for v in batch["x"][batch["mask"] > 0]]

        self.assertEqual(values(rows.skip(2).take(3)), [2, 3, 4])
        self.assertEqual(values(rows.shard(3, 1)), [1, 4, 7])
        self.assertEqual(values(rows.take(2).repeat(2)), [0, 1, 0, 1])
        self.assertEqual(values(rows.sample(data.SequentialSampler(3, 2))), [3, 4])
        self.assertEqual(values(rows.sample(data.SubsetSampler([7, 1]))), [7, 1])
        self.assertEqual(sorted(values(rows.sample(data.SubsetRandomSampler([7, 1])))), [1, 7])
        self.assertEqual(sorted(values(rows.sample(data.RandomSampler()))), list(range(10)))
        self.assertEqual(values(rows.sample(data.WeightedRandomSampler([0] * 9 + [1], count=3))), [9, 9, 9])
        self.assertEqual(len(values(rows.sample(data.DistributedSampler(3, 0)))), 4)
        self.assertEqual(values(rows.filter(data.is_in("name", ["3", b"5"]))), [3, 5])
        self.assertEqual(values(rows.filter(data.compare("x", "greater", 7))), [8, 9])
        self.assertEqual(values(rows.filter(data.is_not_in("x", range(9)))), [9])
        self.assertEqual(sorted(values(rows.shuffle())), list(range(10)))
        self.assertEqual(values(rows.cache()), list(range(10)))
        self.assertEqual(values(data.concat([rows.take(1), rows.skip(9)])), [0, 9])
        self.assertEqual(len(values(data.mix([rows, rows], [1, 3], count=12))), 12)
        both = data.zip([rows.project(["x"]), rows.project(["x"]).rename({"x": "y"})])
        self.assertEqual([name for name, _, _ in both.columns()], ["x", "y"])
        buckets = rows.project(["name"]).bucket("name", [2], [3, 1])
        self.assertEqual(sum(b.samples for b in data.Iterator(buckets)), 10)

    def test_mistakes_name_the_argument(self):
        folder = data.ImageFolder(self.dir)
        for call, words in [
            (lambda: data.Resize("a"), "argument 'size' is 'a'"),
            (lambda: data.Resize(0), "size is 0"),
            (lambda: data.Resize(8, interpolation="bilinar"), "did you mean 'bilinear'"),
            (lambda: data.RandomHorizontalFlip(p=2), r"p is 2, it must be between 0 and 1"),
            (lambda: data.RandomHorizontalFlip(p=True), "argument 'p' is True"),
            (lambda: data.Normalize([0.5], [0, 1]), "mean has 1 and std 2"),
            (lambda: data.Normalize([float("nan")] * 3, [1, 1, 1]), "must be finite"),
            (lambda: data.ImageFolder(3), "argument 'dir' is 3"),
            (lambda: data.ImageFolder(self.dir, extensions=[1]), "argument 'extensions'"),
            (lambda: folder.batch(0), "size is 0"),
            (lambda: folder.batch(2 ** 70), "does not fit"),
            (lambda: folder.map(data.Resize(8)).batch(4), "no common shape"),
            (lambda: folder.map("flip"), "map takes transforms"),
            (lambda: folder.project(["labl"]), "did you mean 'label'"),
            (lambda: folder.sample("random"), "sample takes a sampler"),
            (lambda: data.Iterator(folder, worker=3), None),
            (lambda: data.Iterator(folder.map(data.Resize((8, 8))).batch(4), workers=-1), "workers is -1"),
            (lambda: data.Iterator(folder.map(data.Resize((8, 8))).batch(4), epochs="3"), "argument 'epochs' is '3'"),
            (lambda: data.InMemory({"x": 3}), "single number"),
            (lambda: data.InMemory({"x": np.zeros(3, np.complex64)}), "complex64"),
            (lambda: data.Dataset.from_json("{}"), "schema"),
        ]:
            with self.subTest(words):
                with self.assertRaises((ridgeline.Error, TypeError)) as caught:
                    call()
                if words:
                    self.assertRegex(str(caught.exception), words)

    def test_kinds_of_exceptions(self):
        with self.assertRaises(ValueError):
            data.Resize(0)
        with self.assertRaises(RuntimeError) as caught:
            len(data.ImageFolder("/no/such/folder"))
        self.assertIsInstance(caught.exception, ridgeline.Error)
        self.assertIn("/no/such/folder", str(caught.exception))
        with self.assertRaises(TypeError):
            data.Resize(8, sze=3)

    def test_paths_are_bytes(self):
        import os
        import shutil

        strange = os.fsencode(self.dir) + b"/caf\xe9 \xff"
        shutil.copytree(f"{self.dir}/class0", os.fsdecode(strange + b"/a"))
        try:
            for path in (strange, os.fsdecode(strange), pathlib.Path(os.fsdecode(strange))):
                made = data.ImageFolder(path)
                self.assertEqual(len(made), 9)
                self.assertEqual(len(data.Dataset.from_json(made.to_json())), 9)
        finally:
            shutil.rmtree(strange)

    def test_show_draws_both_graphs(self):
        with tempfile.TemporaryDirectory() as work:
            import contextlib
            import io

            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                self.pipeline().show(svg=f"{work}/graph.svg")
            self.assertIn("random_resized_crop(size=[24])", out.getvalue())
            self.assertIn("after the passes", out.getvalue())
            self.assertIn("<svg", pathlib.Path(f"{work}/graph.svg").read_text())

    def test_rows_are_saved_and_read_again(self):
        with tempfile.TemporaryDirectory() as work:
            made = data.ImageFolder(self.dir).map(data.Resize((6, 5)))
            self.assertEqual(made.save(f"{work}/rows.ridge"), 30)
            again = data.Packed(f"{work}/rows.ridge")
            self.assertEqual(digest_of(data.Iterator(again.batch(7))), digest_of(data.Iterator(made.batch(7))))


if __name__ == "__main__":
    unittest.main()
