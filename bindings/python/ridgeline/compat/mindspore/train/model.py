"""Model: a network with its loss and optimizer, over `ridgeline.train.Model`."""

from __future__ import annotations

import os

import numpy as np

from .... import train as here
from ...._core import ArgumentError, RunError, graph_entry_text
from .. import context
from .._cell import Cell
from .._tensor import Tensor
from .._values import GraphTensor, value_of
from ..common import engine_seed, get_seed
from ..dataset._dataset import Dataset
from ..nn._layers import Layer
from ..nn.loss import loss_of
from ..nn.metrics import ALWAYS, metrics_of
from ..nn.optim import Optimizer
from .callback import CallbackParam, hooks_of
from .loss_scale_manager import FixedLossScaleManager, LossScaleManager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LABEL = "label"


class Model:
    """Trains, evaluates and asks a network.

    network: a Cell
    loss_fn: a Cell or function of outputs and labels; None: the network gives the loss of all columns itself
    optimizer: of nn
    metrics: names, or {name: metric}: what eval() gives
    amp_level: "O0" to "O3" or "auto"
    loss_scale_manager: FixedLossScaleManager or DynamicLossScaleManager
    """

    def __init__(self, network, loss_fn=None, optimizer=None, metrics=None, eval_network=None, eval_indexes=None,
                 amp_level="O0", boost_level="O0", **kwargs):
        if not isinstance(network, Cell):
            raise TypeError(f"the network of a Model is a Cell, not {network!r}")
        if optimizer is not None and not isinstance(optimizer, Optimizer):
            raise TypeError(f"the optimizer of a Model is one of nn, not {optimizer!r}")
        if eval_network is not None or eval_indexes is not None:
            raise ValueError("Model(eval_network=..., eval_indexes=...): the network itself is evaluated, with loss_fn; "
                             "another network is evaluated by a Model of its own")
        if boost_level != "O0":
            raise ValueError(f"Model(boost_level={boost_level!r}): 'O0' is there")
        if amp_level not in ("O0", "O1", "O2", "O3", "auto"):
            raise ValueError(f"The argument 'amp_level' must be one of ['O0', 'O1', 'O2', 'O3', 'auto'], but got {amp_level}")
        manager = kwargs.pop("loss_scale_manager", None)
        keep = kwargs.pop("keep_batchnorm_fp32", None)
        if kwargs:
            raise ValueError(f"The argument in 'kwargs' should be 'loss_scale_manager' or 'keep_batchnorm_fp32', but got "
                             f"'{next(iter(kwargs))}'")
        if keep not in (None, True):
            raise ValueError("Model(keep_batchnorm_fp32=False): batch norms stay f32 but with amp_level='O3'")
        if manager is not None and not isinstance(manager, LossScaleManager):
            raise TypeError(f"loss_scale_manager is {manager!r}; Fixed- or DynamicLossScaleManager is meant")
        if optimizer is None and amp_level != "O0":
            raise ValueError("The argument 'optimizer' can not be None when set 'amp_level'.")
        if optimizer is None and manager is not None:
            raise ValueError("The argument 'optimizer' can not be None when set 'loss_scale_manager'.")
        self._network, self._loss_fn, self._optimizer = network, loss_fn, optimizer
        self._loss = loss_of(loss_fn) if loss_fn is not None else None
        self._metrics = metrics_of(metrics)
        self._amp_level, self._manager = amp_level, manager
        self._check_scale()
        if isinstance(network, Layer) and not network._path:
            network.update_parameters_name("network.")  # a layer by itself
        self._model: Any = None  # the engine's, once data are known
        self._columns, self._label = [], _LABEL  # of its data
        self._trained = False
        self._synced = None
        self._kept = None  # values behind the last training

    @property
    def train_network(self):
        return self._network

    predict_network = eval_network = train_network

    def _check_scale(self):
        if self._optimizer is None or self._optimizer.loss_scale == 1.0:
            return
        of_manager = self._manager.get_loss_scale() if isinstance(self._manager, FixedLossScaleManager) and \
            not self._manager.get_drop_overflow_update() else None
        if of_manager != self._optimizer.loss_scale:
            raise ValueError(f"the optimizer has loss_scale={self._optimizer.loss_scale:g}, by which gradients are divided: "
                             "it goes with FixedLossScaleManager(the same number, drop_overflow_update=False)")

    # ---- what it is made of

    def _net(self, *values):
        import ridgeline.nn as nn

        self._network.set_train(nn.training())
        inputs = [GraphTensor(nn.transpose(v, [0, 2, 3, 1]), True) if len(v.shape) == 4 else GraphTensor(v) for v in values]
        return value_of(self._network.construct(*inputs))

    def _made(self, columns, label=_LABEL):
        """The model for data of these columns; before a training others may take their place."""
        if self._model is None or (columns, label) != (self._columns, self._label) and not self._trained:
            self._columns, self._label = columns, label
            self._model, self._synced = self._fresh(columns, label), None
        elif (columns, label) != (self._columns, self._label):
            raise ValueError(f"the Model trains on the columns {', '.join([*self._columns, self._label])}, and these data "
                             f"have {', '.join([*columns, label])}: rename() before batch()")
        return self._model

    def _fresh(self, columns, label):
        loss = self._loss
        if loss is None and self._optimizer is not None:
            loss = _its_own
        seed = get_seed()
        return here.Model(
            self._net, loss=loss, optimizer=self._optimizer._optimizer(self._network) if self._optimizer else None,
            device=context.device(), name=type(self._network).__name__, inputs=columns, labels=label,
            seed=1 if seed is None else engine_seed(seed),
            precision=None if self._amp_level == "O0" else self._amp_level,
            parallel_mode=context.get_auto_parallel_context("parallel_mode"),
            loss_scale=self._manager._setting() if self._manager is not None else None)

    def _data(self, dataset):
        """(batches for the engine, the model for them)."""
        if not isinstance(dataset, Dataset):
            raise TypeError(f"data of a Model are one of dataset's, not {dataset!r}")
        columns = dataset.get_col_names()
        if self._loss_fn is not None and len(columns) != 2:
            raise ValueError(f"The 'loss_fn' takes outputs and labels: the dataset must have 2 columns, data and label, but "
                             f"it has {len(columns)}: {', '.join(columns)}")
        if dataset.get_dataset_size() == 0:
            raise ValueError("There is no valid data in dataset, please check dataset file firstly.")
        inputs, label = (columns[:-1], columns[-1]) if self._loss_fn is not None else (columns, _LABEL)
        return dataset._batched(), self._made(inputs, label)

    # ---- values

    def _sync(self):
        """Values that were set, or trained by another Model, go into this one."""
        parameters = dict(self._network.parameters_and_names())
        state = [(id(p._owner), p._version, p._owner._steps() if p._owner is not None else 0) for p in parameters.values()]
        if self._trained or state == self._synced:
            return
        given = {p._engine_name: p.asnumpy() for p in parameters.values()
                 if p._owner is not None or p._data is not None or p._version > 0}
        if given:
            self._model.load(given, strict=False)
        self._synced = state

    def _steps(self):
        return self._model.step if self._model is not None else 0

    def _value_of(self, parameter):
        if self._kept is None or self._kept[0] != self._steps():
            self._kept = (self._steps(), self._model.parameters())
        return self._kept[1][parameter._engine_name]

    def _moved(self):
        """The first parameter that was set behind the training; None: there is none."""
        return next((p for p in self._network.get_parameters() if self._trained and p._owner is not self), None)

    def _asked(self, make_form):
        """The model that evaluates and predicts: the one that trains, or one with the values that were set since.
        `make_form(model)` tells it the shapes of data."""
        if self._moved() is None:
            make_form(self._model)
            self._sync()
            return self._model
        other = self._fresh(self._columns, self._label)
        make_form(other)
        other.load({p._engine_name: p.asnumpy() for p in self._network.get_parameters()}, strict=False)
        return other

    # ---- what it does

    def build(self, train_dataset=None, valid_dataset=None, sink_size=-1, epoch=1):
        """Makes the parameters for such data."""
        for dataset in (train_dataset, valid_dataset):
            if dataset is not None:
                data, model = self._data(dataset)
                model.build(data)

    def train(self, epoch, train_dataset, callbacks=None, dataset_sink_mode=True, sink_size=-1, initial_epoch=0):
        """Trains for so many epochs more.

        dataset_sink_mode: the steps of an epoch run without callbacks, which are called behind them. Not on CPU, nor in
            PYNATIVE_MODE: then one step at a time, as a warning says.
        sink_size: -1: all of the data
        """
        if isinstance(epoch, bool) or not isinstance(epoch, int) or epoch < 1:
            raise ValueError(f"The argument 'epoch' must be positive, but got {epoch!r}")
        if isinstance(sink_size, bool) or not isinstance(sink_size, int) or (sink_size != -1 and sink_size < 1):
            raise ValueError(f"The argument 'sink_size' must be -1 or positive, but got {sink_size!r}")
        if initial_epoch != 0:
            raise ValueError(f"Model.train(initial_epoch={initial_epoch!r}): epochs are counted over all calls of train()")
        if self._optimizer is None:
            raise ValueError("Model.train() needs an optimizer: Model(network, loss_fn, optimizer)")
        if getattr(train_dataset, "_model", None) not in (None, id(self)):
            raise RuntimeError("The dataset object had been used in other model by model.train(...), please create a new "
                               "dataset.")
        context.mode_is_said()
        sinks = dataset_sink_mode and self._sinks()
        if sinks and sink_size != -1:
            raise ValueError(f"Model.train(sink_size={sink_size}): a sink is a pass over the data here, sink_size=-1")
        data, model = self._data(train_dataset)
        train_dataset._model = id(self)
        size = train_dataset.get_dataset_size()
        if (moved := self._moved()) is not None:
            raise RuntimeError(f"the parameter {moved.name} was set behind a train() of this Model, whose run goes on "
                               "with its own values: a new Model trains from the new ones")
        if self._steps() == 0:
            model.build(data)
            self._sync()
        args = CallbackParam(train_network=self._network, network=self._network, optimizer=self._optimizer,
                             loss_fn=self._loss_fn, train_dataset=train_dataset, epoch_num=epoch, mode="train",
                             dataset_sink_mode=sinks, batch_num=size,
                             device_number=context.get_auto_parallel_context("device_num"),
                             parallel_mode=context.get_auto_parallel_context("parallel_mode"))
        hooks = hooks_of(callbacks, args)
        if context.get_context("save_graphs"):
            hooks.insert(0, _SaveGraphs(context.get_context("save_graphs_path")))
        try:
            model.train(epoch, data, callbacks=hooks, loop=size if sinks else 1)
        except RunError as error:
            if "Invalid loss, terminating training." in str(error):
                raise ValueError(str(error)) from None
            raise
        finally:
            if model.step > 0:
                self._trained = True
                for parameter in self._network.get_parameters():
                    parameter._owner = self
                self._kept = None

    def _sinks(self):
        if context.get_context("mode") == context.PYNATIVE_MODE:
            context.warn_once("PYNATIVE_MODE does not support dataset_sink_mode: the dataset is not sunk")
            return False
        if context.device() == "cpu":
            context.warn_once("CPU does not support dataset_sink_mode: the dataset is not sunk")
            return False
        return True

    def eval(self, valid_dataset, callbacks=None, dataset_sink_mode=True):
        """{name: value} of the metrics of the Model. Callbacks are for train()."""
        if not self._metrics:
            raise ValueError("The model argument 'metrics' can not be None or empty, you should set the argument 'metrics' "
                             "for model.")
        if callbacks:
            raise ValueError("Model.eval(callbacks=...): an evaluation is one call, without steps")
        data, _ = self._data(valid_dataset)
        model = self._asked(lambda made: made.build(data))
        own = {name: _OwnMetric(name, m) for name, m in self._metrics.items() if not isinstance(m, str)}
        counted = sorted({m for m in self._metrics.values() if isinstance(m, str) and m not in ALWAYS})
        result = model.eval(data, [*counted, *own.values()])
        values = {}
        for name, metric in self._metrics.items():
            key = metric if isinstance(metric, str) else own[name].name
            if key not in result:
                raise ValueError(f"the metric {name!r} needs loss_fn=SoftmaxCrossEntropyWithLogits(sparse=True, "
                                 "reduction='mean') and labels of classes")
            values[name] = result[key]
        return values

    def predict(self, *predict_data):
        """What the network gives for Tensors, as a Tensor."""
        arrays = [np.asarray(x) for x in predict_data]
        arrays = [a.astype(np.float32) if a.dtype == np.float64 else a for a in arrays]
        if self._model is None:
            self._made([f"data{i or ''}" for i in range(len(arrays))])
        if len(arrays) != len(self._columns):
            raise ValueError(f"the network takes {len(self._columns)} inputs, and predict() was given {len(arrays)}")
        columns = dict(zip(self._columns, arrays))

        def known(model):
            try:
                model._core.inputs()
            except ArgumentError:  # no data were seen
                model.build({name: a[:1] for name, a in columns.items()}, batch_size=1)

        model = self._asked(known)
        result = model.predict(columns)
        return Tensor(result["logits"] if "logits" in result else result["output"])

    def __repr__(self):
        return f"<Model {type(self._network).__name__}, step {self._steps()}>"


def _its_own(outputs, label):
    """The loss that a network gives itself."""
    return outputs


class _OwnMetric:
    """A Metric of the user's, as `ridgeline.train` calls it."""

    def __init__(self, name, metric):
        self.name, self._metric = name, metric

    def clear(self):
        self._metric.clear()

    def update(self, inputs, outputs, mask):
        rows = np.asarray(mask) != 0
        labels = inputs["labels"]
        given = outputs["logits"] if "logits" in outputs else outputs["output"]
        self._metric.update(Tensor(given[rows]), Tensor(labels[rows]))

    def value(self):
        return self._metric.eval()


class _SaveGraphs:
    """The training step in the form of MindSpore's dumps, when a run begins."""

    def __init__(self, directory):
        self._directory = directory

    def begin(self, run):
        os.makedirs(self._directory, exist_ok=True)
        with open(os.path.join(self._directory, "00_train_0000.ir"), "w", encoding="utf-8") as file:
            file.write(graph_entry_text(str(run.model.graph)))


