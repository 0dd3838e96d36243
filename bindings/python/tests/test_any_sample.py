"""Samples of any schema: the structure, types and values of PyTorch's own loader, here and from worker processes."""

import dataclasses
import unittest

import numpy as np

import ridgeline
from ridgeline.data import DataLoader

from any_sample_sets import Rows, array, sets, tensor
from loader_support import torch


def difference(a, b, place="batch"):
    """Where two batches differ; None: nowhere."""
    if type(a) is not type(b):
        return f"{place}: {type(a)} and {type(b)}"
    if isinstance(a, torch.Tensor):
        same = a.dtype == b.dtype and a.shape == b.shape and torch.equal(torch.nan_to_num(a), torch.nan_to_num(b))
        return None if same else f"{place}: {a} and {b}"
    if isinstance(a, np.ndarray):
        return None if a.dtype == b.dtype and np.array_equal(a, b) else f"{place}: {a} and {b}"
    if hasattr(a, "keys"):
        if list(a) != list(b):
            return f"{place}: keys {list(a)} and {list(b)}"
        return next((d for key in a if (d := difference(a[key], b[key], f"{place}[{key!r}]"))), None)
    if isinstance(a, (tuple, list)):
        if len(a) != len(b):
            return f"{place}: {len(a)} and {len(b)} long"
        return next((d for i, (x, y) in enumerate(zip(a, b)) if (d := difference(x, y, f"{place}[{i}]"))), None)
    return None if a == b or a != a and b != b else f"{place}: {a!r} and {b!r}"


class BesidePytorch(unittest.TestCase):
    def test_there_are_sixty_kinds_and_more(self):
        self.assertGreaterEqual(len(sets()), 60)

    def same_as_pytorch(self, workers):
        for name, data, options in sets():
            with self.subTest(name):
                mine = list(DataLoader(data, **options, num_workers=workers))
                order = workers if isinstance(data, torch.utils.data.IterableDataset) else 0
                theirs = list(torch.utils.data.DataLoader(data, **options, num_workers=order))
                self.assertEqual(len(mine), len(theirs))
                self.assertGreater(len(mine), 0)
                self.assertIsNone(difference(mine, theirs))

    def test_sixty_kinds_of_data_sets_give_pytorchs_batches_in_this_process(self):
        self.same_as_pytorch(0)

    def test_sixty_kinds_of_data_sets_give_pytorchs_batches_from_two_processes(self):
        self.same_as_pytorch(2)

    def test_lengths_are_those_of_pytorch(self):
        for name, data, options in sets():
            with self.subTest(name):
                theirs = torch.utils.data.DataLoader(data, **options)
                try:
                    expected = len(theirs)
                except TypeError:
                    with self.assertRaises(TypeError):
                        len(DataLoader(data, **options))
                else:
                    self.assertEqual(len(DataLoader(data, **options)), expected)


@dataclasses.dataclass(frozen=True)
class Sample:
    image: np.ndarray
    name: str
    weight: float = 1.0

    def __post_init__(self):
        assert self.image.ndim == 2, "of a sample, not of a batch"


@dataclasses.dataclass
class Slotted:
    __slots__ = ("x", "inner")
    x: int
    inner: Sample


class Beyond(unittest.TestCase):
    """What PyTorch's default_collate has no answer for."""

    def test_dataclasses_become_dataclasses_of_batches(self):
        data = Rows(lambda i: Slotted(i, Sample(array(i, 2, 3), f"n{i}", i / 2)))
        for workers in (0, 2):
            first = next(iter(DataLoader(data, 4, num_workers=workers)))
            self.assertIs(type(first), Slotted)
            self.assertIs(type(first.inner), Sample)
            self.assertEqual((first.x.tolist(), list(first.inner.name)), ([0, 1, 2, 3], ["n0", "n1", "n2", "n3"]))
            self.assertEqual((first.inner.image.shape, first.inner.weight.dtype), ((4, 2, 3), torch.float64))

    def test_values_of_different_lengths_are_lists_where_that_is_said(self):
        data = Rows(lambda i: {"x": i, "in": {"boxes": tensor(i, i % 3, 4), "ids": list(range(i))}})
        for workers in (0, 2):
            loader = DataLoader(data, 4, num_workers=workers, as_list=[("in", "boxes"), ("in", "ids")])
            for batch in loader:
                self.assertEqual([tuple(b.shape) for b in batch["in"]["boxes"]], [(i % 3, 4) for i in batch["x"].tolist()])
                self.assertEqual(batch["in"]["ids"], [list(range(i)) for i in batch["x"].tolist()])

    def test_values_of_different_lengths_are_padded_where_that_is_said(self):
        data = Rows(lambda i: (list(range(i)), array(i, 2, i % 3), torch.arange(i, dtype=torch.int32)))
        for workers in (0, 2):
            (a, b, c), *_ = DataLoader(data, 4, num_workers=workers, pad={0: -1, 1: 0.5, 2: 7})
            self.assertEqual((a.shape, b.shape, c.shape), ((4, 3), (4, 2, 2), (4, 3)))
            self.assertEqual(c.dtype, torch.int32)
            self.assertEqual(c.tolist(), [[7, 7, 7], [0, 7, 7], [0, 1, 7], [0, 1, 2]])
            self.assertEqual(b[3].tolist(), [[0.5, 0.5], [0.5, 0.5]])

    def test_without_pytorch_batches_are_numpy_arrays(self):
        data = Rows(lambda i: {"x": array(i, 3), "y": i, "z": (i / 2, i > 2, "t"), "t": tensor(i, 2)})
        for workers in (0, 2):
            batch = next(iter(DataLoader(data, 4, num_workers=workers, output="numpy")))
            self.assertEqual([type(v) for v in (batch["x"], batch["y"], batch["t"])], [np.ndarray] * 3)
            self.assertEqual([batch["y"].dtype, batch["z"][0].dtype, batch["z"][1].dtype], [np.int64, np.float64, np.bool_])
            self.assertEqual(batch["z"][2], ("t",) * 4)

    def test_arrays_in_the_other_byte_order_keep_their_values(self):
        (batch,) = DataLoader(Rows(lambda i: np.array([i, 2], ">i4"), 3), 3)
        self.assertEqual((batch.tolist(), batch.dtype), ([[0, 2], [1, 2], [2, 2]], torch.int32))


