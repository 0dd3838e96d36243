"""Models that train, evaluate, predict, and are exported."""

from __future__ import annotations

import os
import warnings
from typing import NamedTuple

from .. import _core
from ..nn._layers import Layer, Sequential
from ._callbacks import Checkpoint
from ._show import StepGraph, html_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    import numpy as np

    from .._core import Loss, Net, Optimizer, Value
    from ..data import Dataset


class Result(NamedTuple):
    """What a call of train() came to."""

    step: int
    """Steps done, of the whole run and not of this process alone."""
    interrupted: bool
    """Whether a signal or a limit of time ended it; the steps done are in the checkpoint."""
    skipped_steps: int
    """Steps that did not count, as their gradients overflowed under a loss scale."""
    loss: float | None
    """Of the last line of the log; None: no step was done."""
    evaluation: dict[str, float] | None
    """The last evaluation of the validation data: step, loss, rows, and of classifiers top_1 and top_5."""
    checkpoint_path: str | None
    """The newest checkpoint."""
    best_path: str | None
    """That of the best evaluation."""
    log_path: str | None
    """The log."""


class ClassProbability(NamedTuple):
    """One class of a prediction."""

    label: int
    name: str
    """Empty where the model knows no names."""
    probability: float
    logit: float


class WeightMatch(NamedTuple):
    """What load() found, by names of parameters."""

    loaded: list[str]
    missing: list[str]
    """Parameters of the model that were not there; they begin as they would have."""
    unexpected: list[str]
    """What was there and is none of the model's."""
    excluded: list[str]
    prefix: str
    """Of the names that were there, and not of the model's."""


