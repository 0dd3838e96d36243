"""Labels are delivered as the data set gives them, or refused with the sample's and the key's name: never cut."""

import fractions
import unittest

import numpy as np

import ridgeline
from ridgeline import data
from ridgeline.data import DataLoader

PIXELS = np.full((4, 4, 3), 7, np.uint8)


class Set:
    """Samples with these labels, as tuples or dicts."""

    def __init__(self, labels, make=lambda label: (PIXELS, label)):
        self.labels, self.make = labels, make

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.make(self.labels[i])


def loader(made, **options):
    return DataLoader(made, 2, output="numpy", transform=data.CenterCrop(4), **options)


def labels_of(made, key=1, **options):
    return np.concatenate([b[key] for b in loader(made, **options)])


class AsGiven(unittest.TestCase):
    def test_every_kind_of_label_keeps_its_value_and_type(self):
        for labels, dtype in [
            ([3, 0, 2], np.int32), ([5, -1, 2], np.int32), ([2 ** 40, 1], np.int64), ([True, False], np.bool_),
            ([np.int64(7), np.int64(2 ** 40)], np.int64), ([np.uint8(200), np.uint8(3)], np.uint8),
            ([0.73, 0.25, -1.5], np.float64), ([np.float64(0.1), np.float64(1e300)], np.float64), ([1e300] * 2, np.float64),
            ([np.float16(0.5)] * 2, np.float16), ([np.float32(0.1)] * 3, np.float32), ([1.0, 2], np.float64),
            ([np.float64(0.1), 0.3], np.float64), ([np.int16(-3), np.int16(4)], np.int16),
            ([np.array([0, 1, 1], np.uint8)] * 2, np.uint8), ([np.array([0.1, 0.9])] * 3, np.float64),
            ([np.array([1, 2], np.uint16)] * 2, np.uint16), ([float(2 ** 24 + 1)] * 2, np.float64),
            ([np.array([[1, 2]])] * 2, np.int64), ([float("nan"), 1.5], np.float64), ([np.complex64(1j)] * 2, np.complex64),
        ]:
            with self.subTest(repr(labels)):
                got = labels_of(Set(labels))
                self.assertEqual(got.dtype, dtype)
                np.testing.assert_array_equal(got, np.asarray(labels, dtype))

    def test_labels_that_are_no_numbers_are_what_pytorch_makes_of_them(self):
        for labels, expected in [
            (["cat", "dog"], ("cat", "dog")), ([b"3"] * 2, (b"3", b"3")),
            ([[1, 0], [2, 3]], [np.array([1, 2]), np.array([0, 3])]), ([(1, "a"), (2, "b")], [np.array([1, 2]), ("a", "b")]),
            ([{"a": 1, "b": 2.5}] * 2, {"a": np.array([1, 1]), "b": np.array([2.5, 2.5])}),
        ]:
            with self.subTest(repr(labels)):
                (batch,) = loader(Set(labels))
                self.assertEqual(batch[0].shape, (2, 4, 4, 3))
                np.testing.assert_equal(batch[1], expected)

    def test_what_no_batch_holds_is_refused_with_sample_key_and_type(self):
        for labels, words in [
            ([None, 1], r"sample 0: \[1\] is NoneType None"), ([1 + 2j] * 2, "is complex"),
            ([fractions.Fraction(1, 3)] * 2, "is Fraction"), ([np.array(["a"])] * 2, "array of <U1"),
            ([np.datetime64("2020-01-01")] * 2, "of datetime64"), ([2 ** 70] * 2, "64 bits"), ([{1, 2}] * 2, "is set"),
            ([[1, None]] * 2, r"\[1\]\[1\] is NoneType"),
        ]:
            with self.subTest(repr(labels)), self.assertRaisesRegex(ridgeline.ArgumentError, words):
                loader(Set(labels))

    def test_a_later_label_that_the_column_does_not_hold_ends_the_run_by_name(self):
        for labels, words in [
            ([1, 0.73], r"sample 1: label \(1\) is float 0.73, .*i32"), ([True, 2], "sample 1: .* is int 2, .* bool"),
            ([1, 2 ** 40], r"sample 1: .* int 1099511627776"), ([0.5, "x"], "sample 1: .*str 'x'"), (["x", 0.5], r"sample 1: \[1\] is float 0.5, .* a text"),
            ([[1], [1, 2]], r"sample 1: .*length 2, .* list of 1"), ([{"a": 1}, {"a": 1, "b": 2}], "sample 1: .*'b' more"),
            ([{"a": 1}, {"b": 1}], "sample 1: .*lacks 'a'"), ([1, None], "NoneType"),
            ([np.float32(1), np.float64(0.1)], r"sample 1: .*float64.* f32"), ([1, float("nan")], "sample 1: .* nan"),
            ([np.zeros(3), np.zeros(4)], r"sample 1: .*shape \[4\], the first label has \[3\]"),
            ([np.uint8(1), np.int64(-2 ** 31 - 1)], "-2147483649"),
        ]:
            with self.subTest(repr(labels)), self.assertRaisesRegex(ridgeline.RunError, words):
                labels_of(Set(labels))

    def test_places_and_keys_that_are_zero_or_empty_are_taken(self):
        swapped = Set([4, 5, 6], lambda label: (label, PIXELS))
        self.assertEqual(labels_of(swapped, 1, image=1, label=0).tolist(), [4, 5, 6])
        three = Set([4, 5, 6], lambda label: ("name", label, PIXELS))
        self.assertEqual(labels_of(three, 1, image=2, label=1).tolist(), [4, 5, 6])
        named = Set([4, 5], lambda label: {"": label, 0: PIXELS})
        self.assertEqual(labels_of(named, "", image=0, label="").tolist(), [4, 5])
        for options, words in [({"label": 2}, r"label is 2.*0 to 1"), ({"image": 1, "label": 1}, "both place 1"),
                               ({"image": 1}, r"sample 0: image \(1\): an image must be bytes"),
                               ({"label": "y"}, "label is 'y'")]:
            with self.subTest(options), self.assertRaisesRegex(ridgeline.ArgumentError, words):
                loader(Set([1, 2]), **options)
        with self.assertRaisesRegex(ridgeline.ArgumentError, "tuples of 3: name the place"):
            loader(three)

    def test_all_of_a_sample_is_delivered_unless_image_and_label_are_named(self):
        rows = Set([1, 2], lambda label: {"weight": 0.5, "image": PIXELS, "label": label})
        (batch,) = loader(rows)
        self.assertEqual(list(batch), ["weight", "image", "label"])
        self.assertEqual((batch["image"].shape, batch["weight"].tolist()), ((2, 4, 4, 3), [0.5, 0.5]))
        (batch,) = loader(rows, image="image", label="label")
        self.assertEqual(list(batch), ["image", "label"])

    def test_pictures_with_more_than_8_bits_are_refused_and_not_clipped(self):
        try:
            from PIL import Image
        except ImportError:
            self.skipTest("Pillow is not installed")
        deep = Image.fromarray(np.full((4, 4), 40000, np.uint16))
        with self.assertRaisesRegex(ridgeline.ArgumentError, r"sample 0: image \(0\): .*mode I;16"):
            loader(Set([1, 2], lambda label: (deep, label)))

    def test_files_by_list_take_whole_labels_alone(self):
        with self.assertRaisesRegex(ridgeline.ArgumentError, r"label 0.73 of b.jpg is a float"):
            data.FileList(["a.jpg", "b.jpg"], [1, 0.73])
        with self.assertRaisesRegex(ridgeline.ArgumentError, "label '3' of a.jpg"):
            data.FileList(["a.jpg"], ["3"])
        self.assertEqual(len(data.FileList(["a.jpg"], [np.int64(3)])), 1)