class Refused(unittest.TestCase):
    def check(self, values, words, **options):
        for workers in (0, 2):
            with self.subTest(words, workers=workers), self.assertRaisesRegex(ridgeline.Error, words):
                list(DataLoader(Rows(values.__getitem__, len(values)), 2, num_workers=workers, **options))

    def test_whole_numbers_may_be_tensors_of_one(self):
        for values in ([1, torch.tensor(2), np.int64(3), torch.tensor(-4, dtype=torch.int8)], [torch.tensor(0)] * 2):
            for workers in (0, 2):
                (batch,) = DataLoader(values, 4, num_workers=workers)
                self.assertEqual((batch.dtype, batch.tolist()), (torch.int64, [int(value) for value in values]))
        for value in (torch.tensor(2.0), torch.tensor(True), torch.tensor([1]), np.float64(1)):
            self.check([1, value], "sample 1: is .*, by the first sample it is a whole number")

    def test_what_does_not_fit_names_sample_place_and_type(self):
        from PIL import Image

        for values, words in [
            ([None, 1], r"sample 0: is NoneType None \(allowed: arrays"), ([{"a": 1}, {"a": 1.5}], r"sample 1: \['a'\] is float 1.5, by the first sample it is a whole number"),
            ([{"a": 1}, {"a": 1}, {"a": True}], r"sample 2: \['a'\] is bool True"), ([(1, "a"), (1, b"a")], r"sample 1: \[1\] is bytes b'a', .* a text"),
            ([{"a": {"b": [1, None]}}], r"sample 0: \['a'\]\['b'\]\[1\] is NoneType"),
            ([{"a": 1}, {}], r"sample 1: lacks 'a'"), ([{"a": 1}, {"a": 1, "b": 1}], r"sample 1: has 'b' more"),
            ([(1,), (1, 2)], r"sample 1: is tuple \(1, 2\), of length 2, by the first sample it is a tuple of 1 \(as_list"),
            ([np.zeros(3), np.zeros(4)], r"sample 1: has the shape \[4\], sample 0 of its batch has \[3\] \(as_list"),
            ([np.zeros(3), np.zeros(3, np.float32)], r"sample 1: is an array of float32, .* an array of float64"),
            ([torch.zeros(3), torch.zeros(3).double()], r"sample 1: is a strided tensor of float64, .* a strided tensor of float32"),
            ([torch.zeros(3), np.zeros(3)], r"sample 1: is ndarray .* a strided tensor of float32"),
            ([0.5, 2 ** 53 + 1], r"sample 1: is int 9007199254740993, .* a float"), ([1, 2 ** 63], "sample 1: is 9223372036854775808, which does not fit 64 bits"),
            ([np.array(["a"])] * 2, "sample 0: is an array of <U1"), ([np.array([None])] * 2, "is an array of object"),
            ([Image.new("RGB", (3, 3))] * 2, r"sample 0: is a picture of PIL: name what is done to it with transform= \(data.Decode"),
            ([{1}] * 2, "sample 0: is set"), ([torch.eye(3).to_sparse()] * 2, "is a sparse_coo tensor of float32"),
        ]:
            self.check(values, words)

    def test_places_that_as_list_and_pad_name_must_be_there(self):
        self.check([{"a": 1}] * 2, r"sample 0: there is no 'b', which as_list or pad names?", as_list=["b"])
        self.check([{"a": [1]}] * 2, r"\['a'\] is an array of int64, which does not hold pad's 0.5", pad={"a": 0.5})
        self.check([{"a": ["x"]}] * 2, r"pad takes arrays", pad={"a": 0})
        self.check([{"a": 3}] * 2, r"a single number|pad takes arrays", pad={"a": 0})

    def test_arguments_that_have_no_meaning_for_a_data_set_are_refused(self):
        data, stream = Rows(lambda i: i), any_stream()
        for made, options, words in [
            (data, {"label": 1}, "label is for samples with pictures"), (data, {"prefetch_factor": 2}, "prefetch_factor is not supported: with num_workers=0"),
            (data, {"num_workers": -1}, "num_workers is -1"), (data, {"sampler": [1], "shuffle": True}, "give one of sampler and shuffle"),
            (data, {"batch_sampler": [[1]], "drop_last": True}, "give one of batch_sampler and drop_last"),
            (data, {"sampler": 3}, "any iterable of indices"), (data, {"sampler": [1], "rank": 0, "world_size": 2}, "own indices"),
            (stream, {"shuffle": True}, "an order of its own"), (stream, {"rank": 0, "world_size": 2}, "its own part"),
            (stream, {"bad_samples": "skip"}, "an iterator that raised is over"), ((i for i in [1]), {}, "generator, which runs once"),
            (stream, {"image": 0, "batch_size": None}, "samples one by one"), ([], {}, "the data set is empty"), (3, {}, "DataLoader takes"),
            (data, {"batch_size": None, "bad_samples": "skip"}, "needs batches"),
        ]:
            with self.subTest(words), self.assertRaisesRegex(ridgeline.ArgumentError, words):
                DataLoader(made, **options)


def any_stream():
    from any_sample_sets import Stream

    return Stream(lambda i: i)


if __name__ == "__main__":
    unittest.main()
