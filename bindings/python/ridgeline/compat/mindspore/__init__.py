"""MindSpore's names, for scripts that were written for it: the module's name is changed and nothing else.

    import ridgeline.compat.mindspore.nn as nn
    import ridgeline.compat.mindspore.dataset as de
    from ridgeline.compat.mindspore import Tensor, context
    from ridgeline.compat.mindspore.train.model import Model

What trains is `ridgeline.train`, what reads is `ridgeline.data`. Images are [N,C,H,W] in the script and lie as [N,H,W,C].
Names that are not there are refused with what to use; docs/compatibility.md lists both.
"""

from ._names import lookup

_PLACES = {
    "Tensor": "._tensor", "Parameter": "._parameter", "Model": ".train.model",
    **{name: "." + name for name in ("common", "communication", "context", "dataset", "nn", "ops", "train")},
    **{name: ".common" for name in ("set_seed", "get_seed", "dtype")},
    **{name: ".common.api" for name in ("ms_function", "jit", "grad")},
    **{name: ".context" for name in ("set_context", "get_context", "set_auto_parallel_context",
                                     "get_auto_parallel_context", "reset_auto_parallel_context", "GRAPH_MODE",
                                     "PYNATIVE_MODE", "ParallelMode")},
    **{name: ".train.serialization" for name in ("load_checkpoint", "load_param_into_net", "save_checkpoint", "export")},
    **{name: ".train" for name in ("FixedLossScaleManager", "DynamicLossScaleManager", "Callback", "LossMonitor",
                                   "TimeMonitor", "ModelCheckpoint", "CheckpointConfig", "RunContext")},
    **{name: ".common.dtype" for name in ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8",
                                          "bool_", "dtype_to_nptype")},
}
_CLASSES = "objects that a function gets are a part of its graph as they are"
REFUSED = {
    "ms_class": _CLASSES, "jit_class": _CLASSES,
    "value_and_grad": "ridgeline.value_and_grad",
    "load": "load_checkpoint reads parameters; ridgeline.train.Model.load reads models, too",
    "load_mindir": "load_checkpoint reads parameters", "Profiler": "ridgeline train --trace writes a trace",
    "profiler": "ridgeline train --trace writes a trace", "numpy": "NumPy itself: Tensor.asnumpy()",
    "mindrecord": "TFRecordDataset, ImageFolderDataset, or ridgeline.data.Packed", "lite": "ridgeline's C API infers",
    "amp": "amp_level of the Model", "boost": "loop fusion is always on", "ParameterTuple": "a tuple of Parameters",
    "Profile": "ridgeline train --trace writes a trace", "RowTensor": "gradients are dense", "COOTensor": "gradients are dense",
    "CSRTensor": "gradients are dense", "SparseTensor": "gradients are dense",
    "log": "ModelCheckpoint and LossMonitor print; Python's logging is your own",
    "parallel": "ranks of a Python program share out the rows; models are divided by ridgeline train",
}


def __getattr__(name):
    return lookup(__name__, name, _PLACES, REFUSED)
