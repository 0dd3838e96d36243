"""Python functions and rows inside graphs: called by workers, named, let go again; what they raise is named."""

import gc
import os
import tempfile
import unittest
import weakref

import numpy as np

import ridgeline
from ridgeline import data

from support import Folder, digest_of, jpeg, threads


class Functions(Folder):
    def test_a_function_sees_pixels_and_gives_another_type_and_shape(self):
        def mean(pixels):
            assert pixels.dtype == np.uint8 and pixels.shape == (20, 21, 3)
            return pixels.mean(axis=(0, 1), dtype=np.float64).astype(np.float32)

        made = data.ImageFolder(self.dir).map(data.Resize((20, 21)))
        plain = next(data.Iterator(made.batch(5)))["image"]
        got = next(data.Iterator(made.map(data.Function(mean, "f32", (3,))).batch(5), workers=3))["image"]
        self.assertEqual((got.dtype, got.shape), (np.float32, (5, 3)))
        self.assertTrue(np.allclose(got, plain.mean(axis=(1, 2))))

    def test_functions_of_bytes_and_of_labels(self):
        made = (data.ImageFolder(self.dir)
                .map(data.Function(lambda encoded: encoded[:2] + b"!", "bytes"))
                .map_columns(["label"], data.Function(lambda label: label + 10)))
        batch = next(data.Iterator(made.batch(30)))
        self.assertEqual(set(batch["image"]), {b"\xff\xd8!"})
        self.assertEqual(set(batch["label"].tolist()), {10, 11, 12})

    def test_what_a_function_raises_names_the_exception_and_the_sample(self):
        def fails(pixels):
            if pixels.shape[0] > 0:
                raise ValueError("too dark")
            return pixels

        made = data.ImageFolder(self.dir).map(data.Resize((8, 8)), data.Function(fails)).batch(4)
        it = data.Iterator(made, workers=2)
        for _ in range(2):  # so at every later call
            with self.assertRaisesRegex(ridgeline.RunError, r"class0/000.jpg.*ValueError: too dark \(.*test_call.*:\d+"):
                next(it)

    def test_the_place_is_the_users_line_and_not_one_of_a_library_or_of_ours(self):
        def stacked(index):
            return (np.stack([np.zeros(index + 1), np.zeros(1)]),)  # raises inside NumPy

        def stream():
            for index in range(4):
                yield stacked(index)

        class Mixed:
            """Its first picture is encoded, the others are not."""

            def __len__(self):
                return 4

            def __getitem__(self, index):
                return (jpeg(np.random.default_rng(0), 8, 8) if index == 0 else np.zeros((8, 8, 3), np.uint8)), index

        columns, indices = [("x", "f64", (2, 1))], data.InMemory({"x": np.arange(4)})
        function = data.Function(lambda x: stacked(int(x))[0], "f64", (2, 1))
        words = r"ValueError: all input arrays.* \([^()]*test_callables\.py:\d+\)( \(in function\))?$"
        for rows in (data.FromGenerator(stacked, columns, 4), data.FromStream(stream, columns, 4),
                     indices.map_columns(["x"], function)):
            with self.assertRaisesRegex(ridgeline.RunError, words):
                list(data.Iterator(rows.batch(4)))
        with self.assertRaisesRegex(ridgeline.RunError, r"TypeError: sample 1: image \(0\) is pixels, the first was encoded$"):
            list(data.DataLoader(Mixed(), 4, transform=data.Resize((4, 4)), output="numpy"))

    def test_bad_samples_of_a_function_are_skipped_or_replaced(self):
        def third(label):
            if label % 3 == 0:
                raise KeyError(int(label))
            return label

        rows = data.InMemory({"x": np.arange(12)}).map_columns(["x"], data.Function(third)).batch(6)
        it = data.Iterator(rows, bad_samples="skip")
        self.assertEqual([b["x"].tolist() for b in it], [[1, 2, 4, 5], [7, 8, 10, 11]])
        padded = data.Iterator(rows, bad_samples="skip", pad_last=True)
        self.assertEqual([b["mask"].tolist() for b in padded], [[0, 1, 1, 0, 1, 1]] * 2)
        self.assertEqual(it.bad_samples(), 4)
        replaced = [v for b in data.Iterator(rows, bad_samples="replace") for v in b["x"].tolist()]
        self.assertTrue(all(v % 3 for v in replaced))
        with tempfile.TemporaryDirectory() as work:
            list(data.Iterator(rows, bad_samples="skip", quarantine=f"{work}/bad.jsonl"))
            with open(f"{work}/bad.jsonl") as file:
                self.assertEqual(len(file.readlines()), 4)
        with self.assertRaises(ridgeline.RunError):
            list(data.Iterator(rows, bad_samples="skip", bad_sample_budget=3))

    def test_a_wrong_result_is_an_error_that_says_what_was_declared(self):
        for result, words in [(np.zeros((3, 3), np.uint8), "8"), ("text", "no array"), (None, "no array")]:
            made = data.ImageFolder(self.dir).map(data.Resize((8, 8)), data.Function(lambda v, r=result: r)).batch(4)
            with self.assertRaisesRegex(ridgeline.RunError, words):
                next(data.Iterator(made))

    def test_a_predicate_filters(self):
        made = data.ImageFolder(self.dir).filter(data.passes("label", lambda label: label == 1))
        labels = [v for b in data.Iterator(made.map(data.Resize((8, 8))).batch(1)) for v in b["label"].tolist()]
        self.assertEqual(labels, [1] * 10)

        def broken(_):
            raise OSError("disk")

        with self.assertRaisesRegex(ridgeline.RunError, "OSError: disk"):
            list(data.Iterator(data.ImageFolder(self.dir).filter(data.passes("label", broken)).batch(1)))

    def test_functions_stand_in_json_by_name_while_they_live(self):
        def named(pixels):
            return 255 - pixels

        made = data.ImageFolder(self.dir).map(data.Resize((8, 8)), data.Function(named)).batch(4)
        text = made.to_json()
        self.assertIn("named", text)
        self.assertEqual(digest_of(data.Iterator(data.Dataset.from_json(text))), digest_of(data.Iterator(made)))
        del made
        gc.collect()
        with self.assertRaisesRegex(ridgeline.Error, "is gone"):
            list(data.Iterator(data.Dataset.from_json(text)))


