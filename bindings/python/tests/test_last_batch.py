"""A batch holds samples and nothing else: no row of zeros counts as a picture of class 0, unless padding is asked for."""

import unittest

import numpy as np

from ridgeline import data

from support import Folder


def numbers(rows, batch, **options):
    made = data.InMemory({"x": np.arange(1, rows + 1), "name": [b"%d" % i for i in range(1, rows + 1)]}).batch(batch)
    return data.Iterator(made, **options)


class LastBatch(unittest.TestCase):
    def test_a_last_batch_that_is_not_full_is_shorter(self):
        for workers in (1, 3):
            batches = list(numbers(10, 4, epochs=2, workers=workers))
            self.assertEqual([len(b["x"]) for b in batches], [4, 4, 2] * 2)
            self.assertEqual([b.rows for b in batches], [4, 4, 2] * 2)
            self.assertEqual([b.samples for b in batches], [4, 4, 2] * 2)
            self.assertEqual([v for b in batches for v in b["x"].tolist()], [*range(1, 11)] * 2)
            self.assertEqual([v for b in batches for v in b["name"]], [b"%d" % i for i in range(1, 11)] * 2)
            self.assertTrue(all(b["mask"].all() for b in batches))
            self.assertEqual(batches[2].columns()[0], ("x", "i64", (2,)))
            self.assertEqual(batches[2].shape("x"), (2,))

    def test_padding_is_there_where_it_is_asked_for_and_mask_tells_it(self):
        batches = list(numbers(10, 4, pad_last=True))
        self.assertEqual([b["x"].tolist() for b in batches], [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 0, 0]])
        self.assertEqual(batches[2]["mask"].tolist(), [1, 1, 0, 0])
        self.assertEqual((batches[2].rows, batches[2].samples), (4, 2))

    def test_states_are_the_same_with_and_without_padding(self):
        short, padded = numbers(10, 4), numbers(10, 4, pad_last=True)
        next(short), next(padded)
        self.assertEqual(short.state(), padded.state())
        again = numbers(10, 4, start=padded.state())
        self.assertEqual([b["x"].tolist() for b in again], [[5, 6, 7, 8], [9, 10]])

    def test_a_rank_without_samples_in_the_last_batch_gets_an_empty_one(self):
        made = data.InMemory({"x": np.arange(5)}).shard(2, 1).batch(2)
        self.assertEqual([b["x"].tolist() for b in data.Iterator(made)], [[1, 3], []])

    def test_operations_of_whole_batches_leave_the_samples_alone_that_are_there(self):
        made = (data.InMemory({"image": np.full((5, 4, 4, 3), 100, np.uint8), "label": np.arange(5, dtype=np.int32)})
                .map_columns(["label"], data.OneHot(5)).map(data.Normalize([0] * 3, [1] * 3))
                .batch(3, operations=[data.MixUp()]))
        last = list(data.Iterator(made))[1]
        self.assertEqual(last["image"].shape, (2, 4, 4, 3))
        self.assertTrue(np.allclose(last["image"], 100 / 255))
        self.assertTrue(np.allclose(last["label"].sum(axis=1), 1))


class SkippedSamples(Folder):
    def test_a_skipped_sample_leaves_no_row_and_the_records_go_with_the_others(self):
        with open(f"{self.dir}/class1/004.jpg", "wb") as file:
            file.write(b"no picture")
        made = data.ImageFolder(self.dir).map(data.Resize((8, 8)), data.Normalize.imagenet()).batch(8)
        it = data.Iterator(made, bad_samples="skip")
        batches = list(it)
        self.assertEqual([len(b["image"]) for b in batches], [8, 7, 8, 6])
        self.assertEqual([r for b in batches for r in b.records], [i for i in range(30) if i != 13])
        self.assertEqual([len(b.records) for b in batches], [b.rows for b in batches])
        labels = [v for b in batches for v in b["label"].tolist()]
        self.assertEqual([labels.count(c) for c in range(3)], [9, 9, 11])
        replay = data.Replayer(made)
        for batch in batches:
            for image, record in zip(batch["image"], batch.records):
                self.assertTrue((replay.sample(0, record)["image"] == image).all())
        self.assertEqual(it.bad_samples(), 1)


if __name__ == "__main__":
    unittest.main()
