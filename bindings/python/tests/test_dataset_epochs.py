"""`for batch in dataset:` is an epoch."""

import os
import unittest

import numpy as np

import ridgeline
from ridgeline import data

from support import Folder, digest_of, threads


class Epochs(Folder):
    def test_each_for_is_the_next_epoch_as_an_iterator_has_them(self):
        made = self.pipeline()
        expected = [digest_of([batch]) for batch in data.Iterator(self.pipeline(), epochs=3)]
        seen = []
        for _ in range(3):
            epoch = [digest_of([batch]) for batch in made]
            self.assertEqual(len(epoch), len(made))
            seen += epoch
        self.assertEqual(seen, expected)

    def test_a_for_that_is_left_early_is_an_epoch_and_leaves_no_threads(self):
        made, running = self.pipeline(), threads()
        for batch in made:
            break
        self.assertEqual(threads(), running)
        self.assertTrue(np.isfinite(batch["image"]).all())
        expected = [digest_of([b]) for b in data.Iterator(self.pipeline(), epochs=2)][len(made):]
        self.assertEqual([digest_of([b]) for b in made], expected)

    def test_a_dataset_without_batches_says_so(self):
        with self.assertRaisesRegex(ridgeline.ArgumentError, r"call batch\(\) on it first"):
            next(iter(data.ImageFolder(self.dir)))

    def test_no_rows_are_no_batches(self):
        self.assertEqual(list(data.InMemory({"x": np.zeros(0, np.int64)}).batch(3)), [])

    def test_an_error_ends_the_loop_and_its_threads(self):
        running = threads()
        path = f"{self.dir}/class0/broken.jpg"
        with open(path, "wb") as file:
            file.write(b"no picture")
        try:
            with self.assertRaisesRegex(ridgeline.RunError, "broken.jpg"):
                list(self.pipeline())
        finally:
            os.remove(path)
        self.assertEqual(threads(), running)


if __name__ == "__main__":
    unittest.main()
