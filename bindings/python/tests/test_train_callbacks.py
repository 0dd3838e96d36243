"""Callbacks, exceptions, signals: what ends a training, and what is left then."""

import os
import pathlib
import random
import signal
import subprocess
import sys
import threading
import time
import traceback
import unittest

import ridgeline as rl
from support import run_python
from training_support import EXAMPLES, Folders, Losses, batches, checkpoints, dense_model

KILLS = int(os.environ.get("RIDGELINE_KILLS", "3"))


class Hooks(unittest.TestCase):
    def test_hooks_come_in_order_and_see_the_run(self):
        seen = []

        class Hook(rl.train.Callback):
            every = 4

            def begin(self, run):
                seen.append(("begin", run.step, run.total_steps, run.has_outputs))

            def epoch_begin(self, run):
                seen.append(("epoch_begin", run.epoch))

            def step_end(self, run):
                seen.append(("step_end", run.step, run.epoch, run.step_in_epoch))

            def epoch_end(self, run):
                seen.append(("epoch_end", run.epoch))

            def end(self, run):
                seen.append(("end", run.step, run.last))

        dense_model().train(2, batches(), callbacks=[Hook()])
        self.assertEqual(seen, [
            ("begin", 0, 12, False), ("epoch_begin", 1), ("step_end", 4, 1, 4), ("epoch_end", 1),
            ("epoch_begin", 2), ("step_end", 8, 2, 2), ("step_end", 12, 2, 6), ("epoch_end", 2), ("end", 12, True)])

    def test_a_callback_stops_the_run_and_it_goes_on_when_it_is_called_again(self):
        model = dense_model()
        end = model.train(5, batches(), callbacks=[lambda run: run.stop() if run.step == 9 else None])
        self.assertEqual(end.step, 9)
        self.assertFalse(end.interrupted)
        self.assertEqual(model.train(5, batches()).step, 60)

    def test_what_the_step_returned_can_be_fetched(self):
        values = []
        dense_model().train(1, batches(), callbacks=[lambda run: values.append(run.fetch("total_loss"))])
        self.assertEqual(len(values), 6)
        self.assertEqual(values[0].shape, ())
        self.assertGreater(values[0], 0)
        with self.assertRaisesRegex(rl.Error, "total_loss"):
            dense_model().train(1, batches(), callbacks=[lambda run: run.fetch("totall")])

    def test_a_callback_evaluates_the_model_that_trains(self):
        found = []

        class Evaluate(rl.train.Callback):
            def epoch_end(self, run):
                found.append(run.model.eval(batches(30, 10))["loss"])
                found.append(len(run.model.parameters()))

        model = dense_model()
        model.train(3, batches(), callbacks=[Evaluate()])
        self.assertEqual(len(found), 6)
        self.assertAlmostEqual(found[4], model.eval(batches(30, 10))["loss"])

    def test_a_run_is_gone_when_the_hook_is_over(self):
        kept = []
        dense_model().train(1, batches(), callbacks=[kept.append])
        with self.assertRaisesRegex(rl.ArgumentError, "while the callback's function runs"):
            kept[0].step

    def test_an_exception_ends_the_run_with_the_line_of_the_user(self):
        failed = []

        class Watch(rl.train.Callback):
            def end(self, run):
                failed.append("end")

            def failed(self, run):
                failed.append(run.step)

        def bad(run):
            if run.step == 5:
                raise KeyError("nothing here")  # this line

        try:
            dense_model().train(3, batches(), callbacks=[bad, Watch()])
            self.fail("nothing was raised")
        except KeyError as error:
            frames = traceback.extract_tb(error.__traceback__)
        self.assertEqual(frames[-1].filename, __file__)
        self.assertIn("this line", pathlib.Path(__file__).read_text().splitlines()[frames[-1].lineno - 1])
        self.assertEqual(failed, [5])

    def test_wrong_callbacks_are_refused(self):
        class Every:
            every = 0

            def step_end(self, run):
                pass

        class Past:
            def step_end(self, run):
                pass

            def next_stop(self, step):
                return step

        for callback, text in ((3, "no function"), (object(), "step_end"), (Every(), "1 or more"),
                               (Past(), "names a later step")):
            with self.subTest(text), self.assertRaisesRegex(rl.Error, text):
                dense_model().train(1, batches(), callbacks=[callback])
        with self.assertRaisesRegex(rl.ArgumentError, "callback of the running"):
            dense_model().train(1, batches(), callbacks=[lambda run: run.model.train(1, batches())])


class Exceptions(Folders):
    def test_checkpoints_are_whole_behind_an_exception_and_the_run_goes_on_from_them(self):
        def bad(run):
            if run.step == 15:
                raise ValueError("stop")

        def model_and_keeper(folder):
            return dense_model(), rl.train.Checkpoint(self.path(folder), steps=4)

        model, keeper = model_and_keeper("disturbed")
        with self.assertRaises(ValueError):
            model.train(4, batches(), callbacks=[keeper, bad])
        del model
        self.assertEqual(sorted(checkpoints(self.path("disturbed"))),
                         ["model.ckpt-12.safetensors", "model.ckpt-4.safetensors", "model.ckpt-8.safetensors"])
        for name in ("disturbed", "quiet"):
            model, keeper = model_and_keeper(name)
            self.assertEqual(model.train(4, batches(), callbacks=[keeper]).step, 24)
        self.assertEqual(checkpoints(self.path("disturbed")), checkpoints(self.path("quiet")))


