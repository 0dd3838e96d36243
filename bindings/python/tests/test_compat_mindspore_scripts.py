"""Scripts that were written for MindSpore run with the module's name changed; its datasets."""

import os
import re
import tempfile
import unittest

import numpy as np

import ridgeline.compat.mindspore.dataset as de
import ridgeline.compat.mindspore.dataset.transforms.c_transforms as C2
import ridgeline.compat.mindspore.dataset.vision.c_transforms as C
from support import Folder, run_python

# The list of a talk about MindSpore's front end, with the module's name changed.
IMPORTS = """
import mindspore.nn as nn
import mindspore.dataset as de
from mindspore import Tensor, context
from mindspore.context import ParallelMode
from mindspore.nn.optim import Momentum
from mindspore.train.callback import ModelCheckpoint
from mindspore.train.callback import CheckpointConfig, Callback
from mindspore.train.model import Model
from mindspore.common import set_seed
from mindspore.communication.management import init, get_rank, get_group_size
from mindspore.train.loss_scale_manager import DynamicLossScaleManager, FixedLossScaleManager
"""

# A script as MindSpore's recipes write them.
SCRIPT = IMPORTS + """
import sys
import numpy as np
import mindspore.dataset.vision.c_transforms as C
import mindspore.dataset.transforms.c_transforms as C2
import mindspore.common.dtype as mstype
from mindspore.train.callback import LossMonitor, TimeMonitor
from mindspore.train.serialization import load_checkpoint, load_param_into_net


class Net(nn.Cell):
    def __init__(self, num_classes):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(3, 8, 5, stride=2, pad_mode="same", has_bias=True)
        self.bn1 = nn.BatchNorm2d(8)
        self.relu = nn.ReLU()
        self.max_pool2d = nn.MaxPool2d(kernel_size=3, stride=2, pad_mode="valid")
        self.flatten = nn.Flatten()
        self.fc1 = nn.Dense(8 * 5 * 5, num_classes)
        self.dropout = nn.Dropout(keep_prob=0.65)

    def construct(self, x):
        x = self.max_pool2d(self.relu(self.bn1(self.conv1(x))))
        return self.fc1(self.dropout(self.flatten(x)))


def create_dataset(path, training=True):
    data_set = de.ImageFolderDataset(path, shuffle=training, num_parallel_workers=2)
    trans = [C.Decode(), C.Resize((24, 24), C.Inter.LINEAR), C.Normalize(mean=[127.5] * 3, std=[60.0] * 3), C.HWC2CHW()]
    data_set = data_set.map(operations=trans, input_columns="image")
    data_set = data_set.map(operations=C2.TypeCast(mstype.int32), input_columns="label")
    return data_set.batch(10, drop_remainder=True)


set_seed(1)
context.set_context(mode=context.GRAPH_MODE, device_target="CPU", save_graphs=True, save_graphs_path=sys.argv[2] + "/ir")
init()
assert (get_rank(), get_group_size()) == (0, 1)
context.set_auto_parallel_context(parallel_mode=ParallelMode.STAND_ALONE, device_num=1)
ds_train = create_dataset(sys.argv[1])
network = Net(3)
loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
rates = Tensor(np.linspace(0.05, 0.01, 20), mstype.float32)
opt = Momentum(network.trainable_params(), rates, 0.9, weight_decay=1e-4)
model = Model(network, loss, opt, metrics={"top_1_accuracy", "loss"}, loss_scale_manager=FixedLossScaleManager(128.0))
config = CheckpointConfig(save_checkpoint_steps=ds_train.get_dataset_size(), keep_checkpoint_max=2)
saver = ModelCheckpoint(prefix="checkpoint_net", directory=sys.argv[2], config=config)
model.train(4, ds_train, callbacks=[TimeMonitor(ds_train.get_dataset_size()), LossMonitor(), saver],
            dataset_sink_mode=False)
print("evaluated", model.eval(create_dataset(sys.argv[1], False), dataset_sink_mode=False))
other = Net(3)
print("missing", load_param_into_net(other, load_checkpoint(saver.latest_ckpt_file_name)))
for a, b in zip(network.get_parameters(), other.get_parameters()):
    assert a.name == b.name and np.array_equal(a.asnumpy(), b.asnumpy()), a.name
print(sorted(p.name for p in other.get_parameters()))
"""


def renamed(text):
    return text.replace("mindspore", "ridgeline.compat.mindspore")


