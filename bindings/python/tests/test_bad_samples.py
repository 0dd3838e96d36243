"""Samples that Python makes and that fail: left out, replaced, listed."""

import tempfile
import unittest

import numpy as np

import ridgeline
from ridgeline.data import DataLoader

from made_rows import Rows, bad_at


class BadSamples(unittest.TestCase):
    def test_bad_samples_are_left_out_or_replaced_and_listed(self):
        with tempfile.TemporaryDirectory() as directory:
            for workers in (0, 2):
                listed = f"{directory}/bad{workers}"
                loader = DataLoader(Rows(bad_at({3, 4, 39})), 4, num_workers=workers, output="numpy", bad_samples="skip",
                                    quarantine=listed)
                self.assertEqual([len(b) for b in loader], [3, 3] + [4] * 7 + [3])
                self.assertEqual(loader.bad_samples(), 3)
                with open(listed) as file:
                    self.assertEqual([line.split('"origin": "')[1].split('"')[0] for line in file],
                                     ["sample 3", "sample 4", "sample 39"])
                replaced = [[b.tolist() for b in DataLoader(Rows(bad_at({3, 4, 39})), 4, num_workers=n, output="numpy",
                                                            bad_samples="replace")] for n in (workers, 1)]
                self.assertEqual(*replaced)
                self.assertTrue(all(len(b) == 4 and not {3, 4, 39} & set(b) for b in replaced[0]))

    def test_a_sample_of_another_schema_is_a_bad_one(self):
        data = Rows(lambda i: float(i) if i in (0, 5) else None if i == 3 else i)
        loader = DataLoader(Rows(lambda i: "x" if i in (5, 6) else i), 4, num_workers=2, output="numpy", bad_samples="skip")
        self.assertEqual(np.concatenate(list(loader)).tolist(), [i for i in range(40) if i not in (5, 6)])
        loader = DataLoader(data, 4, output="numpy", bad_samples="replace")
        self.assertEqual([len(b) for b in loader], [4] * 10)

    def test_a_first_batch_without_a_good_sample_leaves_the_schema_to_the_next(self):
        loader = DataLoader(Rows(bad_at({0, 1, 2, 3})), 4, num_workers=3, output="numpy", bad_samples="skip")
        self.assertEqual(np.concatenate([b for b in loader if b is not None]).tolist(), list(range(4, 40)))

    def test_more_bad_samples_than_the_budget_end_the_run(self):
        with self.assertRaisesRegex(ridgeline.RunError, "more than 2 bad samples, the last one: sample 5: ValueError"):
            list(DataLoader(Rows(bad_at({3, 4, 5})), 4, num_workers=2, output="numpy", bad_samples="skip",
                            bad_sample_budget=2))
        with self.assertRaisesRegex(ridgeline.RunError, "16 samples in its place were bad, too"):
            list(DataLoader(Rows(bad_at(set(range(40)))), 4, output="numpy", bad_samples="replace"))


if __name__ == "__main__":
    unittest.main()