class DeclaredColumns(unittest.TestCase):
    def test_values_of_rows_and_functions_keep_what_they_say_or_are_refused(self):
        for value, dtype, words in [
            (0.73, "i32", "holds 0.73"), (2 ** 40, "i32", "holds 1099511627776"), (-1, "u8", "holds -1"),
            (300, "u8", "holds 300"), (2, "bool", "holds 2"), ("3", "i64", "no array"), (None, "f32", "no array"),
            (np.uint64(2 ** 63), "i64", "holds 9223372036854775808"), (np.int8(-1), "u8", "holds -1"),
            (float("nan"), "i32", "holds nan"), (1e300, "f32", "holds 1e"), (2 ** 53 + 1, "f64", "holds 9007199254740993"),
            (np.datetime64("2020-01-01"), "i64", "no array"), (1j, "f32", "no array"), (2.0 ** 63, "i64", "holds 9.22"),
        ]:
            with self.subTest(f"{value!r} as {dtype}"):
                made = data.FromGenerator(lambda i, v=value: (v,), [("n", dtype, ())], 2)
                with self.assertRaisesRegex(ridgeline.RunError, f"column 'n' .*{words}"):
                    next(data.Iterator(made.batch(2)))
        for value, dtype in [(3.0, "i32"), (True, "i32"), (1, "bool"), (7, "f32"), (0.1, "f32"), (np.uint64(5), "u8"),
                             (float("inf"), "f32"), (-2 ** 31, "i32"), (2 ** 63 - 1, "i64")]:
            with self.subTest(f"{value!r} as {dtype}"):
                made = data.FromGenerator(lambda i, v=value: (v,), [("n", dtype, ())], 1)
                got = next(data.Iterator(made.batch(1)))["n"]
                np.testing.assert_array_equal(got, np.asarray([value], got.dtype))

    def test_a_function_without_dtype_that_gives_fractions_for_bytes_is_told_so(self):
        rows = data.InMemory({"x": np.array([[3, 4]], np.uint8)})
        halved = rows.map_columns(["x"], data.Function(lambda v: v * 0.5)).batch(1)
        with self.assertRaisesRegex(ridgeline.RunError, r"the result holds 1.5 \(float64\), and uint8 is declared"):
            next(data.Iterator(halved))
        declared = rows.map_columns(["x"], data.Function(lambda v: v * 0.5, "f32")).batch(1)
        self.assertEqual(next(data.Iterator(declared))["x"].tolist(), [[1.5, 2.0]])

    def test_a_predicate_that_answers_nothing_is_an_error_and_leaves_no_row_out(self):
        made = data.InMemory({"x": np.arange(3)}).filter(data.passes("x", lambda value: None)).batch(1)
        with self.assertRaisesRegex(ridgeline.RunError, "the result is None, it must be true or false"):
            list(data.Iterator(made))

    def test_numbers_that_arguments_cannot_hold_are_refused(self):
        with self.assertRaisesRegex(ridgeline.ArgumentError, "9007199254740993"):
            data.InMemory({"x": np.array([1])}).filter(data.is_in("x", [2 ** 53 + 1]))