class Rows(unittest.TestCase):
    def test_types_are_named_as_numpy_does_too(self):
        for f32, i64 in (("f32", "i64"), ("float32", "int64"), (np.float32, np.int64), (np.dtype("f4"), np.dtype("i8"))):
            made = data.FromGenerator(lambda i: (i / 2, i), [("x", f32, ()), ("y", i64, ())], 4).batch(4)
            self.assertEqual([(name, dtype) for name, dtype, _ in made.columns()][:2], [("x", "f32"), ("y", "i64")])
            halved = data.InMemory({"image": np.ones((4, 2, 2, 3), np.uint8)}).map(data.Function(lambda x: x / 2, dtype=f32))
            self.assertEqual(next(iter(halved.batch(4)))["image"].dtype, np.float32)

    def test_columns_and_rows_of_other_forms_are_told_which_is_meant(self):
        for columns in ({"x": "f32"}, ["x"], [("x", "f32")], [("x", "f32", 3)]):
            with self.assertRaisesRegex(ridgeline.ArgumentError, r"members are \(name, type, shape\)"):
                data.FromGenerator(lambda i: (i,), columns, 4)
        for rows in (None, -1, 2.5):
            with self.assertRaisesRegex(ridgeline.ArgumentError, "must be the number of rows"):
                data.FromStream(lambda: iter(()), [("x", "f32", ())], rows)

    def test_a_generator_gives_rows_in_any_order(self):
        columns = [("x", "f32", (2,)), ("name", "bytes", ()), ("n", "i64", ())]
        made = data.FromGenerator(lambda i: ([i, -i], b"row %d" % i, i), columns, 50)
        self.assertEqual(made.columns(), [("x", "f32", (2,)), ("name", "bytes", ()), ("n", "i64", ())])
        seen = {}
        for batch in data.Iterator(made.shuffle().batch(7), workers=3):
            for i in range(batch.samples):
                seen[int(batch["n"][i])] = (batch["x"][i].tolist(), batch["name"][i])
        self.assertEqual(seen, {i: ([i, -i], b"row %d" % i) for i in range(50)})

    def test_a_stream_is_opened_for_every_epoch(self):
        opened = []

        def open_rows():
            opened.append(1)
            return ((i,) for i in range(20))

        made = data.FromStream(open_rows, [("n", "i64", ())], 20)
        for batch_rows in data.Iterator(made.batch(20), epochs=3, workers=2):
            self.assertEqual(batch_rows["n"].tolist(), list(range(20)))
        self.assertGreaterEqual(len(opened), 1)
        short = data.FromStream(open_rows, [("n", "i64", ())], 21)
        with self.assertRaisesRegex(ridgeline.RunError, "ends after 20 rows"):
            list(data.Iterator(short.batch(7)))

    def test_rows_that_are_not_as_declared(self):
        for row, words in [((1, 2), "the row has 2 values, 1 columns"), (3, "must be a tuple"), ((b"x",), "no array"),
                           (([1, 2],), r"i64\[2\] was given|declared")]:
            made = data.FromGenerator(lambda i, r=row: r, [("n", "i64", ())], 3)
            with self.assertRaisesRegex(ridgeline.RunError, words):
                next(data.Iterator(made.batch(3)))
        with self.assertRaisesRegex(ridgeline.ArgumentError, "unknown type 'int'"):
            data.FromGenerator(lambda i: (i,), [("n", "int", ())], 3)

    def test_files_by_list(self):
        with tempfile.TemporaryDirectory() as work:
            paths = [f"{work}/{i}" for i in range(5)]
            for i, path in enumerate(paths):
                with open(path, "wb") as file:
                    file.write(b"content %d" % i)
            made = data.FileList(paths, [4, 3, 2, 1, 0])
            batch = next(data.Iterator(made.batch(5)))
            self.assertEqual(batch["image"], [b"content %d" % i for i in range(5)])
            self.assertEqual(batch["label"].tolist(), [4, 3, 2, 1, 0])
            os.remove(paths[3])
            with self.assertRaisesRegex(ridgeline.RunError, f"{work}/3"):
                next(data.Iterator(made.batch(5)))
        with self.assertRaisesRegex(ridgeline.ArgumentError, "1 files have 2 labels"):
            data.FileList(["a"], [1, 2])
        with self.assertRaisesRegex(ridgeline.ArgumentError, "label -1"):
            data.FileList(["a"], [-1])