class Data(Folder):
    def test_a_pipeline_of_files_is_the_engines(self):
        data = de.ImageFolderDataset(self.dir, shuffle=False)
        trans = [C.Decode(), C.Resize((24, 20)), C.RandomHorizontalFlip(0.5), C.Normalize([127.5] * 3, [60.0] * 3),
                 C.HWC2CHW()]
        data = data.map(trans, "image").map(C2.OneHot(3), "label").repeat(2).batch(8, drop_remainder=True)
        self.assertEqual(data.get_col_names(), ["image", "label"])
        self.assertEqual(data.output_shapes(), [[8, 3, 24, 20], [8, 3]])
        self.assertEqual((data.get_dataset_size(), data.get_repeat_count(), data.num_classes()), (7, 2, 3))
        self.assertEqual(data.get_class_indexing(), {f"class{i}": i for i in range(3)})
        tree = de.serialize(data)
        self.assertEqual(tree["op_type"], "Batch")
        self.assertEqual(de.serialize(de.deserialize(tree)), tree)

    def test_iterators_give_epochs_and_end_with_mindspores_error(self):
        data = de.ImageFolderDataset(self.dir, shuffle=True)
        it = data.create_dict_iterator(num_epochs=2, output_numpy=True)
        for _ in range(2):
            self.assertEqual(sorted(int(row["label"]) for row in it), [0] * 9 + [1] * 10 + [2] * 11)
        with self.assertRaisesRegex(RuntimeError, "EOF buffer encountered. User tries to fetch data beyond the specified"):
            for _ in it:
                pass

    def test_an_iterator_gives_row_after_row_to_next(self):
        rows = de.NumpySlicesDataset({"x": np.arange(3, dtype=np.int32)}, shuffle=False)
        it = rows.create_dict_iterator(num_epochs=2, output_numpy=True)
        self.assertEqual([int(next(it)["x"]), int(it.get_next()["x"])], [0, 1])
        self.assertEqual([int(row["x"]) for row in it], [2])
        self.assertEqual([int(row["x"]) for row in it], [0, 1, 2])
        with self.assertRaisesRegex(RuntimeError, "EOF buffer encountered"):
            next(it)

    def test_samplers_choose_rows_of_files_and_of_arrays(self):
        rows = de.NumpySlicesDataset({"x": np.arange(10, dtype=np.int32)}, sampler=de.SubsetSampler([4, 2, 7]))
        self.assertEqual([int(r["x"]) for r in rows.create_dict_iterator(1)], [4, 2, 7])
        rows = de.NumpySlicesDataset(np.arange(10, dtype=np.int32), ["x"], shuffle=False, num_shards=2, shard_id=1)
        self.assertEqual([int(r["x"]) for r in rows.create_dict_iterator(1)], [1, 3, 5, 7, 9])
        files = de.ImageFolderDataset(self.dir, sampler=de.PKSampler(2, shuffle=True))
        self.assertEqual(sorted(int(r["label"]) for r in files.create_dict_iterator(1)), [0, 0, 1, 1, 2, 2])
        with self.assertRaisesRegex(RuntimeError, "sampler and shuffle"):
            de.ImageFolderDataset(self.dir, shuffle=True, sampler=de.RandomSampler())

    def test_generators_and_functions_of_python_are_rows(self):
        class Source:
            def __len__(self):
                return 6

            def __getitem__(self, index):
                return np.full(3, index, np.float32), np.int32(index)

        data = de.GeneratorDataset(Source(), ["a", "b"], shuffle=False).map(lambda a: a + 1, "a").batch(3)
        first = next(iter(data.create_tuple_iterator(num_epochs=1)))
        np.testing.assert_array_equal(first[0].asnumpy(), [[1] * 3, [2] * 3, [3] * 3])
        self.assertEqual(first[1].asnumpy().tolist(), [0, 1, 2])

    def test_the_import_list_and_a_training_script_run_with_the_modules_name_changed(self):
        with tempfile.TemporaryDirectory() as out:
            done = run_python(renamed(SCRIPT), self.dir, out, timeout=300)
            self.assertEqual(done.returncode, 0, done.stderr[-3000:])
            lines = done.stdout.splitlines()
            shown = [re.sub(r"(is|time:) [\d.]+", r"\1 #", line) for line in lines]
            self.assertEqual(shown[:4], [f"epoch: 1 step: {s}, loss is #" for s in (1, 2, 3)] +
                             ["epoch time: # ms, per step time: # ms"])
            self.assertEqual(len(lines), 16 + 3)
            self.assertRegex(lines[16], r"evaluated \{.*'top_1_accuracy': .*\}")
            self.assertEqual(lines[17], "missing []")
            self.assertEqual(lines[18], str(sorted(["conv1.weight", "conv1.bias", "bn1.gamma", "bn1.beta", "bn1.moving_mean",
                                                    "bn1.moving_variance", "fc1.weight", "fc1.bias"])))
            self.assertEqual(sorted(os.listdir(out)), ["checkpoint_net-3_3.ckpt", "checkpoint_net-4_3.ckpt",
                                                       "checkpoint_net-graph.meta", "ir"])

    def test_nothing_is_imported_before_it_is_used(self):
        done = run_python("import sys, ridgeline.compat.mindspore\n"
                          "print([m for m in sys.modules if m.startswith('ridgeline.compat.mindspore.') or m == 'numpy'])")
        self.assertEqual(done.stdout.strip(), "['ridgeline.compat.mindspore._names']", done.stderr)


if __name__ == "__main__":
    unittest.main()
