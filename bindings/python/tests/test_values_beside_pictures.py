"""Tensors and arrays beside a picture: they come as the data set gave them, and belong to whoever gets them."""

import unittest

import numpy as np

from ridgeline import data
from ridgeline.data import DataLoader

from any_sample_sets import Rows
from loader_support import torch
from support import jpeg

from torchvision import tv_tensors


def as_listed(batch):
    return batch


class ValuesBesidePictures(unittest.TestCase):
    def test_tensors_beside_a_picture_come_as_they_were(self):
        encoded = jpeg(np.random.default_rng(2), 40, 50)
        twice = torch.arange(3)
        with_more = torch.ones(2)
        with_more.note = "kept"
        given = {"across": torch.arange(6).view(2, 3).t(), "none": torch.zeros(0, 4), "one": torch.tensor(3, dtype=torch.int8),
                 "complex": torch.ones(2, dtype=torch.complex64), "bf16": torch.ones(2, dtype=torch.bfloat16),
                 "weight": torch.nn.Parameter(torch.ones(3)), "grad": torch.ones(2, requires_grad=True), "a": twice,
                 "b": twice, "more": with_more, "sparse": torch.eye(3).to_sparse(), "negative": torch.ones(2)._neg_view()}
        (_, rest), = next(iter(DataLoader(Rows(lambda i: (encoded, given), 1), transform=data.Decode(),
                                          collate_fn=as_listed)))
        self.assertEqual(rest.keys(), given.keys())
        for key, value in given.items():
            self.assertIs(type(rest[key]), type(value), key)
            self.assertEqual((rest[key].dtype, rest[key].shape, rest[key].layout, rest[key].requires_grad),
                             (value.dtype, value.shape, value.layout, value.requires_grad), key)
            self.assertTrue(torch.equal(rest[key].to_dense() if key == "sparse" else rest[key],
                                        value.to_dense() if key == "sparse" else value), key)
        self.assertIs(rest["a"], rest["b"])
        self.assertEqual(rest["more"].note, "kept")
        self.assertIsNot(rest["a"], twice)

    def test_large_values_beside_a_picture_come_as_they_were_and_stay_so(self):
        rng = np.random.default_rng(3)
        encoded = jpeg(rng, 40, 50)

        def given(i):
            odd = rng.integers(0, 256, 20001 + i % 2, dtype=np.uint8)
            return {"odd": odd, "f64": torch.arange(5000.0, dtype=torch.float64) + i, "small": torch.full((3,), i),
                    "across": (torch.arange(30000) + i).view(2, -1).t(), "again": odd,
                    "fortran": np.asfortranarray(np.arange(40000).reshape(200, 200) + i),
                    "mask": tv_tensors.Mask(torch.from_numpy(rng.integers(0, 9, (7, 40, 50)))), "bytes": bytes(odd)}

        rows = [given(i - i % 2) for i in range(24)]
        for collate in (as_listed, None):
            loader = DataLoader(Rows(lambda i: (encoded, rows[i]), len(rows)), 2, transform=data.Decode(), collate_fn=collate)
            came = [rest for batch in loader for rest in ([rest for _, rest in batch] if collate else [batch[1]])]
            expected = rows if collate else [torch.utils.data.default_collate(rows[i:i + 2]) for i in range(0, 24, 2)]
            self.assertEqual(len(came), len(expected))
            for mine, theirs_ in zip(came, expected):
                self.assertEqual(mine.keys(), theirs_.keys())
                for key, value in theirs_.items():
                    self.assertIs(type(mine[key]), type(value), key)
                    if isinstance(value, (torch.Tensor, np.ndarray)):
                        self.assertEqual((mine[key].dtype, mine[key].shape), (value.dtype, value.shape), key)
                        self.assertTrue((mine[key] == value).all(), key)
                    else:
                        self.assertEqual(mine[key], value, key)
                for key in ("odd", "f64", "fortran", "mask"):  # they are the caller's own
                    mine[key][...] = 0


if __name__ == "__main__":
    unittest.main()
