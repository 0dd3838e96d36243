"""loader.sampler, as trainers look at it."""

import unittest

from ridgeline import data
from ridgeline.data import DataLoader

from any_sample_sets import Rows
from loader_support import torch


def numbers(count=40):
    return Rows(lambda i: {"n": i}, count)


def in_python(**options):
    return DataLoader(numbers(), 8, shuffle=True, **options)


def in_engine(**options):
    return DataLoader(data.InMemory({"n": list(range(40))}), 8, shuffle=True, **options)


def order(loader):
    return [int(n) for batch in loader for n in (batch["n"] if isinstance(batch, dict) else batch)]


class Shown(unittest.TestCase):
    def test_a_loader_has_the_sampler_of_its_order(self):
        sequential, shuffled = DataLoader(numbers(), 8), in_python()
        self.assertIs(type(sequential.sampler), torch.utils.data.SequentialSampler)
        self.assertIs(type(shuffled.sampler), torch.utils.data.RandomSampler)
        self.assertEqual((len(sequential.sampler), len(shuffled.sampler)), (40, 40))
        self.assertEqual(list(sequential.sampler), order(sequential))

    def test_there_is_none_where_it_would_say_what_is_not_so(self):
        class Stream(torch.utils.data.IterableDataset):
            def __iter__(self):
                return iter(range(4))

        own = [3, 1]
        for loader, sampler in [(in_python(rank=0, world_size=2), None), (DataLoader(Stream(), 2), None),
                                (DataLoader(numbers(), 1, sampler=own), own), (in_engine(), None),
                                (DataLoader(numbers(), batch_sampler=[[1, 2]]), None), (in_python(output="numpy"), None)]:
            self.assertIs(loader.sampler, sampler)


if __name__ == "__main__":
    unittest.main()
