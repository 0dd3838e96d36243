"""What MindSpore has and ridgeline.compat.mindspore has not is refused by its name; ranks are the launcher's."""

import os
import pathlib
import pkgutil
import re
import unittest
import unittest.mock

import numpy as np

import ridgeline as rl
import ridgeline.compat.mindspore as ms
import ridgeline.compat.mindspore.dataset as de
import ridgeline.compat.mindspore.nn as nn
from ridgeline.compat.mindspore import Tensor, context
from ridgeline.compat.mindspore.common import set_seed
from ridgeline.compat.mindspore.train import callback as callbacks
from ridgeline.compat.mindspore.train.model import Model
from compat_support import Network, Usual, data_of, images, model_of


class Refused(Usual):
    def test_what_is_not_there_is_refused_by_name_with_what_to_use(self):
        for statement, told in (
                ("from ridgeline.compat.mindspore.nn import LSTM", "nn has no LSTM"),
                ("from ridgeline.compat.mindspore import value_and_grad", "ridgeline.value_and_grad"),
                ("from ridgeline.compat.mindspore.train.callback import SummaryCollector", "metrics.jsonl"),
                ("from ridgeline.compat.mindspore.dataset import MindDataset", "ridgeline.data has sources"),
                ("from ridgeline.compat.mindspore.dataset.vision.c_transforms import RandomRotation",
                 "ridgeline.data.RandomRotation"),
                ("from ridgeline.compat.mindspore.ops import operations as P; P.TopK", "ridgeline.graph")):
            with self.subTest(statement), self.assertRaisesRegex(ImportError, told):
                exec(statement, {})
        with self.assertRaises(AttributeError):
            nn.Nonsense

    def test_arguments_that_cannot_be_honoured_are_refused(self):
        network = Network()
        for call, told in (
                (lambda: context.set_context(device_target="Ascend"), "allowed: CPU, GPU"),
                (lambda: context.set_context(mode=2), "'mode'"),
                (lambda: context.set_context(nonsense=1), "no key 'nonsense'"),
                (lambda: context.set_context(enable_profiling=True), "--trace"),
                (lambda: context.set_auto_parallel_context(parallel_mode="auto_parallel"), "share out the rows; models are divided"),
                (lambda: context.set_auto_parallel_context(device_num=8), "the launcher says it: python -m ridgeline launch "
                 "--ranks N -- train.py (allowed: 1)"),
                (lambda: context.set_context(device_id=1), "is one device, with the number of its rank (allowed: 0)"),
                (lambda: context.set_context(device_id=-1), "must be a number from 0 on, but got -1"),
                (lambda: context.set_context(device_id="1"), "must be a number from 0 on, but got '1'"),
                (lambda: Model(network, amp_level="O2"), "'optimizer' can not be None when set 'amp_level'"),
                (lambda: Model(network, nonsense=1), "'loss_scale_manager' or 'keep_batchnorm_fp32', but got 'nonsense'"),
                (lambda: Model(network, nn.SoftmaxCrossEntropyWithLogits(True)), "reduction='none'"),
                (lambda: model_of(network).train(0, data_of(images())), "'epoch' must be positive, but got 0"),
                (lambda: model_of(network).train(1, data_of(images()), sink_size=0),
                 "'sink_size' must be -1 or positive, but got 0"),
                (lambda: callbacks.CheckpointConfig(0, 0, 0, 0), "can't be all 0"),
                (lambda: callbacks.CheckpointConfig(save_checkpoint_steps=-1), "must be >= 0, but got -1"),
                (lambda: callbacks.CheckpointConfig(async_save=True), "async_save"),
                (lambda: callbacks.ModelCheckpoint("a/b"), "without '/'"),
                (lambda: nn.SGD(network.trainable_params(), nesterov=True), "momentum must be positive"),
                (lambda: nn.SGD(network.trainable_params(), float("nan")), "must be >= 0, but got nan"),
                (lambda: nn.SGD([{"params": [network.scale]}, {"params": [network.scale]}]), "scale is in two groups"),
                (lambda: nn.Conv2d(3, 4, 3, group=0), "group=0"),
                (lambda: de.RandomSampler(shuffle=True), "shuffle"),
                (lambda: de.PKSampler(2, class_column="kind"), "class_column"),
                (lambda: de.NumpySlicesDataset({"a": [1.0], "b": [2.0]}, ["c"]), "2 columns of data have 1 names"),
                (lambda: callbacks.LossMonitor(-1), "'per_print_times' must be int and >= 0, but got -1"),
                (lambda: nn.Conv2d(3, 4, 3, pad_mode="full"), "allowed: same, valid, pad"),
                (lambda: nn.BatchNorm2d(4, affine=False), "affine"),
                (lambda: set_seed(-1), "must be >= 0")):
            with self.subTest(told), self.assertRaisesRegex(ValueError, re.escape(told)):
                call()

    def test_hooks_of_ones_own_on_a_monitor_are_refused_and_not_left_out(self):
        class Mine(callbacks.LossMonitor):
            def step_end(self, run_context):
                """Never called."""

        self.assertIsInstance(Mine(), callbacks.Callback)
        with self.assertRaisesRegex(TypeError, "Mine has step_end of its own.*derive from Callback"):
            model_of(Network()).train(1, data_of(images()), Mine(), dataset_sink_mode=False)
        for call in (lambda: callbacks.TimeMonitor("6"), lambda: callbacks.CheckpointConfig(save_checkpoint_steps="6")):
            with self.assertRaisesRegex(TypeError, "must be int, but got '6'"):
                call()

    def test_what_refusals_point_to_is_there(self):
        texts = [path.read_text() for path in pathlib.Path(ms.__file__).parent.rglob("*.py")]
        texts += de.vision.c_transforms.REFUSED.values()
        names = {name for text in texts for name in re.findall(r"\bridgeline(?:\.\w+)+", text)}
        self.assertLessEqual({"ridgeline.data.RandomRotation", "ridgeline.optim.Lars", "ridgeline.value_and_grad"}, names)
        for name in sorted(names):
            try:
                pkgutil.resolve_name(name)
            except (ImportError, AttributeError):
                self.fail(f"{name} is not there")

    def test_a_dataset_of_another_model_and_columns_that_do_not_fit_are_refused(self):
        data = data_of(images())
        model_of(Network()).train(1, data, dataset_sink_mode=False)
        with self.assertRaisesRegex(RuntimeError, "had been used in other model"):
            model_of(Network()).train(1, data, dataset_sink_mode=False)
        three = data_of({**images(), "more": np.zeros((24, 1), np.float32)})
        with self.assertRaisesRegex(ValueError, "must have 2 columns.*has 3"):
            model_of(Network()).train(1, three, dataset_sink_mode=False)
        with self.assertRaisesRegex(ValueError, "in_channels=16"):
            model_of(Network()).predict(Tensor(np.zeros((1, 3, 32, 32), np.float32)))

    def test_numbers_of_a_value_in_construct_are_refused(self):
        class Wrong(nn.Cell):
            def construct(self, x):
                return x if x.mean() > 0 else -x

        with self.assertRaisesRegex(rl.ArgumentError, "where.*test_compat_mindspore_refused.py"):
            Wrong()(Tensor(np.ones((2, 3), np.float32)))

    def test_communication_is_what_the_launcher_says(self):
        from ridgeline.compat.mindspore.communication import management

        management.release()
        with self.assertRaisesRegex(RuntimeError, "call init"):
            management.get_rank()
        management.init("nccl")
        self.assertEqual((management.get_rank(), management.get_group_size()), (0, 1))
        with unittest.mock.patch.dict(os.environ, {"RANK_SIZE": "8", "RANK_ID": "3"}):
            self.assertEqual((management.get_rank(), management.get_group_size()), (3, 8))
            context.set_auto_parallel_context(device_num=8, global_rank=3, gradients_mean=True)
            self.assertEqual(context.get_auto_parallel_context("device_num"), 8)
            with self.assertRaisesRegex(ValueError, "gradients_mean=False.*ranks average their gradients"):
                context.set_auto_parallel_context(gradients_mean=False)
        of_mpirun = {"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
                     "OMPI_COMM_WORLD_LOCAL_RANK": "1"}  # two machines
        with unittest.mock.patch.dict(os.environ, of_mpirun):
            self.assertEqual((management.get_rank(), management.get_local_rank()), (3, 1))
        with unittest.mock.patch.dict(os.environ, {"RANK_SIZE": "8"}):
            with self.assertRaisesRegex(rl.ArgumentError, "RANK_ID"):
                management.init()
        context.reset_auto_parallel_context()


if __name__ == "__main__":
    unittest.main()
