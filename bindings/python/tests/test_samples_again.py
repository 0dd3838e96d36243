"""Random numbers, states and ranks of samples that Python makes: the same with any number of workers."""

import unittest

import numpy as np

import ridgeline
from ridgeline.data import DataLoader

from made_rows import Rows


class Repeatable(unittest.TestCase):
    def test_random_numbers_of_samples_depend_on_seed_and_epoch_and_not_on_workers(self):
        import random

        data = Rows(lambda i: (i, random.random(), np.random.rand(3)))

        def run(workers, **options):
            loader = DataLoader(data, 6, True, num_workers=workers, output="numpy", **options)
            return [np.concatenate([b[0], b[1], b[2].ravel()]).tolist() for _ in range(2) for b in loader]

        first = run(0)
        self.assertEqual([run(1), run(3), run(2, persistent_workers=True)], [first] * 3)
        self.assertNotEqual(first[:7], first[7:])
        self.assertNotEqual(run(0, seed=1), first)

    def test_making_batches_here_leaves_the_programs_random_numbers_alone(self):
        np.random.seed(3)
        expected = np.random.rand(4).tolist()
        np.random.seed(3)
        next(iter(DataLoader(Rows(lambda i: np.random.rand()), 4, output="numpy")))
        self.assertEqual(np.random.rand(4).tolist(), expected)

    def test_a_state_goes_on_with_other_workers(self):
        data = Rows(lambda i: (i, np.random.rand()))

        def batches(loader):
            return [b[0].tolist() + b[1].tolist() for b in loader]

        whole = DataLoader(data, 4, True, output="numpy")
        expected = batches(whole) + batches(whole)
        for stop in (0, 3, 10, 13):
            loader = DataLoader(data, 4, True, num_workers=2, output="numpy")
            seen = []
            while len(seen) < stop:
                for b in loader:
                    seen.append(b[0].tolist() + b[1].tolist())
                    if len(seen) == stop:
                        break
            other = DataLoader(data, 4, True, num_workers=1, output="numpy")
            other.load_state_dict(loader.state_dict())
            rest = batches(other) + (batches(other) if stop < 10 else [])
            self.assertEqual(seen + rest, expected)

    def test_the_seed_of_a_state_is_that_of_the_samples_random_numbers(self):
        data = Rows(lambda i: (i, np.random.rand()))
        for options in ({"shuffle": True}, {"sampler": list(range(0, 40, 3))}):
            for workers in (0, 2):
                loader = DataLoader(data, 4, output="numpy", seed=7, **options)
                it = iter(loader)
                next(it)
                other = DataLoader(data, 4, output="numpy", num_workers=workers, **options)
                other.load_state_dict(loader.state_dict())
                self.assertEqual([b[1].tolist() for b in other], [b[1].tolist() for b in it])

    def test_ranks_share_out_the_samples_and_a_state_goes_on_under_another_number(self):
        data = Rows(lambda i: i)
        alone = DataLoader(data, 8, True, output="numpy")
        it = iter(alone)
        next(it), next(it)
        parts = []
        for rank in range(2):
            loader = DataLoader(data, 4, True, rank=rank, world_size=2, num_workers=1, output="numpy")
            loader.load_state_dict(alone.state_dict())
            parts.append([b.tolist() for b in loader])
        self.assertEqual([sorted(a + b) for a, b in zip(*parts)], [sorted(b.tolist()) for b in it])

    def test_a_sampler_of_ones_own_goes_on_in_the_middle_of_its_epoch(self):
        class Epochs:
            epoch = 0

            def set_epoch(self, epoch):
                self.epoch = epoch

            def __iter__(self):
                return iter([(i * 7 + self.epoch) % 40 for i in range(20)])

            def __len__(self):
                return 20

        loader = DataLoader(Rows(lambda i: i), 4, sampler=Epochs(), output="numpy", num_workers=2)
        loader.set_epoch(2)
        whole = [b.tolist() for b in loader]
        self.assertEqual(whole[0], [2, 9, 16, 23])
        again = DataLoader(Rows(lambda i: i), 4, sampler=Epochs(), output="numpy")
        again.load_state_dict({**loader.state_dict(), "epoch": 2, "delivered": 3})
        self.assertEqual([b.tolist() for b in again], whole[3:])
        self.assertEqual((again.state_dict()["epoch"], again.state_dict()["delivered"]), (3, 0))
        with self.assertRaisesRegex(ridgeline.ArgumentError, "the state has the seed 0, this loader was given 5"):
            DataLoader(Rows(lambda i: i), 4, sampler=[1], output="numpy", seed=5).load_state_dict(loader.state_dict())
        with self.assertRaisesRegex(ridgeline.ArgumentError, "belongs to another loader"):
            again.load_state_dict({"schema": "x", "epoch": 0, "delivered": 0})


if __name__ == "__main__":
    unittest.main()
