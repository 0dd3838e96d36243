"""Runs: batches are views that stay valid, positions restore anywhere, threads and memory go away, Ctrl-C ends a wait."""

import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings

import numpy as np

import ridgeline
from ridgeline import data

from support import Folder, digest_of, run_python, threads


class Batches(Folder):
    def test_a_batch_is_gone_through_by_the_names_of_its_columns(self):
        batch = next(data.Iterator(self.pipeline()))
        self.assertEqual(list(batch), ["image", "label", "mask"])
        self.assertEqual(list(dict(batch)), batch.keys())

    def test_columns_are_views_of_one_memory(self):
        for batch in data.Iterator(self.pipeline()):
            image = batch["image"]
            rows = 6 if batch.last_of_epoch else 8
            self.assertEqual((image.dtype, image.shape), (np.float32, (rows, 24, 24, 3)))
            self.assertTrue(np.shares_memory(image, batch["image"]))
            self.assertTrue(np.shares_memory(image, np.from_dlpack(batch.dlpack("image"))))
            first = np.from_dlpack(batch.dlpack("image", channels_first=True))
            self.assertEqual(first.shape, (rows, 3, 24, 24))
            self.assertTrue(np.shares_memory(image, first))
            self.assertTrue((first == image.transpose(0, 3, 1, 2)).all())
            self.assertEqual(batch["label"].dtype, np.int32)
            self.assertEqual((batch.rows, batch.samples, batch["mask"].tolist()), (rows, rows, [1] * rows))
            self.assertEqual(batch.keys(), ["image", "label", "mask"])
            self.assertEqual(len(batch.records), batch.samples)
        with self.assertRaisesRegex(ridgeline.ArgumentError, "did you mean 'image'"):
            batch["imag"]

    def test_element_types(self):
        rows = data.InMemory({"x": np.linspace(-3, 3, 6, dtype=np.float32).reshape(3, 2)})
        for dtype, numpy in [("f64", "f8"), ("f32", "f4"), ("f16", "f2"), ("i32", "i4"), ("i64", "i8")]:
            made = rows.map_columns(["x"], data.TypeCast(dtype)).batch(3)
            self.assertEqual(next(data.Iterator(made))["x"].dtype, np.dtype(numpy))
        values = {"f8": [1.5], "f4": [2.5], "f2": [0.5], "u1": [200], "i4": [-3], "i8": [2 ** 40], "?": [True]}
        made = data.InMemory({name: np.array(v, dtype=name) for name, v in values.items()}).batch(1)
        batch = next(data.Iterator(made))
        for name, v in values.items():
            self.assertEqual((batch[name].dtype, batch[name].tolist()), (np.dtype(name), v))
        half = next(data.Iterator(rows.map_columns(["x"], data.TypeCast("bf16")).batch(3)))
        try:
            import ml_dtypes  # noqa: F401
        except ImportError:
            with self.assertRaisesRegex(ridgeline.ArgumentError, "bf16"):
                half["x"]
        else:
            self.assertEqual(str(half["x"].dtype), "bfloat16")

    def test_kept_batches_stay_as_they_are_whatever_the_loader_does(self):
        it = data.Iterator(self.pipeline(), epochs=10)
        kept = []
        for batch in it:
            kept.append((batch["image"], batch["image"].copy()))
        self.assertEqual(len(kept), 40)
        for view, copy in kept:
            self.assertTrue((view == copy).all())
        del it, batch
        gc.collect()
        self.assertTrue(all((view == copy).all() for view, copy in kept))
        view, copy = kept[0]
        kept.clear()
        gc.collect()
        self.assertTrue((view == copy).all())

    def test_a_few_batches_are_lent_and_not_copied(self):
        it = data.Iterator(self.pipeline(), epochs=3)
        previous = None
        for batch in it:
            self.assertFalse(batch.copied)
            previous = batch  # noqa: F841: as `x, y = next(...)` holds the last one
        for slots in (1, 2, 3):
            self.assertEqual(len(list(data.Iterator(self.pipeline(), epochs=2, slots=slots))), 8)

    def test_runs_do_not_depend_on_workers_slots_or_the_caller(self):
        expected = digest_of(data.Iterator(self.pipeline(), epochs=2, pull=True))
        for options in ({"workers": 1}, {"workers": 3, "slots": 2}, {"autotune": True}, {"jpeg_index_memory": 0}):
            self.assertEqual(digest_of(data.Iterator(self.pipeline(), epochs=2, **options)), expected)
        self.assertNotEqual(digest_of(data.Iterator(self.pipeline(), epochs=2, seed=6)), expected)

    def test_replay_gives_the_samples_of_a_run(self):
        made = self.pipeline(batch=30)
        replayer = data.Replayer(made)
        for epoch, batch in enumerate(data.Iterator(made, epochs=2)):
            for i in (0, 7, 29):
                sample = replayer.sample(epoch, i)
                self.assertTrue((sample["image"] == batch["image"][i]).all())
                self.assertEqual(sample.record, batch.records[i])
        self.assertIsNone(replayer.sample(0, 30))
        self.assertIn("class", data.replay(made, 0, 3).origin)
        with self.assertRaises(IndexError):
            data.replay(made, 0, 30)

    def test_raw_images_leave_the_tail_to_the_consumer(self):
        it = data.Iterator(self.pipeline(), raw_images=True)
        normalize, mean, _, flip = it.image_tail()
        self.assertTrue(normalize and flip)
        self.assertEqual(mean, [0.485, 0.456, 0.406])
        batch = next(it)
        self.assertEqual(batch["image"].dtype, np.uint8)
        self.assertEqual(batch.flip.shape, (8,))

    def test_statistics(self):
        it = data.Iterator(self.pipeline())
        list(it)
        stats = it.stats()
        self.assertEqual(set(stats), {"stages", "seconds", "consumer_wait_seconds", "worker_wait_seconds", "batches",
                                      "workers", "bad_samples", "jpeg_indices", "jpeg_index_bytes",
                                      "jpeg_indices_on_disk", "advice"})
        self.assertEqual({type(stats[name]) for name in ("batches", "workers", "bad_samples")}, {int})
        self.assertIsInstance(stats["advice"], str)
        self.assertEqual(stats["batches"], 4)
        self.assertEqual({s["samples"] for s in stats["stages"] if s["name"] == "read"}, {30})


