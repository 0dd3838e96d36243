"""1,000 random nested schemas, each as PyTorch's default_collate makes batches of it."""

import collections
import random
import unittest

import numpy as np

from ridgeline.data import DataLoader

from any_sample_sets import Rows
from loader_support import torch
from test_any_sample import difference

TYPES = [np.bool_, np.uint8, np.int8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.float16, np.float32,
         np.float64, np.complex64]
NAMED = {n: collections.namedtuple(f"Named{n}", [f"f{i}" for i in range(n)]) for n in range(1, 5)}
globals().update({made.__name__: made for made in NAMED.values()})  # so that they can be pickled


def leaf(rng):
    """A function from a generator to a value of one type."""
    shape = [rng.randrange(4) for _ in range(rng.randrange(4))]
    kind = rng.choice(TYPES)

    def array(g):
        return (g.random(shape) * 100 - (0 if kind in (np.uint8, np.uint16, np.uint32) else 50)).astype(kind)

    return rng.choice([
        array, array, lambda g: kind(abs(g.random() * 50)), lambda g: int(g.integers(-2 ** 62, 2 ** 62)),
        lambda g: float(g.standard_normal()), lambda g: bool(g.integers(2)), lambda g: "t" * int(g.integers(5)),
        lambda g: bytes(int(g.integers(5))), lambda g: torch.from_numpy(np.asarray(array(g))),
        lambda g: torch.from_numpy(g.random(shape)).to(torch.bfloat16),
        lambda g: torch.from_numpy(g.random((*shape, 2, 3))).transpose(-1, -2)])


def schema(rng, depth):
    if depth == 0 or rng.random() < 0.3:
        return leaf(rng)
    parts = [schema(rng, depth - 1) for _ in range(rng.randrange(1, 5))]
    kind = rng.choice(["dict", "tuple", "list", "named", "ordered"])
    if kind in ("dict", "ordered"):
        keys = [rng.choice([f"k{i}", i, (i, "k")]) for i in range(len(parts))]
        make = dict if kind == "dict" else collections.OrderedDict
        return lambda g: make((key, part(g)) for key, part in zip(keys, parts))
    make = {"tuple": tuple, "list": list}.get(kind) or NAMED[len(parts)]._make
    return lambda g: make([part(g) for part in parts])


class RandomSchemas(unittest.TestCase):
    def compare(self, seeds, **options):
        for seed in seeds:
            make = schema(random.Random(seed), 4)
            data = Rows(lambda i: make(np.random.default_rng((seed, i))), 5)
            with self.subTest(seed=seed):
                theirs = list(torch.utils.data.DataLoader(data, 3))
                self.assertIsNone(difference(list(DataLoader(data, 3, **options)), theirs))

    def test_a_thousand_schemas_have_pytorchs_structure_types_and_values(self):
        self.compare(range(1000))

    def test_forty_of_them_come_alike_through_shared_memory(self):
        self.compare(range(40), num_workers=1)


if __name__ == "__main__":
    unittest.main()
