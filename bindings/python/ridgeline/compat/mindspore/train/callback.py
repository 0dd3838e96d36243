"""Callbacks under MindSpore's names. Monitors and ModelCheckpoint are the engine's own; Callback is for one's own."""

from ...._core import (learning_rate_monitor as _learning_rate_monitor, loss_monitor as _loss_monitor,
                       model_checkpoint as _model_checkpoint, time_monitor as _time_monitor)
from .._names import lookup, only
from .._tensor import Tensor


def _int(name, value):
    """The number; None: 0."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise TypeError(f"The argument '{name}' must be int, but got {value!r}")
    return value or 0


def _say(line):
    print(line, flush=True)


class Callback:
    """A base for callbacks: begin, epoch_begin, step_begin, step_end, epoch_end and end get a run_context.

    `run_context.original_args()` tells cur_epoch_num, cur_step_num, batch_num, net_outputs (the loss), ...;
    `run_context.request_stop()` ends the run behind the step. The newer names on_train_begin, ... are called, too.
    """

    def begin(self, run_context):
        """Before the first step."""

    def epoch_begin(self, run_context):
        """Before the first step of an epoch."""

    def epoch_end(self, run_context):
        """Behind its last step."""

    def step_begin(self, run_context):
        """Before a step; in sink mode before the steps of a sink."""

    def step_end(self, run_context):
        """Behind it."""

    def end(self, run_context):
        """Behind the last step."""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


class LossMonitor(Callback):
    """Prints "epoch: 1 step: 10, loss is 2.30" behind every `per_print_times` steps (0: never). A loss that is not finite
    ends the run: "epoch: E step: S. Invalid loss, terminating training."
    """

    def __init__(self, per_print_times=1):
        if isinstance(per_print_times, bool) or not isinstance(per_print_times, int) or per_print_times < 0:
            raise ValueError(f"The argument 'per_print_times' must be int and >= 0, but got {per_print_times!r}")
        self._native = _loss_monitor(per_print_times, _say)


class TimeMonitor(Callback):
    """Prints "epoch time: 1234.500 ms, per step time: 12.345 ms" behind epochs.

    data_size: steps of an epoch; None: as many as it has
    """

    def __init__(self, data_size=None):
        self._native = _time_monitor(_int("data_size", data_size), _say)


class LearningRateMonitor(Callback):
    """Prints "epoch: 1 step: 100, learning rate is 0.05" behind steps."""

    def __init__(self):
        self._native = _learning_rate_monitor(_say)


class CheckpointConfig:
    """How often checkpoints are written and how many stay.

    save_checkpoint_steps: between two; beats save_checkpoint_seconds
    keep_checkpoint_max: newest ones that stay; beats keep_checkpoint_per_n_minutes
    exception_save: a run that ends by an error leaves `..._breakpoint.ckpt`
    """

    def __init__(self, save_checkpoint_steps=1, save_checkpoint_seconds=0, keep_checkpoint_max=5,
                 keep_checkpoint_per_n_minutes=0, integrated_save=True, async_save=False, saved_network=None,
                 append_info=None, enc_key=None, enc_mode="AES-GCM", exception_save=False):
        only("CheckpointConfig", {
            "integrated_save": ((True,), "a checkpoint is one file"),
            "async_save": ((False,), "a checkpoint is written before the next step"),
            "saved_network": ((None,), "the network of the Model is saved"),
            "append_info": ((None, []), "epoch and step are in the file's name and in its metadata"),
            "enc_key": ((None,), "files are not encrypted"),
        }, {"integrated_save": integrated_save, "async_save": async_save, "saved_network": saved_network,
            "append_info": append_info, "enc_key": enc_key})
        self._args = {"steps": _int("save_checkpoint_steps", save_checkpoint_steps),
                      "seconds": _int("save_checkpoint_seconds", save_checkpoint_seconds),
                      "keep": _int("keep_checkpoint_max", keep_checkpoint_max),
                      "minutes": _int("keep_checkpoint_per_n_minutes", keep_checkpoint_per_n_minutes),
                      "exception_save": bool(exception_save)}
        _model_checkpoint("check", ".", ".ckpt", True, **self._args)  # which refuses what cannot be
        self.save_checkpoint_steps, self.save_checkpoint_seconds = save_checkpoint_steps, save_checkpoint_seconds
        self.keep_checkpoint_max, self.keep_checkpoint_per_n_minutes = keep_checkpoint_max, keep_checkpoint_per_n_minutes
        self.exception_save = exception_save


class ModelCheckpoint(Callback):
    """Writes `<prefix>-<epoch>_<step in epoch>.ckpt` into the directory, and `<prefix>-graph.meta`, the training step, once.

    A prefix that names files there already becomes `<prefix>_1`, `_2`, ... The files hold safetensors: load_checkpoint()
    reads them, and so does all of this program.
    """

    def __init__(self, prefix="CKP", directory=None, config=None):
        if not isinstance(prefix, str):
            raise ValueError(f"The argument 'prefix' must be a str, but got {type(prefix).__name__}")
        if config is not None and not isinstance(config, CheckpointConfig):
            raise TypeError(f"The argument 'config' must be a CheckpointConfig, but got {type(config).__name__}")
        self._native = _model_checkpoint(prefix, directory or ".", ".ckpt", True, **(config or CheckpointConfig())._args)

    @property
    def latest_ckpt_file_name(self):
        """The newest checkpoint; None: there is none yet."""
        return self._native.latest


class CallbackParam(dict):
    """What original_args() gives: a dict whose values are attributes, too."""

    def __getattr__(self, name):
        if name in self:
            return self[name]
        raise AttributeError(f"the run has no {name!r} (it has {', '.join(sorted(self))})")

    __setattr__ = dict.__setitem__


class RunContext:
    """What callbacks get."""

    def __init__(self, original_args):
        self._args = original_args
        self._run = None

    def original_args(self):
        return self._args

    def request_stop(self):
        """The run ends behind the step that is done."""
        if self._run is None:
            raise RuntimeError("request_stop() is for the time in which a callback's function runs")
        self._run.stop()

    def get_stop_requested(self):
        return bool(self._run is not None and self._run.stopping)


_NEWER = {"begin": "on_train_begin", "epoch_begin": "on_train_epoch_begin", "epoch_end": "on_train_epoch_end",
          "step_begin": "on_train_step_begin", "step_end": "on_train_step_end", "end": "on_train_end"}


class _Adapter:
    """One of the user's callbacks as `ridgeline.train` calls it: those hooks that it has."""

    def __init__(self, callback, context):
        for hook, newer in _NEWER.items():
            own = getattr(type(callback), hook, None)
            method = getattr(callback, newer, None) or (
                getattr(callback, hook) if own is not None and own is not getattr(Callback, hook) else None)
            if method is not None:
                setattr(self, hook, self._called(method, context))

    def next_stop(self, step):
        """Where loops end anyway."""
        return None

    @staticmethod
    def _called(method, context):
        def call(run):
            args = context.original_args()
            args.update(cur_epoch_num=run.epoch, cur_step_num=run.step, batch_num=run.steps_per_epoch)
            if run.has_outputs:
                args["net_outputs"] = Tensor(run.fetch("loss"))
            context._run = run
            try:
                method(context)
            finally:
                context._run = None

        return call


