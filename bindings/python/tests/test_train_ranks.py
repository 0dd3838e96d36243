"""Several ranks train one Python program: python -m ridgeline launch --ranks N -- train.py."""

import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time
import unittest

import ridgeline as rl
from support import ROOT
from training_support import EXAMPLES, Folders, checkpoints, dense_model, points

BEGIN = """
import os, signal, sys
import numpy as np
import ridgeline as rl
from training_support import Losses, dense_model, dense_net, points

rank, ranks = rl.train.rank(), rl.train.ranks()

def rows(model, batch=16, count=96):
    return model.part_of(rl.data.InMemory(points(count)).shuffle()).batch(batch // ranks)
"""


class Launched(Folders):
    def environment(self, **more):
        return {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), **more}

    def program(self, text, name="program.py"):
        path = pathlib.Path(self.path(name))
        path.write_text(BEGIN + textwrap.dedent(text))
        return str(path)

    def words(self, ranks, *command):
        self.results = self.path("results")
        return [sys.executable, "-m", "ridgeline", "launch", f"--ranks={ranks}", f"--results={self.results}", "--",
                *map(str, command)]

    def launch(self, ranks, *command, **more):
        return subprocess.run(self.words(ranks, *command), env=self.environment(**more), cwd=self.path("."), text=True,
                              capture_output=True, timeout=300)

    def printed(self, rank, ranks=2):
        return (pathlib.Path(self.results) / f"{ranks}p" / str(rank) / f"train_{rank}.log").read_text()

    def trained(self, ranks, *command, code=0, **more):
        ran = self.launch(ranks, *command, **more)
        logs = "".join(self.printed(r, ranks) for r in range(ranks) if os.path.isdir(f"{self.results}/{ranks}p/{r}"))
        self.assertEqual(ran.returncode, code, ran.stdout + ran.stderr + logs)
        return ran.stdout

    def told(self, ranks, *command):
        """The last line that rank 0 printed."""
        self.trained(ranks, *command)
        return self.printed(0, ranks).splitlines()[-2]

    def same_checkpoints(self, here, there):
        here, there = checkpoints(self.path(here)), checkpoints(self.path(there))
        self.assertGreater(len(here), 0)
        self.assertEqual(here.keys(), there.keys())
        for name, content in here.items():
            self.assertEqual(content, there[name], name)