INTERRUPTED = """
import sys
import ridgeline as rl
from training_support import batches, dense_model

def told(run):
    if run.step == 20:
        print("ready", flush=True)
try:
    dense_model().train(100000, batches(), callbacks=[rl.train.Checkpoint(sys.argv[1], steps=100000), told], loop=50)
except KeyboardInterrupt:
    print("KeyboardInterrupt", flush=True)
"""


class Signals(Folders):
    def start(self, code, *args):
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        return subprocess.Popen([sys.executable, "-c", code, *args], env=env, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def test_ctrl_c_is_a_keyboard_interrupt_behind_a_checkpoint(self):
        process = self.start(INTERRUPTED, self.path("run"))
        self.assertEqual(process.stdout.readline(), "ready\n")
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=60)
        # A run that is interrupted before its next step ends behind the same one, of which callbacks hear once more.
        self.assertEqual(out.removeprefix("ready\n"), "KeyboardInterrupt\n", error)
        self.assertEqual(process.returncode, 0)
        saved = list(checkpoints(self.path("run")))
        self.assertEqual(len(saved), 1)
        step = int(saved[0].split("-")[1].split(".")[0])
        model = dense_model()
        end = model.train(100000, batches(), callbacks=[rl.train.Checkpoint(self.path("run")),
                                                        lambda run: run.stop()])
        self.assertEqual(end.step, step + 1)

    def test_sigterm_ends_the_process_behind_a_checkpoint(self):
        process = self.start(INTERRUPTED, self.path("run"))
        self.assertEqual(process.stdout.readline(), "ready\n")
        process.terminate()
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, -signal.SIGTERM)
        self.assertEqual(len(checkpoints(self.path("run"))), 1)

    def test_a_handler_of_the_user_is_called_behind_the_step(self):
        got = []
        before = signal.signal(signal.SIGINT, lambda *_: got.append("handler"))
        try:
            end = dense_model().train(100, batches(), callbacks=[
                lambda run: os.kill(os.getpid(), signal.SIGINT) if run.step == 7 and not run.stopping else None])
        finally:
            signal.signal(signal.SIGINT, before)
        self.assertEqual(got, ["handler"])
        self.assertTrue(end.interrupted)
        self.assertEqual(end.step, 7)

    def test_a_killed_training_ends_with_the_bytes_of_one_that_was_not(self):
        example = EXAMPLES / "train_resumed.py"
        code = f"import runpy; runpy.run_path({str(example)!r}, run_name='__main__')"
        begin = time.monotonic()
        quiet = run_python(code, self.path("quiet"), timeout=300)
        self.assertEqual(quiet.returncode, 0, quiet.stderr)
        took = time.monotonic() - begin
        chance = random.Random(int(os.environ.get("RIDGELINE_KILLS_SEED", "1")))
        for kill in range(KILLS):
            workers, loop = chance.choice("123"), chance.choice(["1", "7", "100"])
            process = self.start(code, self.path("killed"), workers, loop)
            try:
                process.wait(timeout=chance.uniform(0.2, 1.0) * took)
            except subprocess.TimeoutExpired:
                process.kill()
            process.communicate()
        ended = run_python(code, self.path("killed"), "2", "9", timeout=300)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertEqual(ended.stdout.split(",")[0], quiet.stdout.split(",")[0])
        here, there = checkpoints(self.path("killed")), checkpoints(self.path("quiet"))
        self.assertEqual(here.keys(), there.keys())
        for name in here:
            self.assertEqual(here[name], there[name], name)


class Threads(Folders):
    def test_models_train_beside_each_other_with_the_bits_of_one_alone(self):
        def trained(losses):
            model, seen = dense_model(), Losses()
            model.train(10, batches(), callbacks=[seen])
            losses.append(seen.values)

        alone, beside = [], []
        trained(alone)
        workers = [threading.Thread(target=trained, args=(beside,)) for _ in range(3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual(beside, alone * 3)

    def test_python_runs_while_a_model_trains(self):
        counted = [0]
        over = threading.Event()

        def count():
            while not over.is_set():
                counted[0] += 1
                time.sleep(0)

        thread = threading.Thread(target=count)
        thread.start()
        try:
            before = counted[0]
            dense_model().train(200, batches())  # one loop of 100 steps after the other
            self.assertGreater(counted[0], before)
        finally:
            over.set()
            thread.join()

    def test_a_model_is_for_one_thread_at_a_time(self):
        model = dense_model()
        errors = []

        def other(run):
            def ask():
                try:
                    model.parameters()
                except rl.ArgumentError as error:
                    errors.append(str(error))

            thread = threading.Thread(target=ask)
            thread.start()
            thread.join()
            run.stop()

        model.train(1, batches(), callbacks=[other])
        self.assertEqual(len(errors), 1)
        self.assertIn("another thread", errors[0])

    def test_a_child_that_was_forked_trains_a_model_of_its_own(self):
        ran = run_python("""
import os
from training_support import Losses, batches, dense_model
import ridgeline as rl
model, seen = dense_model(threads=2), Losses()
model.train(2, batches(), callbacks=[seen])
child = os.fork()
if child == 0:
    try:
        model.train(1, batches())
        os._exit(1)
    except rl.ArgumentError as error:
        if "another process" not in str(error):
            os._exit(2)
    again = Losses()
    dense_model(threads=2).train(2, batches(), callbacks=[again])
    os._exit(0 if again.values == seen.values else 3)
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status))
model.train(1, batches())
""")
        self.assertEqual((ran.returncode, ran.stdout), (0, "0\n"), ran.stderr)


if __name__ == "__main__":
    unittest.main()