class PageLocks(Folder):
    def test_every_batchs_memory_is_registered_and_unregistered_once(self):
        held, seen = {}, []

        def register(address, size):
            self.assertEqual(address % 4096, 0)
            self.assertNotIn(address, held)
            held[address] = size
            seen.append(size)

        it = data.Iterator(self.pipeline(), epochs=2, slots=3, page_lock=(register, held.pop))
        self.assertEqual(len(held), 3)
        kept = next(it)["image"]  # lent, so that the memory stays
        value = kept.copy()
        for batch in it:
            address = batch["image"].ctypes.data
            inside = [a for a, size in held.items() if a <= address and address + batch["image"].nbytes <= a + size]
            self.assertEqual(len(inside), 0 if batch.copied else 1)
        del it, batch
        gc.collect()
        self.assertEqual(len(held), 3)  # they go together
        self.assertTrue((kept == value).all())
        del kept
        gc.collect()
        self.assertEqual((held, len(seen)), ({}, 3))

    def test_what_cannot_be_registered_is_an_error(self):
        def refuse(address, size):
            raise MemoryError("no more pages")

        with self.assertRaisesRegex(ridgeline.RunError, "MemoryError: no more pages"):
            data.Iterator(self.pipeline(), page_lock=(refuse, print))
        with self.assertRaisesRegex(ridgeline.ArgumentError, "page_lock"):
            data.Iterator(self.pipeline(), page_lock=(refuse,))
        plain = digest_of(data.Iterator(self.pipeline()))
        pair = (lambda address, size: None, lambda address: None)
        self.assertEqual(digest_of(data.Iterator(self.pipeline(), page_lock=pair)), plain)

    def test_a_process_that_ends_with_registered_memory_ends(self):
        code = ("import sys\nfrom ridgeline import data\n"
                "made = data.ImageFolder(sys.argv[1]).map(data.Resize((20, 20))).batch(4)\n"
                "it = data.Iterator(made, page_lock=(lambda a, n: None, lambda a: None))\nkept = next(it)['image']\n"
                "print(kept.shape)")
        done = run_python(code, self.dir)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "(4, 20, 20, 3)\n", ""))


