"""Random samples, each with a picture somewhere, in random orders and batches: what PyTorch's loader makes of them."""

import collections
import io
import json
import random
import unittest
import warnings
from unittest import mock

import numpy as np

from ridgeline.data import DataLoader

from any_sample_sets import Rows, Stream
from loader_support import EXACT, RANDOM, torch
from support import jpeg
from test_any_sample import difference
from test_random_schemas import NAMED, schema

from PIL import Image

FILES = [jpeg(np.random.default_rng(i), 40 + i, 50) for i in range(12)]
IMAGES = [Image.open(io.BytesIO(file)).convert("RGB") for file in FILES]
PIXELS = [EXACT(image) for image in IMAGES]
SOURCES = [FILES, IMAGES, [np.asarray(image) for image in IMAGES]]

# (image=, a function from picture and value to a sample)
PLACES = [
    (0, lambda p, v: (p, v)), (1, lambda p, v: (v, p)), (0, lambda p, v: [p, v]), (1, lambda p, v: [v, p]),
    ("p", lambda p, v: {"v": v, "p": p}), (None, lambda p, v: {"image": p, "label": v}),
    ("image", lambda p, v: collections.OrderedDict(label=v, image=p)), (("a", 1), lambda p, v: {"a": [v, p]}),
    (("x", "image"), lambda p, v: {"x": {"image": p}, "y": v, "z": 3}), ((1, 0), lambda p, v: [v, (p, 2.5)]),
    (0, lambda p, v: NAMED[3](p, v, "n")),
]


def order(rng, count):
    """Arguments of both loaders."""
    def places(most):
        return [rng.randrange(count) for _ in range(rng.randrange(1, most))]

    sizes = {"batch_size": rng.randrange(1, 5), "drop_last": rng.random() < 0.5}
    return rng.choice([
        sizes, {**sizes, "sampler": places(9)}, {"batch_sampler": [places(5) for _ in range(rng.randrange(1, 5))]},
        {"batch_size": 3, "collate_fn": list}, {"batch_size": 2, "sampler": torch.utils.data.SequentialSampler(range(count))},
    ])


class RandomLoaders(unittest.TestCase):
    def compare(self, seed):
        rng = random.Random(seed)
        make, count = schema(rng, rng.randrange(4)), rng.randrange(1, 12)
        image, place = rng.choice(PLACES)
        source, given = rng.choice(SOURCES), order(rng, count)
        stream = "sampler" not in given and "batch_sampler" not in given and rng.random() < 0.3
        dataset = Stream if stream else Rows
        workers = rng.choice([{}, {}, {"num_workers": 2}] + [{"num_workers": 1, "multiprocessing_context": "fork"}] * (not stream))

        def sample(pictures):
            return lambda i: place(pictures[i], make(np.random.default_rng((seed, i))))

        theirs = list(torch.utils.data.DataLoader(dataset(sample(PIXELS), count), **given))
        mine = DataLoader(dataset(sample(source), count), transform=EXACT, image=image, **given, **workers)
        self.assertIsNone(difference(list(mine), theirs))

    def test_four_hundred_give_pytorchs_batches(self):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "an epoch has no batch")
            for seed in range(400):
                with self.subTest(seed=seed):
                    self.compare(seed)

    def test_an_epoch_without_a_batch_is_told(self):
        for value in (3, "text"):
            loader = DataLoader(Rows(lambda i: (FILES[i], value), 3), 4, drop_last=True, transform=EXACT)
            with self.assertWarnsRegex(UserWarning, "an epoch has no batch: .*fewer than batch_size, and drop_last"):
                self.assertEqual((len(loader), list(loader)), (0, []))

    def resumed(self, seed):
        rng = random.Random(seed)
        make, count = schema(rng, rng.randrange(3)), rng.randrange(4, 12)
        (image, place), source = rng.choice(PLACES), rng.choice(SOURCES)
        pictures = rng.random() < 0.7
        given = {key: value for key, value in order(rng, count).items() if key != "drop_last"}
        if pictures:
            given.update(transform=RANDOM, image=image)

        def sample(i):
            value = make(np.random.default_rng((seed, i)))
            return place(source[i], value) if pictures else (i, value)

        def loader():
            workers = rng.choice([{}, {"num_workers": 2}, {"num_workers": 1, "multiprocessing_context": "fork"}])
            return DataLoader(Rows(sample, count), seed=seed, **given, **workers)

        whole, stopped, again = loader(), loader(), loader()
        epochs = [list(whole) for _ in range(2)]
        at = rng.randrange(1, len(epochs[0]) + 1)
        batches = iter(stopped)
        for _ in range(at):
            next(batches)
        again.load_state_dict(json.loads(json.dumps(stopped.state_dict())))
        rest = list(again) if at < len(epochs[0]) else []
        self.assertIsNone(difference(rest, epochs[0][at:]))
        self.assertIsNone(difference(list(again), epochs[1]))

    def test_two_hundred_go_on_alike_from_anywhere(self):
        for seed in range(200):
            with self.subTest(seed=seed):
                self.resumed(seed)

    def test_long_orders_are_run_in_parts_in_which_indices_that_come_again_draw_anew(self):
        rows = [0, 1, 0, 0, 1, 0, 2, 0]
        for given in ({"sampler": rows, "batch_size": 1}, {"batch_sampler": [[0], [1, 0], [0, 1, 0], [2], [0]]}):
            def loader():
                return DataLoader(Rows(lambda i: (FILES[i], i), 3), transform=RANDOM, collate_fn=list, **given)

            with mock.patch("ridgeline.data._engine._CHUNK", 3):
                batches = list(loader())
                drawn = {pixels.numpy().tobytes() for batch in batches for pixels, _ in batch}
                self.assertEqual(([i for batch in batches for _, i in batch], len(drawn)), (rows, len(rows)))
                state = loader().state_dict()
                for at in range(1, len(batches)):
                    again = loader()
                    again.load_state_dict({**state, "delivered": at})
                    self.assertIsNone(difference(list(again), batches[at:]))


if __name__ == "__main__":
    unittest.main()
