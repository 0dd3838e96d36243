"""Worker processes: their errors, their ends, what they share and what they leave behind."""

import gc
import os
import signal
import tempfile
import time
import unittest
import warnings
from multiprocessing import resource_tracker

import numpy as np

import ridgeline
from ridgeline.data import DataLoader

from made_rows import Rows, bad_at
from support import run_python, started_from, threads


def children():
    """Without the resource tracker that the interpreter starts with the first use of "spawn", and keeps."""
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return [pid for pid in map(int, file.read().split()) if pid != resource_tracker._resource_tracker._pid]


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone(pids):
    """Whether all end within a minute."""
    until = time.monotonic() + 60
    while any(alive(pid) for pid in pids):
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def files():
    return sorted(os.listdir("/proc/self/fd"))


class OneFile:
    """Seeks and reads one open file, in two steps with time between."""

    def __init__(self, file):
        self.file = file

    def __len__(self):
        return 60

    def __getitem__(self, index):
        self.file.seek(8 * index)
        time.sleep(0.0005)
        return np.frombuffer(self.file.read(8), np.int64).copy()


class Processes(unittest.TestCase):
    def loader(self, make, batch_size=4, count=40, **options):
        options = {"num_workers": 2, "output": "numpy", **options}
        loader = DataLoader(Rows(make, count), batch_size, **options)
        self.addCleanup(loader.close)
        return loader

    def test_samples_are_made_by_as_many_processes_as_asked(self):
        seen = {pid for batch in self.loader(lambda i: (time.sleep(0.002), os.getpid())[1], num_workers=3)
                for pid in batch.tolist()}
        self.assertEqual(len(seen), 3)
        self.assertNotIn(os.getpid(), seen)
        here = {pid for batch in self.loader(lambda i: os.getpid(), num_workers=0) for pid in batch.tolist()}
        self.assertEqual(here, {os.getpid()})

    def test_an_error_of_a_sample_has_its_name_and_the_users_traceback(self):
        for workers in (0, 2):
            loader = self.loader(bad_at({13}), num_workers=workers)
            seen = []
            with self.assertRaisesRegex(ridgeline.RunError, r"^sample 13: ValueError: no sample 13 \(.*made_rows.py:\d+\)$") as caught:
                seen.extend(iter(loader))
            self.assertEqual(len(seen), 3)
            self.assertIsInstance(caught.exception.__cause__, ValueError)
            note = "\n".join(caught.exception.__notes__)
            self.assertIn('raise error(f"no sample {index}")', note)
            self.assertNotIn("_made.py", note)

    def test_an_error_that_cannot_be_pickled_is_told(self):
        class Local(Exception):
            def __reduce__(self):
                raise TypeError("not this one")

        with self.assertRaisesRegex(ridgeline.RunError, "sample 5: Local: no sample 5"):
            list(self.loader(bad_at({5}, Local)))

    def test_what_collate_fn_raises_is_raised_and_the_batch_counts_as_not_delivered(self):
        def collate(samples):
            if samples[0] >= 8 and not os.path.exists(gate):
                raise ZeroDivisionError("no")
            return samples

        with tempfile.TemporaryDirectory() as directory:
            gate = f"{directory}/gate"
            for workers in (0, 2):
                loader, seen = self.loader(lambda i: i, collate_fn=collate, num_workers=workers), []
                with self.assertRaises(ZeroDivisionError):
                    seen.extend(iter(loader))
                self.assertEqual((len(seen), loader.state_dict()["delivered"]), (2, 2))
                open(gate, "w").close()
                loader.load_state_dict(loader.state_dict())
                self.assertEqual(sum(seen + list(loader), []), list(range(40)))
                os.remove(gate)

    def test_worker_init_fn_runs_in_every_worker_and_its_error_is_told(self):
        state = {}
        loader = self.loader(lambda i: state["id"], worker_init_fn=lambda number: state.update(id=number))
        self.assertEqual({v for batch in loader for v in batch.tolist()}, {0, 1})
        with self.assertRaisesRegex(ridgeline.RunError, r"worker_init_fn\([01]\): ZeroDivisionError"):
            list(self.loader(lambda i: i, worker_init_fn=lambda number: 1 / 0))

    def test_a_killed_worker_ends_the_epoch_by_name_and_the_next_one_runs(self):
        for number, words in ((signal.SIGKILL, "SIGKILL: the system may have been short of memory"), (signal.SIGSEGV, "SIGSEGV")):
            def make(index):
                if index == 17 and os.path.exists(path):
                    os.remove(path)
                    os.kill(os.getpid(), number)
                return index

            with tempfile.TemporaryDirectory() as directory:
                path = f"{directory}/gate"
                open(path, "w").close()
                loader, seen = self.loader(make), []
                with self.assertRaisesRegex(ridgeline.RunError, rf"worker process [01] \(pid \d+\) was killed by signal {words}.* while it made batch \d"):
                    seen.extend(iter(loader))
                state = loader.state_dict()
                self.assertEqual(state["delivered"], len(seen))
                loader.load_state_dict(state)
                self.assertEqual(np.concatenate(seen + list(loader)).tolist(), list(range(40)))
            self.assertEqual(children(), [])

    def test_a_worker_that_ends_is_told_with_its_exit_code(self):
        with self.assertRaisesRegex(ridgeline.RunError, r"worker process [01] \(pid \d+\) ended with exit code 3"):
            list(self.loader(lambda i: os._exit(3) if i == 6 else i))

    def test_workers_that_are_killed_at_random_moments_leave_nothing_behind(self):
        gc.collect()  # what other tests have left
        before = files()
        rng = np.random.default_rng(3)
        for _ in range(8):
            loader = DataLoader(Rows(lambda i: np.full(3000, i), 400), 4, num_workers=2, output="numpy")
            with self.assertRaisesRegex(ridgeline.RunError, "was killed by signal SIGKILL"):
                last = int(rng.integers(1, 30))
                for number, batch in enumerate(loader):
                    if number == last:
                        os.kill(children()[int(rng.integers(2))], signal.SIGKILL)
            del loader, batch
        gc.collect()
        self.assertEqual((children(), files()), ([], before))

    def test_a_loop_that_is_left_early_leaves_nothing_behind(self):
        gc.collect()  # what other tests have left
        before, running = files(), threads()
        for persistent in (False, True):
            loader = DataLoader(Rows(lambda i: np.full(5000, i), 400), 4, num_workers=2, output="numpy",
                                persistent_workers=persistent)
            for batch in loader:
                break
            self.assertEqual(len(children()), 2 if persistent else 0)
            del loader
            gc.collect()
            self.assertEqual(children(), [])
            self.assertTrue((batch[0] == 0).all())  # it outlives the workers
            del batch
        gc.collect()
        self.assertEqual(set(files()) - set(before), set())  # what earlier tests left may go meanwhile
        self.assertLessEqual(threads(), running)

    def test_batches_keep_their_memory_and_may_be_written_to(self):
        loader = self.loader(lambda i: np.full(2000, i))
        kept = list(loader)
        for number, batch in enumerate(kept):
            self.assertTrue((batch == np.arange(4 * number, 4 * number + 4)[:, None]).all())
            batch += 1
        self.assertTrue(all((batch - 1 == np.arange(4 * n, 4 * n + 4)[:, None]).all() for n, batch in enumerate(kept)))

    def test_batches_that_are_kept_cost_no_descriptors(self):
        gc.collect()
        before = len(files())
        kept = list(self.loader(lambda i: np.full(2000, i), count=1200))
        self.assertLess(len(files()) - before, 40)
        self.assertEqual([int(batch[0, 5]) for batch in kept], list(range(0, 1200, 4)))

    def test_memory_is_used_again_when_batches_are_let_go(self):
        loader = self.loader(lambda i: np.full(2000, i), count=400, persistent_workers=True)
        for batch in loader:
            del batch
        slabs = [len(member.received._files) for member in loader._work._by.pool._members]
        self.assertLess(max(slabs), 8)

    def test_workers_live_on_where_that_is_asked(self):
        pids = [set(), set()]
        loader = self.loader(lambda i: os.getpid(), persistent_workers=True)
        for found in pids:
            for batch in loader:
                found |= set(batch.tolist())
        self.assertEqual(*pids)
        state = {"epoch": 0}
        loader = self.loader(lambda i: state["epoch"])
        for state["epoch"] in (0, 1):  # each epoch sees the data set as it is
            self.assertEqual({v for batch in loader for v in batch.tolist()}, {state["epoch"]})

    def test_an_epoch_after_one_that_was_left_early_has_its_own_samples(self):
        loader = self.loader(lambda i: (time.sleep(0.001), i)[1], persistent_workers=True, shuffle=True)
        for _ in range(3):
            for batch in loader:
                break
            self.assertEqual(sorted(v for b in loader for v in b.tolist()), list(range(40)))

    def test_waiting_longer_than_timeout_is_an_error(self):
        with self.assertRaisesRegex(ridgeline.RunError, "no batch came within timeout=0.2 seconds"):
            list(self.loader(lambda i: time.sleep(30), timeout=0.2))

    def test_processes_that_are_started_anew_see_the_same_samples(self):
        for context in ("spawn", "forkserver"):
            done = run_python(SPAWNED, context, cwd=os.path.dirname(__file__), timeout=300)
            self.assertEqual((done.returncode, done.stdout.strip()), (0, "[0, 1, 4, 9, 16, 25]"), done.stderr)

    def test_a_process_that_was_started_anew_starts_its_own(self):
        done = run_python(SPAWNED, "spawn", "child", cwd=os.path.dirname(__file__), timeout=300)
        self.assertEqual((done.returncode, done.stdout.split("\n")), (0, ["[0, 1, 4, 9, 16, 25]"] * 2 + ["0", ""]), done.stderr)

    def test_a_data_set_that_seeks_and_reads_one_file_gives_its_own_samples_in_processes(self):
        with tempfile.TemporaryFile() as file:
            file.write(np.arange(60).tobytes())
            file.flush()
            with open(f"/proc/self/fd/{file.fileno()}", "rb", buffering=0) as one, \
                    open(f"/proc/self/fd/{file.fileno()}", "rb") as buffered:
                for opened in (one, buffered):
                    for _ in range(3):
                        loader = DataLoader(OneFile(opened), 4, num_workers=3, output="numpy")
                        self.assertEqual(np.concatenate(list(loader)).ravel().tolist(), list(range(60)))

    def test_the_end_of_the_parent_ends_its_workers(self):
        done = run_python(PARENT, timeout=120)
        pids = [int(pid) for pid in done.stdout.split()]
        self.assertEqual((len(pids), done.returncode), (2, -signal.SIGKILL), done.stderr)
        self.assertTrue(gone(pids))


    def test_an_interrupt_ends_the_loop_and_its_workers(self):
        done = run_python(PARENT.replace("signal.SIGKILL", "signal.SIGINT") + "list(loader)\n", timeout=120)
        pids = [int(pid) for pid in done.stdout.split()]
        self.assertEqual(len(pids), 2, done.stderr)
        self.assertIn("KeyboardInterrupt", done.stderr)
        self.assertTrue(gone(pids))

    def test_processes_are_made_while_the_engines_threads_run(self):
        from ridgeline import data

        numbers = data.InMemory({"x": np.arange(4000)}).map_columns(["x"], data.Function(lambda v: v + 1)).batch(8)
        engine = data.Iterator(numbers, epochs=-1, workers=3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # 3.12: threads and fork
            for _ in range(5):
                next(engine)
                self.assertEqual(np.concatenate(list(self.loader(lambda i: i))).tolist(), list(range(40)))

    def test_two_loaders_run_side_by_side(self):
        one, other = self.loader(lambda i: i), self.loader(lambda i: -i, num_workers=3)
        for a, b in zip(one, other, strict=True):
            self.assertEqual(a.tolist(), (-b).tolist())


SPAWNED = started_from("""
from ridgeline.data import DataLoader

class Squares:
    def __len__(self):
        return 6

    def __getitem__(self, i):
        return i * i

def run(context, epochs):
    loader = DataLoader(Squares(), 2, num_workers=2, multiprocessing_context=context, output="numpy")
    for _ in range(epochs):
        print(sum((b.tolist() for b in loader), []), flush=True)
""", """
    if "child" in sys.argv:
        child = multiprocessing.get_context(sys.argv[1]).Process(target=run, args=(None, 2))
        child.start()
        child.join()
        print(child.exitcode)
    else:
        run(sys.argv[1], 1)
""")

PARENT = """
import os, signal, sys, time
from ridgeline.data import DataLoader

class Slow:
    def __len__(self):
        return 1000

    def __getitem__(self, i):
        time.sleep(0.01)
        return i

loader = DataLoader(Slow(), 2, num_workers=2, output="numpy", persistent_workers=True)
next(iter(loader))
print(*loader._work._by.pool.pids(), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""

if __name__ == "__main__":
    unittest.main()
