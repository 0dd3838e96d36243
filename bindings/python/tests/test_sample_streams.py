"""Streams: data sets that are iterators, alone and shared out over worker processes."""

import unittest

import ridgeline
from ridgeline.data import DataLoader


class Node:
    """Begins anew by reset(), as nodes of torchdata do."""

    def reset(self, state=None):
        self.i = -1

    def __iter__(self):
        return self

    def __next__(self):
        self.i += 1
        if self.i == 10:
            raise StopIteration
        return {"i": self.i}


class Streams(unittest.TestCase):
    def test_an_iterator_that_can_begin_anew_has_epochs(self):
        loader = DataLoader(Node(), 4, output="numpy")
        for _ in range(2):
            self.assertEqual([b["i"].tolist() for b in loader], [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]])

    def test_any_object_with_iter_is_a_stream_and_a_state_passes_over_what_was_delivered(self):
        class Letters:
            def __iter__(self):
                return iter("abcdefghij")

        for workers in (0, 1):
            loader = DataLoader(Letters(), 3, output="numpy", num_workers=workers)
            for batch in loader:
                break
            again = DataLoader(Letters(), 3, output="numpy", num_workers=workers)
            again.load_state_dict(loader.state_dict())
            self.assertEqual([list(b) for b in again], [["d", "e", "f"], ["g", "h", "i"], ["j"]])
            self.assertEqual([list(b) for b in again][0], ["a", "b", "c"])
            self.assertEqual(again.state_dict()["epoch"], 2)

    def test_streams_are_shared_out_by_worker_info_without_pytorch_too(self):
        from ridgeline.data import get_worker_info

        class Shared:
            def __iter__(self):
                info = get_worker_info()
                return iter(range(info.id, 11, info.num_workers) if info else range(11))

        self.assertIsNone(get_worker_info())
        for workers, expected in ((0, [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10]]),
                                  (2, [[0, 2], [1, 3], [4, 6], [5, 7], [8, 10], [9]])):
            loader = DataLoader(Shared(), 2, output="numpy", num_workers=workers)
            self.assertEqual([b.tolist() for b in loader], expected)

    def test_an_error_of_a_stream_is_told_with_the_samples_place(self):
        class Torn:
            def __iter__(self):
                yield from range(5)
                raise OSError("the archive is torn")

        for workers in (0, 2):
            with self.assertRaisesRegex(ridgeline.RunError, "sample 5.*: OSError: the archive is torn"):
                list(DataLoader(Torn(), 2, output="numpy", num_workers=workers))


if __name__ == "__main__":
    unittest.main()
