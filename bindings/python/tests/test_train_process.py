"""What the package costs a process: its import, memory, threads; and the command line."""

import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import ridgeline as rl
from support import run_python, threads
from training_support import batches, dense_model


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Process(unittest.TestCase):
    def test_the_import_loads_no_half_that_is_not_asked_for(self):
        ran = run_python("""
import sys
import ridgeline
print(sorted(m for m in sys.modules if m.startswith("ridgeline")), "numpy" in sys.modules)
ridgeline.nn, ridgeline.optim, ridgeline.train
print("numpy" in sys.modules, "ridgeline.data" in sys.modules)
""")
        self.assertEqual(ran.stdout, "['ridgeline', 'ridgeline._core'] False\nFalse False\n", ran.stderr)

    def test_two_hundred_models_leave_no_memory_no_thread_and_no_file(self):
        def one():
            model = dense_model(threads=2)
            model.train(1, batches())
            model.eval(batches(32, 16))
            model.predict(batch)

        batch = np.zeros((4, 2), np.float32)
        for _ in range(20):
            one()
        begin, running, files = resident(), threads(), len(os.listdir("/proc/self/fd"))
        for _ in range(200):
            one()
        self.assertLess(resident() - begin, 8 << 20)
        self.assertLessEqual(threads(), running)
        self.assertEqual(len(os.listdir("/proc/self/fd")), files)


class CommandLine(unittest.TestCase):
    def run_command(self, *words, **kwargs):
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        return subprocess.run([sys.executable, "-m", "ridgeline", *words], env=env, text=True, capture_output=True,
                              timeout=300, **kwargs)

    def test_python_m_ridgeline_is_the_program(self):
        ran = self.run_command("--version")
        self.assertEqual((ran.returncode, ran.stdout), (0, f"ridgeline {rl.__version__}\n"))
        ran = self.run_command("--help")
        self.assertIn("usage: ridgeline COMMAND", ran.stdout)
        ran = self.run_command("tran")
        self.assertEqual(ran.returncode, 2)
        self.assertIn("did you mean train?", ran.stderr)
        ran = self.run_command("train", "--model=resnet1")
        self.assertEqual(ran.returncode, 2)
        self.assertIn("did you mean 'resnet18'?", ran.stderr)

    def test_it_trains_and_starts_itself_for_several_ranks(self):
        with tempfile.TemporaryDirectory() as folder:
            ran = self.run_command("launch", "--ranks=2", "--results=out", "--", "train", "--model=linear",
                                   "--synthetic", "--image_size=16", "--num_classes=3", "--batch_size=4",
                                   "--max_train_steps=4", "--log_dir=run", cwd=folder)
            self.assertEqual(ran.returncode, 0, ran.stderr + ran.stdout)

    def test_it_reads_what_a_model_exported(self):
        with tempfile.TemporaryDirectory() as folder:
            model = rl.train.Model(rl.nn.models.linear(num_classes=3, image_size=16), class_names=["a", "b", "c"])
            model.export(folder + "/net.rdgm")
            ran = self.run_command("info", folder + "/net.rdgm")
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assertIn("linear", ran.stdout)


if __name__ == "__main__":
    unittest.main()
