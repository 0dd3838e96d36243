"""Python functions run one call at a time from beginning to end, also while they wait for a file."""

import os
import signal
import tempfile
import threading
import time
import unittest
import warnings

import numpy as np

from ridgeline import data
from ridgeline.data import DataLoader


ARRAYS = {"output": "numpy", "transform": data.CenterCrop(4)}


class Entered:
    """Counts the calls that are inside at one time."""

    def __init__(self):
        self.inside, self.most = 0, 0

    def __call__(self, value):
        self.inside += 1
        self.most = max(self.most, self.inside)
        time.sleep(0.001)  # leaves the interpreter to others, as reading a file does
        self.inside -= 1
        return value

    def row(self, index):
        return (self(index),)


def run(made):
    return list(data.Iterator(made.batch(8), workers=4))


class OneFile:
    """A data set that seeks and reads one open file, as many are written: 4x4 pixels of value i, label i."""

    def __init__(self, path, rows):
        self.rows = rows
        with open(path, "wb") as file:
            for i in range(rows):
                file.write(bytes([i]) * 48)
        self.file = open(path, "rb", buffering=0)

    def __len__(self):
        return self.rows

    def __getitem__(self, i):
        self.file.seek(48 * i)
        time.sleep(0.0005)
        return np.frombuffer(self.file.read(48), np.uint8).reshape(4, 4, 3), i


class OneAtATime(unittest.TestCase):
    def test_functions_predicates_and_generators_are_entered_once_at_a_time(self):
        numbers = data.InMemory({"x": np.arange(64)})
        for make in (lambda f: numbers.map_columns(["x"], data.Function(f)),
                     lambda f: numbers.filter(data.passes("x", lambda v: f(v) >= 0)),
                     lambda f: data.FromGenerator(f.row, [("x", "i64", ())], 64)):
            entered = Entered()
            rows = run(make(entered))
            self.assertEqual(sorted(v for b in rows for v in b["x"].tolist()), list(range(64)))
            self.assertEqual(entered.most, 1)

    def test_methods_of_one_object_take_one_turn(self):
        entered = Entered()
        made = (data.FromGenerator(entered.row, [("x", "i64", ())], 64)
                .map_columns(["x"], data.Function(entered.__call__)).filter(data.passes("x", entered, name="entered")))
        self.assertEqual(sum(len(b["x"]) for b in run(made)), 63)  # the row 0 does not pass
        self.assertEqual(entered.most, 1)

    def test_a_function_that_is_declared_safe_is_entered_by_several_workers(self):
        meeting = threading.Barrier(2)

        def meets(value):
            meeting.wait(30)
            return value

        made = data.InMemory({"x": np.arange(2)}).map_columns(["x"], data.Function(meets, thread_safe=True))
        self.assertEqual([b["x"].tolist() for b in data.Iterator(made.batch(2), workers=2)], [[0, 1]])

    def test_a_function_may_run_another_graph_with_itself(self):
        def nested(value):
            if value < 10:
                inner = data.InMemory({"x": np.array([value + 10])}).map_columns(["x"], data.Function(nested)).batch(1)
                return next(data.Iterator(inner, pull=True))["x"][0]
            return value

        made = data.InMemory({"x": np.arange(4)}).map_columns(["x"], data.Function(nested)).batch(4)
        self.assertEqual(next(data.Iterator(made, workers=2))["x"].tolist(), [10, 11, 12, 13])


class Forks(unittest.TestCase):
    def test_a_child_does_not_wait_for_a_turn_that_the_parents_thread_has(self):
        parent, entered, gate = os.getpid(), threading.Event(), threading.Event()

        def row(index):
            if os.getpid() == parent:
                entered.set()
                gate.wait()
            return (index,)

        made = data.FromGenerator(row, [("x", "i64", ())], 4).batch(4)
        it = data.Iterator(made)
        entered.wait()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # 3.12: threads and fork
            child = os.fork()
        if child == 0:
            signal.alarm(120)  # one that waits for ever ends by this
            os._exit(0 if next(data.Iterator(made))["x"].tolist() == [0, 1, 2, 3] else 1)
        self.assertEqual(os.waitpid(child, 0), (child, 0))
        gate.set()
        self.assertEqual(next(it)["x"].tolist(), [0, 1, 2, 3])


class OneFileForAll(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.set = OneFile(os.path.join(self.dir.name, "rows"), 96)
        self.addCleanup(self.set.file.close)

    def check(self, loader):
        for image, label in loader:
            self.assertTrue((image == label[:, None, None, None]).all())

    def test_a_data_set_that_seeks_and_reads_one_file_gives_its_own_samples(self):
        self.check(DataLoader(self.set, 8, num_workers=4, shuffle=True, **ARRAYS))

    def test_two_loaders_over_one_data_set_take_turns(self):
        loaders = [DataLoader(self.set, 8, num_workers=2, **ARRAYS, shuffle=True, seed=seed) for seed in (1, 2)]
        for one, other in zip(*loaders):
            self.check([one, other])

    def test_parts_of_one_data_set_take_its_turn(self):
        try:
            import torch
        except ImportError:
            self.skipTest("PyTorch is not installed")
        subset = torch.utils.data.Subset(self.set, range(0, 96, 2))
        both = torch.utils.data.ConcatDataset([subset, torch.utils.data.Subset(self.set, range(1, 96, 2))])
        loaders = [DataLoader(part, 8, num_workers=2, **ARRAYS) for part in (subset, both, self.set)]
        for batches in zip(*loaders):
            self.check(batches)


if __name__ == "__main__":
    unittest.main()
