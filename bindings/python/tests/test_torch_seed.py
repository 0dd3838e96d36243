"""torch.manual_seed() and loader.sampler, as scripts for PyTorch's DataLoader use them."""

import unittest

from ridgeline import data
from ridgeline.data import DataLoader

from any_sample_sets import Rows
from loader_support import torch

UNSEEDED = 67280421310721  # of PyTorch's generator in a new process


def numbers(count=40):
    return Rows(lambda i: {"n": i}, count)


def in_python(**options):
    return DataLoader(numbers(), 8, shuffle=True, **options)


def in_engine(**options):
    return DataLoader(data.InMemory({"n": list(range(40))}), 8, shuffle=True, **options)


def order(loader):
    return [int(n) for batch in loader for n in (batch["n"] if isinstance(batch, dict) else batch)]


class Seed(unittest.TestCase):
    def setUp(self):
        state = torch.get_rng_state()
        self.addCleanup(torch.set_rng_state, state)

    def test_manual_seed_gives_the_order_where_the_loader_has_no_seed(self):
        for make in (in_python, in_engine):
            with self.subTest(make.__name__):
                orders = {}
                for seed in (UNSEEDED, 1, 2):
                    torch.manual_seed(seed)
                    before = torch.get_rng_state()
                    orders[seed] = order(make())
                    self.assertTrue(torch.equal(torch.get_rng_state(), before))  # nothing is drawn of PyTorch's numbers
                    self.assertEqual(order(make()), orders[seed])
                    self.assertEqual(sorted(orders[seed]), list(range(40)))
                    self.assertEqual(order(make(seed=5)), order(make(generator=torch.Generator().manual_seed(5))))
                self.assertEqual(len({tuple(made) for made in orders.values()}), 3)
                self.assertEqual(orders[UNSEEDED], order(make(seed=0)))
                self.assertEqual(orders[1], order(make(seed=1)))

    def test_it_counts_as_it_is_at_the_first_epoch(self):
        loader = in_python()
        torch.manual_seed(3)
        first = order(loader)
        torch.manual_seed(4)
        second = order(loader)
        torch.manual_seed(3)
        again = in_python()
        self.assertEqual([order(again), order(again)], [first, second])
        self.assertNotEqual(first, second)

    def test_random_numbers_of_samples_go_by_it(self):
        def drawn(**options):
            loader = DataLoader(Rows(lambda i: {"n": torch.rand(())}, 8), 4, **options)
            return [float(n) for batch in loader for n in batch["n"]]

        torch.manual_seed(1)
        one = drawn()
        self.assertEqual(drawn(num_workers=2), one)
        torch.manual_seed(2)
        self.assertNotEqual(drawn(), one)

    def test_a_state_keeps_its_seed(self):
        for make in (in_python, in_engine):
            with self.subTest(make.__name__):
                torch.manual_seed(1)
                loader = make()
                batches = iter(loader)
                begun = [int(n) for n in next(batches)["n"]]
                state = loader.state_dict()
                del batches
                whole = order(make())
                torch.manual_seed(2)
                for epochs in (0, 1):
                    again = make()
                    for _ in range(epochs):
                        order(again)  # by another seed
                    again.load_state_dict(state)
                    self.assertEqual(begun + order(again), whole)

    def test_ranks_divide_one_order_whatever_their_seeds(self):
        parts = []
        for rank in range(2):
            torch.manual_seed(rank)
            parts.append(order(in_python(rank=rank, world_size=2)))
        self.assertEqual(sorted(parts[0] + parts[1]), list(range(40)))

    def test_the_graph_of_a_loader_has_the_seed_of_its_run(self):
        torch.manual_seed(9)
        loader = in_engine()
        made = order(loader)
        self.assertEqual(int(data.replay(loader.graph, 0, 3)["n"]), made[3])


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