def hooks_of(callbacks, args):
    """What `ridgeline.train.Model.train` takes for MindSpore's callbacks."""
    if callbacks is None:
        callbacks = []
    callbacks = list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks]
    args["list_callback"] = callbacks
    context = RunContext(args)
    hooks = []
    for callback in callbacks:
        if not isinstance(callback, Callback):
            raise TypeError(f"a callback of a Model is a Callback, not {callback!r}")
        native, own = getattr(callback, "_native", None), _Adapter(callback, context)
        if native is not None and vars(own):
            raise TypeError(f"{type(callback).__name__} has {', '.join(vars(own))} of its own, and what it derives from is the "
                            "engine's: derive from Callback, and give both to the Model")
        if native is not None:
            hooks.append(native)
        elif vars(own):
            hooks.append(own)
    return hooks


_LOG = "ModelCheckpoint and LossMonitor are there; ridgeline.train.Checkpoint writes metrics.jsonl and TensorBoard's events"


def __getattr__(name):
    return lookup(__name__, name, {}, {"SummaryCollector": _LOG, "SummaryLandscape": _LOG, "SummaryRecord": _LOG,
                                       "LearningRateScheduler": "give the optimizer a learning rate of steps",
                                       "LambdaCallback": "write a Callback", "History": "write a Callback",
                                       "EarlyStopping": "patience= of ridgeline.train.Model.train",
                                       "ReduceLROnPlateau": "give the optimizer a learning rate of steps",
                                       "OnRequestExit": "Ctrl-C and signals end a run and save it"})