class Bits(Launched):
    def cpp(self):
        path = os.environ.get("RIDGELINE_EXAMPLE_TRAIN_RESUMED") or ROOT / "build-python" / "example_train_resumed"
        if not os.path.isfile(path):
            self.skipTest("no build-python/example_train_resumed: scripts/wheel.sh --develop builds it")
        return path

    def test_two_ranks_leave_the_checkpoints_of_the_same_training_in_cpp_and_of_one_rank(self):
        example = EXAMPLES / "train_resumed.py"
        self.trained(2, self.cpp(), self.path("cpp"))
        shown = self.trained(2, example, self.path("python"))
        self.assertIn("step 96: ", shown)
        self.assertEqual(self.printed(1), "turing train success\n" * 2)
        self.same_checkpoints("python", "cpp")
        self.trained(1, example, self.path("alone"))
        self.same_checkpoints("alone", "python")

    def test_two_ranks_then_one_then_two_are_one_to_the_bit(self):
        program = self.program("""
            model = dense_model(reproducibility="deterministic", batch_parts=2, threads=1)
            model.train(int(sys.argv[2]), rows(model), callbacks=[rl.train.Checkpoint(sys.argv[1], steps=5, keep=2)])
        """)
        for ranks, epochs in ((2, 2), (1, 4), (2, 6)):
            self.trained(ranks, program, "turns", epochs)
        self.trained(1, program, "alone", 6)
        self.same_checkpoints("turns", "alone")

    def test_a_training_whose_rank_is_killed_goes_on_under_another_number_with_the_same_bytes(self):
        program = self.program("""
            def kill(run):
                if run.step == int(sys.argv[2]) and rank == 1:
                    os.kill(os.getpid(), signal.SIGKILL)

            model = dense_model(reproducibility="deterministic", batch_parts=2, threads=1)
            model.train(6, rows(model), callbacks=[rl.train.Checkpoint(sys.argv[1], steps=4, keep=2), kill])
        """)
        ran = self.launch(2, program, "turns", 13)
        self.assertEqual(ran.returncode, 1, ran.stdout + ran.stderr)
        self.assertIn("rank 1: train fail (signal 9)", ran.stdout)
        self.assertRegex(self.printed(0), r"RunError: \[ranks\] rank 1 \(process \d+\) has ended")
        self.trained(1, program, "turns", 0)
        self.trained(2, program, "alone", 0)
        self.same_checkpoints("turns", "alone")

    def test_without_parts_two_ranks_are_one_but_for_roundings(self):
        program = self.program("""
            model, seen = dense_model(threads=1), Losses()
            model.train(3, rows(model), callbacks=[seen])
            print(*seen.values)
        """)
        numbers = [[float(word) for word in self.told(ranks, program).split()] for ranks in (2, 1)]
        self.assertEqual(len(numbers[0]), 18)
        for a, b in zip(*numbers):
            self.assertAlmostEqual(a, b, places=4)

    def test_batch_norms_over_all_ranks_and_rows_that_do_not_fill_the_last_batch(self):
        program = self.program("""
            def net(x):
                x = rl.nn.BatchNorm()(rl.nn.Dense(8, activation="relu")(x))
                return rl.nn.Dense(3)(x)

            model = rl.train.Model(net, loss=rl.nn.SoftmaxCrossEntropy(), optimizer=rl.optim.Momentum(lr=0.1), threads=1,
                                   sync_batch_norm=True, batch_parts=int(sys.argv[1]), reproducibility="deterministic")
            seen = Losses()
            model.train(2, rows(model, count=89), callbacks=[seen])
            print(*seen.values)
        """)
        self.assertEqual(self.told(2, program, 4), self.told(1, program, 4))
        numbers = [[float(word) for word in self.told(ranks, program, 0).split()] for ranks in (2, 1)]
        self.assertEqual(len(numbers[0]), 12)
        for a, b in zip(*numbers):
            self.assertAlmostEqual(a, b, places=4)


