"""Samples that worker processes make, whose pictures the engine makes."""

import gc
import io
import os
import signal
import tempfile
import threading
import time
import unittest

import numpy as np

import ridgeline
from ridgeline import data
from ridgeline.data import DataLoader

from made_rows import Rows
from support import jpeg, run_python, started_from
from test_worker_processes import children, files, gone

SIDE = 24
CROP = [data.RandomResizedCrop(SIDE), data.RandomHorizontalFlip()]
PICTURES = [jpeg(np.random.default_rng(i), 40 + i, 60 - i) for i in range(10)]


def labelled(index):
    return PICTURES[index % 10], index


def pixels(index):
    from PIL import Image

    return {"image": np.asarray(Image.open(io.BytesIO(PICTURES[index % 10]))), "name": f"n{index}", "pid": os.getpid()}


def whole(index):
    return {"image": PICTURES[index % 10], "name": f"n{index}", "pid": os.getpid(), "values": np.full(3000, index, np.float32)}


def same(one, other):
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one if key != "pid")
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return np.array_equal(one, other)


def exit_code(pid, seconds=60):
    """Of a child; None, and it is killed, where it does not end."""
    for _ in range(seconds * 1000):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


class SampleProcesses(unittest.TestCase):
    def loader(self, make, batch_size=4, count=40, **options):
        options = {"num_workers": 2, "multiprocessing_context": "fork", "output": "numpy", "transform": CROP, **options}
        loader = DataLoader(Rows(make, count), batch_size, **options)
        self.addCleanup(loader.close)
        return loader

    def test_batches_are_those_of_threads(self):
        for make in (labelled, pixels, whole):
            for options in ({}, {"shuffle": True, "seed": 3}, {"batch_sampler": [[3, 1], [39], [7, 7, 7]]}):
                with self.subTest(make.__name__, **options):
                    theirs = self.loader(make, multiprocessing_context=None, **({"batch_size": 1} | options)
                                         if "batch_sampler" in options else options)
                    mine = self.loader(make, **({"batch_size": 1} | options) if "batch_sampler" in options else options)
                    for _ in range(2):
                        self.assertTrue(same(list(mine), list(theirs)))

    def test_samples_are_made_by_as_many_processes_as_asked_and_pictures_here(self):
        loader = self.loader(lambda i: (time.sleep(0.002), whole(i))[1], num_workers=3)
        seen = {pid for batch in loader for pid in batch["pid"].tolist()}
        self.assertEqual(len(seen), 3)
        self.assertNotIn(os.getpid(), seen)
        self.assertEqual(children(), [])

    def test_processes_that_are_started_anew_see_the_same_samples(self):
        for context in ("spawn", "forkserver"):
            done = run_python(SPAWNED, context, cwd=os.path.dirname(__file__), timeout=300)
            self.assertEqual((done.returncode, done.stdout.strip()), (0, "[0, 1, 4, 9, 16, 25] 2"), done.stderr)

    def test_an_error_of_a_sample_has_its_name_and_the_users_line(self):
        def make(index):
            if index in (5, 13):
                raise ZeroDivisionError(f"no sample {index}")
            return labelled(index)

        line = make.__code__.co_firstlineno + 2
        with self.assertRaisesRegex(ridgeline.RunError, rf"5: ZeroDivisionError: no sample 5 \(.*test_sample_processes.py:{line}\)"):
            list(self.loader(make))
        loader = self.loader(make, bad_samples="skip")
        self.assertEqual([i for _, labels in loader for i in labels.tolist()], [i for i in range(40) if i not in (5, 13)])

    def test_a_sample_unlike_the_first_is_told(self):
        with self.assertRaisesRegex(ridgeline.RunError, r"sample 6: \['name'\] is int 6, by the first sample it is a text"):
            list(self.loader(lambda i: whole(i) if i != 6 else {**whole(i), "name": 6}))

    def test_a_process_that_ends_ends_the_run_whatever_happens_to_bad_samples(self):
        for end, words in ((lambda: os.kill(os.getpid(), signal.SIGKILL), "was killed by signal SIGKILL"),
                           (lambda: os._exit(3), "ended with exit code 3")):
            for policy, persistent in (("raise", True), ("skip", False)):
                with tempfile.TemporaryDirectory() as directory, self.subTest(words, policy=policy):
                    gate = f"{directory}/gate"
                    open(gate, "w").close()

                    def make(index):
                        if index == 17 and os.path.exists(gate):
                            os.remove(gate)
                            end()
                        return labelled(index)

                    loader = self.loader(make, bad_samples=policy, persistent_workers=persistent)
                    with self.assertRaisesRegex(ridgeline.RunError, rf"worker process [01] \(pid \d+\) {words}.* while it made sample 17"):
                        list(loader)
                    self.assertEqual(children(), [])
                    loader.load_state_dict(loader.state_dict())
                    got = [i for _, labels in loader for i in labels.tolist()]
                    self.assertEqual(got, list(range(40 - len(got), 40)))
                    loader.close()

    def test_worker_init_fn_and_get_worker_info_are_those_of_the_processes(self):
        state = {}

        def make(index):
            info = data.get_worker_info()
            return {**whole(index), "seen": (state["id"], info.id, info.num_workers, len(info.dataset))} if info else \
                {**whole(index), "seen": (0, 0, 0, 0)}

        loader = self.loader(make, worker_init_fn=lambda number: state.update(id=number))
        seen = {tuple(map(int, one)) for batch in loader for one in zip(*batch["seen"])}
        self.assertLessEqual(seen, {(0, 0, 2, 40), (1, 1, 2, 40)})
        with self.assertRaisesRegex(ridgeline.RunError, r"worker_init_fn\([01]\): ZeroDivisionError"):
            list(self.loader(labelled, bad_samples="skip", worker_init_fn=lambda number: 1 / 0))

    def test_each_epoch_sees_the_data_set_as_it_is_unless_processes_live_on(self):
        for persistent in (None, True):
            state = {"epoch": 5}
            loader = self.loader(lambda i: {**whole(i), "epoch": state["epoch"]}, persistent_workers=persistent)
            pids = []
            for state["epoch"] in (5, 6):
                batches = list(loader)
                pids.append({pid for batch in batches for pid in batch["pid"].tolist()})
                self.assertEqual({e for batch in batches for e in batch["epoch"].tolist()}, {5 if persistent else state["epoch"]})
            self.assertEqual(len(pids[0] | pids[1]) <= 2, bool(persistent))

    def test_what_samples_draw_at_random_is_another_thing_in_every_epoch_and_comes_again(self):
        def make(index):
            info = data.get_worker_info()
            return {**whole(index), "drawn": float(np.random.random()), "seed": info.seed if info else 0}

        def drawn(loader):
            found = {key: [v for batch in batches for v in batch[key].tolist()] for batches in [list(loader)] for key in ("drawn", "seed")}
            self.assertEqual(len(set(found["drawn"])), 40)
            return set(found["drawn"]), set(found["seed"])

        loader = self.loader(make, num_workers=1)
        epochs = [drawn(loader) for _ in range(3)]
        fresh = self.loader(make, num_workers=1)
        fresh.set_epoch(1)
        self.assertEqual(drawn(fresh), epochs[1])
        epochs.append(drawn(self.loader(make, num_workers=1, seed=8)))
        for i, (values, seeds) in enumerate(epochs):
            for others, other_seeds in epochs[:i]:
                self.assertEqual((values & others, seeds & other_seeds), (set(), set()))

    def test_an_epoch_goes_on_from_its_middle(self):
        whole_epoch = list(self.loader(labelled, shuffle=True))
        loader = self.loader(labelled, shuffle=True)
        batches = iter(loader)
        for _ in range(3):
            next(batches)
        state = loader.state_dict()
        batches.close()
        other = self.loader(labelled, shuffle=True, num_workers=3)
        other.load_state_dict(state)
        self.assertTrue(same(list(other), whole_epoch[3:]))

    def test_nothing_is_left_behind(self):
        list(self.loader(labelled))  # what a first use keeps
        gc.collect()
        before = files()
        for persistent in (False, True):
            loader = DataLoader(Rows(whole, 400), 4, num_workers=2, multiprocessing_context="fork", transform=CROP,
                                persistent_workers=persistent, output="numpy")
            for batch in loader:
                break
            del batch
            self.assertEqual(len(children()), 2 if persistent else 0)
            del loader
            gc.collect()
            self.assertEqual(children(), [])
        self.assertEqual(set(files()) - set(before), set())

    def test_the_end_of_the_parent_ends_its_workers(self):
        for number in (signal.SIGKILL, signal.SIGINT):
            done = run_python(PARENT, str(int(number)), cwd=os.path.dirname(__file__), timeout=120)
            pids = [int(pid) for pid in done.stdout.split()]
            self.assertEqual(len(pids), 2, done.stderr)
            self.assertTrue(gone(pids))

    def test_a_fork_waits_for_no_thread_that_calls_python(self):
        loader = self.loader(labelled, count=1 << 20, multiprocessing_context=None)  # the engine's threads make samples
        ended = threading.Event()

        def consume():
            for _ in loader:
                if ended.is_set():
                    return

        thread = threading.Thread(target=consume)
        thread.start()
        try:
            for number in range(300):
                pid = os.fork()
                if pid == 0:
                    os._exit(7)
                self.assertEqual(exit_code(pid), 7, f"fork {number} hangs")
        finally:
            ended.set()
            thread.join()

    def test_what_cannot_be_is_refused(self):
        with self.assertRaisesRegex(ridgeline.ArgumentError, "multiprocessing_context is not supported: with num_workers=0"):
            self.loader(labelled, num_workers=0)
        with self.assertRaisesRegex(ridgeline.ArgumentError, r"multiprocessing_context is 'thread' \(allowed: 'fork'"):
            self.loader(labelled, multiprocessing_context="thread")
        with self.assertRaisesRegex(ridgeline.ArgumentError, "worker processes of 'spawn' get the data set.*by pickle"):
            list(self.loader(lambda i: labelled(i), multiprocessing_context="spawn"))
        with tempfile.TemporaryDirectory() as directory:
            os.mkdir(f"{directory}/one")
            with open(f"{directory}/one/0.jpg", "wb") as file:
                file.write(PICTURES[0])
            with self.assertWarnsRegex(UserWarning, "multiprocessing_context has no effect: workers are threads"):
                DataLoader(directory, 1, transform=CROP, num_workers=2, multiprocessing_context="fork")


SPAWNED = started_from("""
import os
from ridgeline import data
from test_sample_processes import CROP, PICTURES

class Squares:
    def __len__(self):
        return 6

    def __getitem__(self, i):
        return {"image": PICTURES[i], "square": i * i, "here": os.getpid()}

def run(context):
    loader = data.DataLoader(Squares(), 2, num_workers=2, multiprocessing_context=context, output="numpy", transform=CROP)
    batches = list(loader)
    assert all(batch["image"].shape == (2, 24, 24, 3) for batch in batches)
    assert not any(os.getpid() in batch["here"] for batch in batches)
    print(sum((batch["square"].tolist() for batch in batches), []), len(loader.dataset) // 3)
""", "run(sys.argv[1])")

PARENT = """
import os, sys, time
from ridgeline.data import DataLoader
from test_sample_processes import CROP, Rows, labelled

loader = DataLoader(Rows(lambda i: (time.sleep(0.01), labelled(i))[1], 1000), 2, num_workers=2, output="numpy", transform=CROP,
                    multiprocessing_context="fork")
for batch in loader:
    print(*loader._processes.pids(), flush=True)
    os.kill(os.getpid(), int(sys.argv[1]))
"""

if __name__ == "__main__":
    unittest.main()
