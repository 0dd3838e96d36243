"""MindSpore's `train`: Model, callbacks, loss scales, files."""

from .._names import lookup

_PLACES = {"Model": ".model", "model": ".model", "callback": ".callback", "loss_scale_manager": ".loss_scale_manager",
           "serialization": ".serialization", "FixedLossScaleManager": ".loss_scale_manager",
           "DynamicLossScaleManager": ".loss_scale_manager",
           **{name: ".callback" for name in ("Callback", "LossMonitor", "TimeMonitor", "LearningRateMonitor", "ModelCheckpoint",
                                             "CheckpointConfig", "RunContext")},
           **{name: ".serialization" for name in ("load_checkpoint", "load_param_into_net", "save_checkpoint", "export")},
           **{name: "..nn.metrics" for name in ("Accuracy", "Loss", "Metric", "Top1CategoricalAccuracy",
                                                "Top5CategoricalAccuracy")}}
REFUSED = {"DatasetHelper": "Model.train reads datasets", "amp": "amp_level of the Model", "build_train_network":
           "Model(network, loss_fn, optimizer) trains", "ParallelMode": "it is in context"}


def __getattr__(name):
    return lookup(__name__, name, _PLACES, REFUSED)