class Programs(Launched):
    def test_a_program_knows_its_rank_runs_where_it_was_called_and_rank_0_is_shown(self):
        program = self.program("""
            print("rank", rank, "of", ranks, "in", os.getcwd(), sys.argv[1:])
        """)
        shown = self.trained(2, program, "--a-word", "x")
        here = os.path.realpath(self.path("."))
        self.assertIn(f"rank 0 of 2 in {here} ['--a-word', 'x']\n", shown)
        self.assertNotIn("rank 1 of 2 in", shown)
        self.assertIn(f"rank 1 of 2 in {here}", self.printed(1))
        by_name = self.trained(2, sys.executable, program)
        self.assertIn("rank 0 of 2 in", by_name)

    def test_alone_there_is_one_rank(self):
        self.assertEqual((rl.train.rank(), rl.train.ranks()), (0, 1))
        rows = rl.data.InMemory(points())
        self.assertIs(dense_model().part_of(rows), rows)

    def test_evaluations_count_the_rows_of_all_ranks(self):
        program = self.program("""
            model = dense_model(threads=1)
            before = model.eval(model.part_of(rl.data.InMemory(points(31))).batch(4))
            model.train(2, points(), batch_size=16 // ranks, validation=points(31))
            by_arrays = model.eval(points(31), ["confusion_matrix"], batch_size=4)
            result = model.train(1, rows(model), validation=model.part_of(rl.data.InMemory(points(31))).batch(4))
            print(before["rows"], by_arrays["rows"], result.evaluation["rows"], by_arrays["confusion_matrix"].sum(),
                  f"{before['top_1']:.6f} {before['loss']:.5f}")
        """)
        two, one = (self.told(ranks, program) for ranks in (2, 1))
        self.assertEqual(two, one)
        self.assertTrue(two.startswith("31.0 31.0 31 31.0 "), two)

    def test_rank_0_writes_and_shows_progress(self):
        program = self.program("""
            model = dense_model(threads=1)
            model.train(1, rows(model), callbacks=[rl.train.Checkpoint("run"), rl.train.Progress()])
            model.export(f"net_{rank}.rdgm")
        """)
        self.assertIn("epoch 1  step 6/6", self.trained(2, program))
        self.assertEqual(self.printed(1), "turing train success\n")
        self.assertEqual(sorted(p.name for p in pathlib.Path(self.path(".")).glob("*.rdgm")), ["net_0.rdgm"])
        self.assertEqual(list(checkpoints(self.path("run"))), ["model.ckpt-6.safetensors"])

    def test_what_one_rank_stops_stops_all(self):
        program = self.program("""
            model = dense_model(threads=1)
            result = model.train(5, rows(model), callbacks=[lambda run: run.stop() if rank == 1 and run.step == 9 else None])
            print(result.step, result.interrupted)
        """)
        self.trained(2, program)
        for rank in (0, 1):
            self.assertEqual(self.printed(rank).splitlines()[0], "9 False")

    def test_ranks_that_stand_alone_train_models_of_their_own(self):
        program = self.program("""
            model = dense_model(threads=1, seed=1 + rank, parallel_mode="stand_alone")
            data = rl.data.InMemory(points()).batch(16)
            model.train(1, data, callbacks=[rl.train.Checkpoint(f"run_{rank}")])
            print(model.eval(data)["rows"], model.part_of(data) is data)
        """)
        self.trained(2, program)
        self.assertEqual([self.printed(rank).splitlines()[0] for rank in (0, 1)], ["96.0 True"] * 2)
        self.assertNotEqual(*(list(checkpoints(self.path(f"run_{rank}")).values()) for rank in (0, 1)))

    def test_mpirun_starts_the_ranks(self):
        try:
            subprocess.run(["mpirun", "--version"], capture_output=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            self.skipTest("no mpirun")
        program = self.program("""
            model = dense_model(threads=1)
            import os
            os.write(1, f"{model.train(2, rows(model)).step} {rank}\\n".encode())  # pieces would be mixed
        """)
        ran = subprocess.run(["mpirun", "--oversubscribe", "-np", "2", sys.executable, program], text=True, timeout=300,
                             env=self.environment(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1"),
                             capture_output=True)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(sorted(ran.stdout.splitlines()), ["12 0", "12 1"])


class Ends(Launched):
    def test_what_a_rank_raises_ends_the_others_by_its_name(self):
        program = self.program("""
            def no_more(run):
                if rank == 1 and run.step == 3:
                    raise ValueError("no more")

            model = dense_model(threads=1)
            try:
                model.train(5, rows(model), callbacks=[rl.train.Checkpoint("run", steps=1), no_more])
            except rl.RunError as error:
                print(error)
                model.eval(rows(model))
        """)
        ran = self.launch(2, program)
        self.assertEqual(ran.returncode, 1, ran.stdout + ran.stderr)
        self.assertIn("rank 1: train fail (exit code 1), see ", ran.stdout)
        self.assertIn("/train_1.log: ValueError: no more\n", ran.stdout)
        self.assertRegex(ran.stdout, r"(?m)^\[ranks\] rank 1 gave up: ValueError: no more \(.*program.py:14\)$")
        self.assertIn("RunError: [ranks] the ranks train no more: [ranks] rank 1 gave up: ", self.printed(0))
        self.assertIn("model.ckpt-3.safetensors", checkpoints(self.path("run")))

    def test_a_rank_that_ends_before_it_trains_is_named(self):
        program = self.program("""
            if rank == 1:
                raise OSError("no pictures here")
            model = dense_model(threads=1)
            model.train(5, rows(model))
        """)
        ran = self.launch(2, program)
        self.assertEqual(ran.returncode, 1, ran.stdout + ran.stderr)
        self.assertRegex(self.printed(0), r"RunError: \[ranks\] rank 1 does not come: .*OSError: no pictures here")

    def test_a_rank_that_is_over_is_not_waited_for(self):
        program = self.program("""
            model = dense_model(threads=1)
            model.train(1, rows(model))
            if rank == 0:
                model.eval(rows(model))
        """)
        ran = self.launch(2, program)
        self.assertEqual(ran.returncode, 1, ran.stdout + ran.stderr)
        self.assertRegex(self.printed(0), r"RunError: \[ranks\] rank 0 waits for rank 1, which has closed")

    def test_ctrl_c_saves_and_the_same_command_goes_on(self):
        program = self.program("""
            def seen(run):
                if not os.path.exists("seen"):
                    open("seen", "w").close()
                if len(sys.argv) > 2:
                    import time
                    time.sleep(0.02)

            model = dense_model(reproducibility="deterministic", batch_parts=2, threads=1)
            model.train(100, rows(model), callbacks=[rl.train.Checkpoint(sys.argv[1], keep=1), seen])
        """)
        process = subprocess.Popen(self.words(2, program, "stopped", "slowly"), env=self.environment(),
                                   cwd=self.path("."), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        while not os.path.exists(self.path("seen")) and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        printed, _ = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 130, printed + self.printed(0))
        for rank in (0, 1):
            self.assertIn(f"rank {rank}: train interrupted (exit code 130)", printed)
        self.assertEqual(len(checkpoints(self.path("stopped"))), 1)
        self.assertNotIn("model.ckpt-600.safetensors", checkpoints(self.path("stopped")))
        self.trained(2, program, "stopped")
        self.trained(1, program, "whole")
        self.same_checkpoints("stopped", "whole")

    def test_a_signal_to_one_rank_alone_stops_the_others_by_a_keyboard_interrupt(self):
        program = self.program("""
            def stop(run):
                if rank == 1 and run.step == 7 and not run.stopping:
                    os.kill(os.getpid(), signal.SIGTERM)

            model = dense_model(threads=1)
            try:
                model.train(100, rows(model), callbacks=[stop])
            except KeyboardInterrupt:
                print("interrupted at", model.step)
        """)
        ran = self.launch(2, program)
        self.assertIn("interrupted at 7\n", ran.stdout)
        self.assertIn("rank 0: train success\n", ran.stdout)
        self.assertIn("rank 1: train fail (signal 15)", ran.stdout)


class MindSpore(Launched):
    def test_a_script_trains_over_the_ranks_that_it_shards_its_data_by(self):
        program = self.program("""
            import ridgeline.compat.mindspore.dataset as de
            from ridgeline.compat.mindspore import Model, context, nn, set_seed
            from ridgeline.compat.mindspore.communication.management import get_group_size, get_rank, init
            from ridgeline.compat.mindspore.context import ParallelMode

            set_seed(1)
            init()
            context.set_auto_parallel_context(parallel_mode=ParallelMode.DATA_PARALLEL, gradients_mean=True,
                                              device_num=get_group_size())
            data = de.NumpySlicesDataset(points(), column_names=["point", "label"], shuffle=False,
                                         num_shards=get_group_size(), shard_id=get_rank())
            net = nn.Dense(2, 3)
            model = Model(net, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"),
                          nn.Momentum(net.trainable_params(), 0.1, 0.9), metrics={"loss"})
            model.train(2, data.batch(16 // ranks), dataset_sink_mode=False)
            weight = net.weight.asnumpy() if hasattr(net.weight, "asnumpy") else net.weight
            print(" ".join(f"{x:.4f}" for x in weight.ravel()))
        """)
        two = self.told(2, program)
        self.assertEqual(self.printed(1).splitlines()[-2], two)
        self.assertEqual(self.told(1, program), two)


class Refused(Launched):
    def refused(self, text, *messages, **more):
        ran = self.launch(2, self.program(text), **more)
        self.assertNotEqual(ran.returncode, 0, ran.stdout)
        logs = self.printed(0) + self.printed(1)
        for message in messages:
            self.assertIn(message, logs)

    def test_data_that_are_not_divided(self):
        self.refused("""
            dense_model(threads=1).train(1, rl.data.InMemory(points()).shuffle().batch(8))
        """, "the data are not the part of this rank, number 1 of 2", "model.part_of(rows).batch(N) gives each its own")
        self.refused("""
            dense_model(threads=1).train(1, rl.data.InMemory(points()).shard(3, rank).batch(8))
        """, "model.part_of(rows).batch(N) gives each its own: they have count=3, index=1")
        self.refused("""
            model = dense_model(threads=1)
            model.eval(rl.data.InMemory(points()).batch(8))
        """, "the data are not the part of this rank")

    def test_ranks_that_train_with_other_settings(self):
        self.refused("""
            model = dense_model(threads=1)
            model.train(1 + rank, rows(model))
        """, "[ranks] rank 1 has epochs=2, rank 0 epochs=1: all processes of a run need the same settings")
        self.refused("""
            model = dense_model(threads=1)
            model.train(1, model.part_of(rl.data.InMemory(points())).batch(8 + 8 * rank))
        """, "rank 1 has batches=3 of point f32[16,2]", "rank 0 batches=6 of point f32[8,2]")
        self.refused("""
            model = dense_model(threads=1, optimizer=rl.optim.Momentum(lr=0.1) if rank else rl.optim.Adam(lr=0.1))
            model.train(1, rows(model))
        """, "all ranks need the same instruction set, kernels and options")

    def test_parts_that_do_not_go(self):
        self.refused("""
            model = dense_model(threads=1, batch_parts=2)
            model.train(1, rows(model))
        """, "batch_parts needs a session whose bits are deterministic or portable")
        self.refused("""
            model = dense_model(threads=1, batch_parts=8, reproducibility="deterministic")
            model.train(1, rows(model, 12))
        """, "a batch of 6 rows on each of 2 ranks does not divide into batch_parts=8")
        normed = rl.nn.Sequential(rl.nn.Dense(8), rl.nn.BatchNorm(), rl.nn.Dense(3))
        with self.assertRaisesRegex(rl.ArgumentError, "batch_parts is 2, and the network has batch norms"):
            dense_model(normed, batch_parts=2, reproducibility="deterministic").train(1, points(), batch_size=16)
        with self.assertRaisesRegex(rl.ArgumentError, "parallel_mode is 'auto' .allowed: data_parallel, stand_alone"):
            dense_model(parallel_mode="auto")

    def test_a_metric_of_ones_own(self):
        self.refused("""
            class Rows:
                def clear(self): pass
                def update(self, inputs, outputs, mask): pass
                def value(self): return 0

            model = dense_model(threads=1)
            model.eval(rows(model), [Rows()])
        """, "an object of one's own counts the rows of one rank alone")

    def test_two_threads_that_train_at_once(self):
        self.refused("""
            import threading

            def other():
                model = dense_model(threads=1)
                model.train(1, rows(model))

            failed = []
            threading.excepthook = lambda args: failed.append(args.exc_value)

            def begin(run):
                if run.step == 3:
                    thread = threading.Thread(target=other)
                    thread.start()
                    thread.join()

            model = dense_model(threads=1)
            model.train(1, rows(model), callbacks=[begin])
            raise failed[0]
        """, "[ranks] another thread trains or evaluates over the ranks")

    def test_parameter_servers(self):
        ran = subprocess.run([sys.executable, self.program("")], text=True, capture_output=True, timeout=300,
                             env=self.environment(MS_ROLE="MS_WORKER", MS_WORKER_NUM="1", MS_SERVER_NUM="1",
                                                  MS_SCHED_HOST="127.0.0.1", MS_SCHED_PORT="8118"))
        self.assertIn("MS_ROLE is set: a Python program has no parameter servers", ran.stderr)

    def test_programs_that_are_not_there(self):
        ran = self.launch(2, "trian.py")
        self.assertEqual(ran.returncode, 2)
        self.assertIn("launch: there is neither a command nor a program 'trian.py'", ran.stderr)


if __name__ == "__main__":
    unittest.main()