class Lifetime(unittest.TestCase):
    def test_objects_live_as_long_as_what_names_them_and_names_are_used_again(self):
        class Rows:
            def __call__(self, index):
                return (index,)

        def make():
            rows = Rows()
            return data.FromGenerator(rows, [("n", "i64", ())], 5).batch(5), weakref.ref(rows)

        made, alive = make()
        names = {made.to_json()}
        it = data.Iterator(made)
        del made
        gc.collect()
        self.assertIsNotNone(alive())
        self.assertEqual(next(it)["n"].tolist(), [0, 1, 2, 3, 4])
        del it
        gc.collect()
        self.assertIsNone(alive())
        for _ in range(100):
            made, alive = make()
            names.add(made.to_json())
            next(data.Iterator(made))
            del made
            self.assertIsNone(alive())
        self.assertEqual(len(names), 1)

    def test_two_that_live_have_two_names(self):
        def make(value):
            def rows(index):
                return (value,)

            return data.FromGenerator(rows, [("n", "i64", ())], 1).batch(1)

        first, second = make(1), make(2)
        self.assertNotEqual(first.to_json(), second.to_json())
        self.assertEqual([next(data.Iterator(d))["n"][0] for d in (first, second)], [1, 2])

    def test_loaders_with_callbacks_leave_no_thread(self):
        before = threads()
        for i in range(200):
            made = data.FromGenerator(lambda i: (i,), [("n", "i64", ())], 100).shuffle().batch(3)
            it = data.Iterator(made, workers=2)
            next(it)
        del it, made
        gc.collect()
        self.assertEqual(threads(), before)


if __name__ == "__main__":
    unittest.main()