class Objects(unittest.TestCase):
    def test_transforms_compare_with_anything_and_equal_ones_have_one_hash(self):
        self.assertFalse(data.Invert() == None)  # noqa: E711
        self.assertTrue(data.Invert() != 3)
        self.assertNotIn("invert", [data.Invert()])
        self.assertEqual(data.Resize((3, 4)), data.Resize((3, 4)))
        self.assertNotEqual(data.Resize((3, 4)), data.Resize((4, 3)))
        self.assertEqual(len({data.Resize((3, 4)), data.Resize((3, 4)), data.Invert()}), 2)

    def test_truth_and_membership_never_raise(self):
        made = data.InMemory({"image": np.zeros((4, 2, 2, 3), np.uint8), "label": np.arange(4, dtype=np.int32)})
        self.assertTrue(loader(made.filter(data.compare("label", "less", 2))))
        self.assertNotIn(5, next(data.Iterator(made.batch(2))))

    def test_a_dataset_with_callbacks_is_not_pickled_without_them(self):
        import copy
        import pickle

        class Calls:
            def end(self, epoch, step, run_steps):
                pass

        made = data.InMemory({"image": np.zeros((3, 2, 2, 3), np.uint8)}).map(data.Invert()).with_callbacks(Calls())
        with self.assertRaisesRegex(TypeError, "callbacks"):
            pickle.dumps(made)
        self.assertIs(copy.deepcopy(made), made)


if __name__ == "__main__":
    unittest.main()