class Model:
    """A net that is trained, evaluated and asked for predictions.

    net: a model of `ridgeline.nn.models`, a `Sequential`, or a function of values (`ridgeline.nn`)
    loss: `ridgeline.nn.SoftmaxCrossEntropy()`, or a function of outputs and labels that gives f32 [N], a number a row,
        or f32 []; None: it only predicts
    optimizer: of `ridgeline.optim`; None: it does not train
    device: one of `devices()`, such as "cpu"
    seed: of all that is random: initial parameters, dropout, and the order and augmentation of data without a seed of
        their own. The same seed, the same bits.
    name: of the net in checkpoints and exported models; None: its own
    inputs: the columns of a batch that the net takes, in this order; None: image, or the only one beside the labels
    labels: the column that the loss takes
    input_shape: extents of one row of the first input, where parameters are asked for before any data are seen
    input_type: its type: "f32", "u8", ...
    class_names: by label, for predictions and exported models; None: those of the data that it is trained on
    precision: a precision mode such as "allow_mix_precision_bf16", or "O0" to "O3" or "auto"; None: f32
    loss_scale: a number, "dynamic" or another text that the flag --loss_scale takes; (number, False): steps whose gradients
        overflow are not left out; None: the loss as it is
    clip_value: each number of the gradients is cut to [-clip_value, clip_value]; 0: not
    clip_norm: all gradients are scaled to this norm where theirs is greater; 0: not
    accumulate: batches of a step
    average: share of the average of parameters that is kept at each step, in [0, 1); evaluations and predictions use
        the averages. 0: there are none
    threads: that compute; 0: one for each core that the process may use
    reproducibility: "fast", "deterministic" or "portable": which machines and teams give the same bits
    parallel_mode: "data_parallel": the ranks that a launcher has started train one model, each on its part of the rows
        (`part_of`); "stand_alone": each trains one of its own
    batch_parts: a power of two: the batch of a step, over all ranks, is computed in so many parts, whose sums are added
        in pairs, so that any number of ranks that divides them gives the same bits, one too. It needs
        reproducibility="deterministic" or "portable". 0: a part for each rank, whose numbers differ by roundings
    sync_batch_norm: batch norms take their statistics over the batches of all ranks, and not of each
    """

    def __init__(self, net: Net | Layer | Callable[..., Value], loss: Loss | Callable[..., Value] | None = None,
                 optimizer: Optimizer | None = None, *, device: str = "cpu", seed: int = 1, name: str | None = None,
                 inputs: Sequence[str] | None = None, labels: str = "label", input_shape: Sequence[int] | None = None,
                 input_type: str = "f32", class_names: Sequence[str] | None = None, precision: str | None = None,
                 loss_scale: float | str | tuple[float, bool] | None = None, clip_value: float = 0.0, clip_norm: float = 0.0,
                 accumulate: int = 1, average: float = 0.0, threads: int = 0, reproducibility: str = "fast",
                 parallel_mode: str = "data_parallel", batch_parts: int = 0, sync_batch_norm: bool = False) -> None:
        if loss is not None and not isinstance(loss, _core.Loss):
            if not callable(loss):
                raise TypeError(f"loss is ridgeline.nn.SoftmaxCrossEntropy(...) or a function, not {loss!r}")
            loss = _core.function_loss(loss)
        if optimizer is not None and not isinstance(optimizer, _core.Optimizer):
            raise TypeError(f"optimizer is one of ridgeline.optim, such as Momentum(lr=0.1), not {optimizer!r}")
        self._core = _core.make_model(_net_of(net, name), loss, optimizer, {
            "device": device, "seed": seed, "inputs": list(inputs) if inputs is not None else None, "labels": labels,
            "input_shape": list(input_shape) if input_shape is not None else None, "input_type": input_type,
            "class_names": list(class_names) if class_names is not None else None, "precision": precision,
            "loss_scale": loss_scale, "clip_value": clip_value, "clip_norm": clip_norm, "accumulate": accumulate,
            "average": average, "threads": threads, "reproducibility": reproducibility, "parallel_mode": parallel_mode,
            "batch_parts": batch_parts, "sync_batch_norm": sync_batch_norm})
        self._asked = self._scheduled = 0  # epochs: of all calls of train(), and of the first
        self._warned = False

    def part_of(self, rows: Dataset) -> Dataset:
        """The rows of this rank, of data that are not batched yet; all of them where it trains alone. Behind shuffle()
        and in front of batch(N), whose N are the rows of a batch on each rank:

            data = model.part_of(rl.data.ImageFolder("flowers/train").shuffle()).map(...).batch(64 // rl.train.ranks())
        """
        return rows if self._core.ranks == 1 else rows.shard(self._core.ranks, self._core.first_row)

    def train(self, epochs: int, data: Dataset | Mapping[str, Any], callbacks: Iterable[Any] = (),
              validation: Dataset | Mapping[str, Any] | None = None, *, evaluate_every: int = 1, patience: int = 0,
              loop: int = 100, workers: int = 0, batch_size: int | None = None,
              data_options: Mapping[str, Any] | None = None) -> Result:
        """Trains for `epochs` more passes over the data. Called again, it goes on where it stopped: five epochs twice
        are ten. A program that was killed and makes the same calls passes over what is done, goes on from the newest
        checkpoint of its `Checkpoint`, and leaves the bytes of one that was not.

        Of several ranks all make the same calls with the same settings, each with its `part_of` the data. Rank 0 writes
        log, metrics and checkpoints; a program that goes on may have another number of ranks, as long as a step's rows
        are as many. What ends one of them ends all.

        Ctrl-C ends the running step, saves, and is a KeyboardInterrupt then. What a callback raises ends the run and
        comes out as it was raised; checkpoints are whole. No step before the first checkpoint is kept of such a run.

        epochs: 1 or more
        data: batches, `....batch(N)`; or arrays by column, of NumPy or with __dlpack__, one value a row, which are
            shuffled, shared out among several ranks, and put into batches of `batch_size`. The last batch of an epoch may
            be shorter: rows count alike.
        callbacks: in this order, behind the log and in front of saves: `Checkpoint`, `Progress`, objects with hooks
            (`Callback`), functions of a `Run`
        validation: is evaluated every `evaluate_every` epochs and at the end; the best checkpoint is kept
        patience: the run ends when so many evaluations in a row were not better than the best one; 0: never
        loop: most steps without the host; nothing depends on it
        workers: threads that make batches; 0: one for each core
        data_options: other settings of `ridgeline.data.Iterator` by name: memory_limit, bad_samples, ...

        An ArgumentError: data without batches, without a column that the net or the loss takes, of another shape than
        those before; a checkpoint of another net or seed. A RunError: bad data, a loss that is not finite.
        """
        options: dict[str, Any] = {**(data_options or {}), "workers": workers, "evaluate_every": evaluate_every,
                                   "patience": patience, "loop": loop}
        hooks = []
        kept = None
        for callback in callbacks:
            if isinstance(callback, Checkpoint):
                if kept is not None:
                    raise ValueError("one Checkpoint at most: a run has one folder")
                kept = callback
                options.update(directory=kept.directory, save_steps=kept.steps, save_seconds=kept.seconds,
                               keep=kept.keep)
            else:
                hooks.append(callback)
        if validation is not None:
            options["validation"] = self._batches(validation, batch_size)
        batches = self._batches(data, batch_size, shuffled=True)
        self._look_at_schedule(epochs)
        result = self._core.train(epochs, batches, hooks, self, options)
        self._asked += epochs
        return Result(**result)

    def eval(self, data: Dataset | Mapping[str, Any], metrics: Sequence[Any] = (), *,
             batch_size: int | None = None) -> dict[str, Any]:
        """The means over the rows of the data: {"loss", "rows"}, of classifiers "top_1" and "top_5" (shares of rows, 0
        to 1), and the values of `metrics` by their names.

        Of several ranks each evaluates its `part_of` the data, and all get the means over all rows; objects of one's own
        among `metrics` are for one rank alone.

        data: batches, or arrays by column with `batch_size`, which several ranks share out; the last batch may be shorter
        metrics: names (`ridgeline.train.metrics()`), or objects with clear(), update(inputs, outputs, mask) and
            value(): inputs and outputs are NumPy arrays by name, mask u8 [N] is 0 for rows that do not count
        """
        names = [m for m in metrics if isinstance(m, str)]
        own = [m for m in metrics if not isinstance(m, str)]
        return self._core.evaluate(self._batches(data, batch_size), names, own)

    def predict(self, data: str | os.PathLike[str] | Mapping[str, Any] | Any) -> Any:
        """A file: a list of `ClassProbability`, the most probable class first. Arrays: what the net gives for these
        rows, by name: {"probabilities", "logits"} f32 [N,classes] of classifiers, else {"output"}.

        data: the path of an encoded image, or an array [N,...] as the net takes it, or several by column
        """
        if isinstance(data, (str, os.PathLike)):
            return [ClassProbability(*c) for c in self._core.predict_file(data)]
        columns = data if isinstance(data, dict) else {self._first_input(): data}
        return self._core.predict({name: _array(values) for name, values in columns.items()})

    def build(self, data: Dataset | Mapping[str, Any], *, batch_size: int | None = None) -> Model:
        """Makes the parameters for batches as these data have, so that they can be loaded or read before a training.
        Returns the model."""
        self._core.build(self._batches(data, batch_size))
        return self

    def parameters(self) -> dict[str, np.ndarray]:
        """Parameters and statistics by name, copies, as files have them: kernels of convolutions are OIHW, weights of
        dense layers [out,in]."""
        return self._core.parameters()

    def load(self, weights: str | os.PathLike[str] | Mapping[str, Any] | Any, exclude: Sequence[str] = (),
             strict: bool = True) -> WeightMatch:
        """Sets parameters and statistics to begin with, before the first train().

        weights: a file (.safetensors, .rdgm, a checkpoint) or a folder of checkpoints; a `state_dict` of PyTorch, any
            mapping of names to arrays or tensors, or a module that has a state_dict. What wrappers of PyTorch put in
            front of names is dropped.
        exclude: layers that begin as they would have, such as "fc"
        strict: a parameter that is not there is an error

        A RunError or ArgumentError names what does not fit.
        """
        state_dict = getattr(weights, "state_dict", None)
        if state_dict is not None:
            weights = state_dict()
        if not isinstance(weights, (str, bytes, os.PathLike)):
            weights = {name: _array(values) for name, values in weights.items()}
        return WeightMatch(**self._core.load(weights, list(exclude), strict))

    def export(self, path: str | os.PathLike[str]) -> None:
        """Writes the model into a file that needs nothing else: `.rdgm`, which this program, C and C++ read, `.onnx`,
        which others do, or `.safetensors`, the parameters alone. Of several ranks rank 0 writes it."""
        self._core.export(path)

    @property
    def step(self) -> int:
        """Steps done, of the whole run."""
        return self._core.step

    @property
    def graph(self) -> StepGraph:
        """The training step as text, with the lines of the user's program; of a model that does not train, the
        prediction. A notebook draws it."""
        return StepGraph(self._core.graph_text())

    def _batches(self, data, batch_size, shuffled=False):
        from .. import data as engine

        if isinstance(data, engine.Dataset):
            if batch_size is not None:
                raise ValueError("batch_size is for arrays: a Dataset says it by .batch(N)")
            return data._core
        if not hasattr(data, "items"):
            raise TypeError(f"data are a ridgeline.data.Dataset or arrays by column, not {type(data).__name__}")
        if batch_size is None:
            raise ValueError("arrays need batch_size=, the rows of a batch")
        rows = engine.InMemory({name: _array(values) for name, values in data.items()})
        return self.part_of(rows.shuffle() if shuffled else rows).batch(batch_size)._core

    def _look_at_schedule(self, epochs):
        """Says where epochs are beyond those that the first train() told the schedule of the learning rate."""
        if self._asked == 0:
            self._scheduled = epochs
            return
        optimizer, steps, total = self._core.optimizer, 10, self._asked + epochs  # steps of an epoch: any number
        if optimizer is None or self._warned or total <= self._scheduled or all(
                optimizer.rate(step, steps, self._scheduled) == optimizer.rate(step, steps, total)
                for step in range(steps - 1, steps * total, steps)):
            return
        self._warned = True
        warnings.warn(f"the schedule of the learning rate is over after epoch {self._scheduled}, as the first train() was "
                      f"of so many, and this call goes on to epoch {total} with its last rate: one call of train() for all "
                      "epochs, or the schedule's epochs=", stacklevel=3)

    if not TYPE_CHECKING:
        def __getattr__(self, name):
            from .._instead import not_there

            raise not_there("Model", name, [n for n in dir(type(self)) if not n.startswith("_")], "a Model")

    def _first_input(self):
        return self._core.inputs()[0]

    def __repr__(self) -> str:
        return f"<Model {self._core.net!r} on {self._core.device}, step {self.step}>"

    def _repr_html_(self) -> str:
        return html_of(self)


def devices() -> dict[str, str]:
    """The devices that a model can be placed on by name, with what each is."""
    return dict(_core.device_table())


def metrics() -> dict[str, str]:
    """The metrics that eval() takes by name, with what each tells."""
    return dict(_core.metric_table())


def _net_of(net, name):
    if isinstance(net, _core.Net):
        if name is not None:
            raise ValueError("a model of the library has a name of its own")
        return net
    if isinstance(net, Sequential):
        return _core.function_net(net._outermost, name or net.name or "sequential")
    if callable(net):
        return _core.function_net(net, name or getattr(net, "__name__", type(net).__name__).strip("<>"))
    raise TypeError(f"a net is a model of ridgeline.nn.models, a Sequential or a function, not {net!r}")


def _array(values):
    """As NumPy has it, whoever made it."""
    import numpy as np

    if hasattr(values, "detach"):  # PyTorch
        values = values.detach().cpu()
        if str(values.dtype) == "torch.bfloat16":
            values = values.float()
        return values.numpy()
    if not hasattr(values, "__array__") and hasattr(values, "__dlpack__"):
        return np.from_dlpack(values)
    return np.asarray(values)