class States(Folder):
    def test_a_state_goes_on_with_other_workers_under_other_ranks_in_another_process(self):
        """Killed in the middle of an epoch; 1, 2 and 4 ranks give the remaining samples."""
        def part(ranks, rank):
            made = data.ImageFolder(self.dir).shuffle().shard(ranks, rank)
            return made.map(data.RandomResizedCrop(16)).batch(8 // ranks).with_seed(9)

        whole = list(data.Iterator(part(1, 0), epochs=2))
        code = ("import sys, os, json, signal\nfrom ridgeline import data\n"
                "made = (data.ImageFolder(sys.argv[1]).shuffle().shard(2, 0).map(data.RandomResizedCrop(16))"
                ".batch(4).with_seed(9))\n"
                "it = data.Iterator(made, epochs=2, workers=3)\n"
                "next(it), next(it)\nprint(json.dumps(it.state()), flush=True)\nos.kill(os.getpid(), signal.SIGKILL)")
        done = run_python(code, self.dir)
        self.assertEqual(done.returncode, -signal.SIGKILL)
        state = json.loads(done.stdout)
        self.assertEqual(state["delivered"], 2)
        for ranks in (1, 2, 4):
            parts = [list(data.Iterator(part(ranks, r), epochs=2, workers=r + 1, start=state)) for r in range(ranks)]
            for step, expected in enumerate(whole[2:]):
                got = sorted(r for p in parts for r in p[step].records)
                self.assertEqual(got, sorted(expected.records))
                sums = sum(float(p[step]["image"].sum()) for p in parts)
                self.assertEqual(sums, float(expected["image"].sum()))

    def test_restore_goes_back_and_state_counts_what_was_delivered(self):
        it = data.Iterator(self.pipeline(), epochs=2)
        first = next(it)
        state = it.state()
        self.assertEqual(first.state_after(), state)
        rest = digest_of(it)
        it.restore(state)
        self.assertEqual(digest_of(it), rest)
        self.assertLess(len(json.dumps(state)), 250)

    def test_a_state_of_another_graph_is_refused(self):
        state = data.Iterator(self.pipeline()).state()
        with self.assertRaisesRegex(ridgeline.Error, "another data graph"):
            data.Iterator(self.pipeline(size=25), start=state)
        with self.assertRaisesRegex(ridgeline.Error, "seed"):
            data.Iterator(self.pipeline(), start=state, seed=77)
        with self.assertRaises(ridgeline.Error):
            data.Iterator(self.pipeline(), start={"schema": "data-state"})


class Threads(Folder):
    def test_a_thousand_iterators_leave_no_thread_and_no_memory(self):
        def rss():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * 4096

        made = self.pipeline()

        def once(i):
            it = data.Iterator(made, workers=2, memory_limit=1 << 20)
            if i % 3 == 0:
                next(it)
            if i % 5 == 0:
                it.close()

        for i in range(100):
            once(i)
        before, bytes_before = threads(), rss()
        for i in range(1000):
            once(i)
        gc.collect()
        self.assertEqual(threads(), before)
        self.assertLess(rss() - bytes_before, 20 << 20)

    def test_other_python_threads_run_while_one_waits(self):
        slow = data.FromGenerator(lambda i: (time.sleep(0.05) or i,), [("x", "i64", ())], 8)
        counted = [0]
        stop = threading.Event()

        def count():
            while not stop.is_set():
                counted[0] += 1
                time.sleep(0.001)

        thread = threading.Thread(target=count)
        thread.start()
        list(data.Iterator(slow.batch(8), workers=1))
        stop.set()
        thread.join()
        self.assertGreater(counted[0], 50)

    def test_ctrl_c_ends_a_wait_within_a_second_and_the_run_goes_on(self):
        code = ("import sys, time, threading, os, signal\nfrom ridgeline import data\n"
                "gate = threading.Event()\n"
                "made = data.FromGenerator(lambda i: (gate.wait(20) and i or i,), [('x', 'i64', ())], 4).batch(4)\n"
                "it = data.Iterator(made)\n"
                "threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
                "begin = time.time()\n"
                "try:\n    next(it)\nexcept KeyboardInterrupt:\n    print('interrupted', time.time() - begin < 1.3)\n"
                "gate.set()\nprint(next(it)['x'].tolist())")
        done = run_python(code)
        self.assertEqual(done.stdout.split("\n")[:2], ["interrupted True", "[0, 1, 2, 3]"], done.stderr)

    def test_a_timeout_is_an_error_and_the_run_goes_on(self):
        gate = threading.Event()
        made = data.FromGenerator(lambda i: (gate.wait(20) and i or i,), [("x", "i64", ())], 2).batch(2)
        it = data.Iterator(made)
        with self.assertRaisesRegex(ridgeline.RunError, "timeout"):
            it.next(timeout=0.2)
        gate.set()
        self.assertEqual(it.next(timeout=20)["x"].tolist(), [0, 1])

    def test_a_process_that_ends_in_the_middle_of_a_run_ends(self):
        code = ("import sys\nfrom ridgeline import data\n"
                "made = data.ImageFolder(sys.argv[1]).map(data.Resize((20, 20)), data.Function(lambda x: x)).batch(4)\n"
                "it = data.Iterator(made, epochs=-1, workers=3)\nb = next(it)\nkept = b['image']\n"
                "print(int(kept.sum()) > 0)")
        for _ in range(3):
            done = run_python(code, self.dir, timeout=60)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "True\n", ""))

    def test_a_fork_leaves_the_parent_alone_and_makes_runs_of_its_own(self):
        made = self.pipeline()
        expected = digest_of(data.Iterator(made))
        it = data.Iterator(made, epochs=2)
        kept = next(it)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # 3.12: threads and fork
            child = os.fork()
        if child == 0:
            code = 1
            try:
                try:
                    next(it)
                except ridgeline.ArgumentError as e:
                    assert "fork" in str(e), e
                else:
                    raise AssertionError("a run of the parent was used")
                assert float(kept["image"].sum()) != 0
                it.close()
                del it, kept
                gc.collect()
                assert digest_of(data.Iterator(made, workers=2)) == expected
                code = 0
            finally:
                os._exit(code)
        deadline = time.time() + 30
        while True:
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid or time.time() > deadline:
                break
            time.sleep(0.05)
        if not pid:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        self.assertEqual((pid, status), (child, 0))
        self.assertEqual(sum(1 for _ in it), 7)

    def test_callbacks_are_called_around_batches(self):
        seen = []

        class Calls:
            step_size = 2

            def epoch_begin(self, epoch, step, run_steps):
                seen.append(("epoch", epoch))

            def step_end(self, epoch, step, run_steps):
                seen.append(("step", epoch, step))

            def end(self, epoch, step, run_steps):
                seen.append(("end", run_steps))

        list(data.Iterator(self.pipeline().with_callbacks(Calls()), epochs=2))
        self.assertEqual(seen, [("epoch", 0), ("step", 0, 2), ("step", 0, 4), ("epoch", 1), ("step", 1, 2),
                                ("step", 1, 4), ("end", 8)])

        class Fails:
            def step_begin(self, epoch, step, run_steps):
                raise ValueError("no more")

        it = data.Iterator(self.pipeline().with_callbacks(Fails()))
        for _ in range(2):
            with self.assertRaisesRegex(ridgeline.RunError, r"ValueError: no more \(.*test_run.py:\d+\)"):
                next(it)


class Package(unittest.TestCase):
    def test_it_is_imported_without_others(self):
        code = ("import sys\nbefore = set(sys.modules)\nimport ridgeline.data\n"
                "print(*sorted(m for m in set(sys.modules) - before if m.split('.')[0] != 'ridgeline'))")
        small = {"__future__", "_collections", "_functools", "_operator", "atexit", "collections", "collections.abc",
                 "copyreg", "functools", "itertools", "keyword", "operator", "reprlib", "types"}
        self.assertEqual(set(run_python(code).stdout.split()) - small, set())

    def test_no_error_prints_a_stray_line(self):
        done = run_python("from ridgeline import data\n"
                          "import ridgeline\nprint(ridgeline.__version__, ridgeline.data is data)")
        self.assertEqual((done.stdout, done.stderr), ("0.2.0 True\n", ""))


if __name__ == "__main__":
    unittest.main()
