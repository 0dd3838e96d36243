"""Parameters in files, and exported models."""

import os

import numpy as np

from ...._core import RunError, read_weights, write_weights
from .._cell import Cell
from .._names import only
from .._parameter import Parameter
from .._tensor import Tensor
from ..nn._layers import BATCH_NORM

# The formats of export(): the engine's own, and ONNX.
FORMATS = ["RDGM", "ONNX"]


def load_checkpoint(ckpt_file_name, net=None, strict_load=False, filter_prefix=None, dec_key=None, dec_mode="AES-GCM",
                    specify_prefix=None):
    """{name: Parameter} of a checkpoint of this program, of `.safetensors` or `.rdgm`; also into `net`, where given.

    filter_prefix: parameters whose names begin so are left out
    specify_prefix: the others are
    """
    only("load_checkpoint", {"dec_key": ((None,), "files are not encrypted")}, {"dec_key": dec_key})
    path = os.fspath(ckpt_file_name)
    if not os.path.exists(path):
        raise ValueError(f"The checkpoint file: {path} does not exist, please check whether the 'ckpt_file_name' is correct.")
    try:
        values = read_weights(path)
    except RunError as error:
        raise ValueError(f"{error} (checkpoints that MindSpore itself wrote are converted there: "
                         "numpy.savez, or the package safetensors)") from None
    values = _as_mindspore(values)
    left_out = _prefixes(filter_prefix)
    wanted = _prefixes(specify_prefix)
    found = {}
    for name, array in values.items():
        if name.startswith(left_out) if left_out else False:
            continue
        if wanted and not name.startswith(wanted):
            continue
        found[name] = Parameter(array, name=name)
    if not found:
        raise ValueError(f"The loaded parameter dict is empty after filtering, please check filter_prefix={filter_prefix!r}")
    if net is not None:
        load_param_into_net(net, found, strict_load)
    return found


def _as_mindspore(values):
    """The parameters of batch norms by MindSpore's names: of a layer that has a running_mean."""
    norms = {name.removesuffix(".running_mean") for name in values if name.endswith(".running_mean")}
    named = {}
    for name, array in values.items():
        layer, _, last = name.rpartition(".")
        theirs = next((k for k, v in BATCH_NORM.items() if v == last), None) if layer in norms else None
        named[f"{layer}.{theirs}" if theirs else name] = array
    return named


def _prefixes(given):
    return () if given is None else (given,) if isinstance(given, str) else tuple(given)


def load_param_into_net(net, parameter_dict, strict_load=False):
    """Sets the parameters of a Cell by their names. The names of those that the dict lacks.

    strict_load: False: where no name fits, what is in front of the dict's names in common is dropped
    """
    if not isinstance(net, Cell):
        raise TypeError(f"The argument 'net' should be a Cell, but got {type(net).__name__}")
    if not isinstance(parameter_dict, dict):
        raise TypeError(f"The argument 'parameter_dict' should be a dict, but got {type(parameter_dict).__name__}")
    own = dict(net.parameters_and_names())
    given = dict(parameter_dict)
    missing = [name for name in own if name not in given]
    if len(missing) == len(own) and own and not strict_load:
        ending = next(iter(own))
        prefix = next((name[:-len(ending)] for name in given if name.endswith("." + ending)), None)
        if prefix:
            given = {name[len(prefix):]: v for name, v in given.items() if name.startswith(prefix)}
            missing = [name for name in own if name not in given]
    for name, parameter in own.items():
        if name not in given:
            continue
        values = np.asarray(given[name])
        if values.shape != parameter.shape:
            raise RuntimeError(f"For 'load_param_into_net', {name} in the argument 'net' should have the same shape as "
                               f"{name} in the argument 'parameter_dict'. But got its shape {parameter.shape} in the "
                               f"argument 'net' and shape {values.shape} in the argument 'parameter_dict'.")
        parameter.set_data(values)
    return missing


def save_checkpoint(save_obj, ckpt_file_name, integrated_save=True, async_save=False, append_dict=None, enc_key=None,
                    enc_mode="AES-GCM"):
    """Writes the parameters of a Cell, or of [{"name": ..., "data": ...}, ...], into a file that load_checkpoint() reads.

    ckpt_file_name: `.ckpt` is added where it does not end so
    """
    only("save_checkpoint", {"integrated_save": ((True,), "a checkpoint is one file"),
                             "async_save": ((False,), "the file is there when the function returns"),
                             "append_dict": ((None, {}), "put numbers of your own beside the file"),
                             "enc_key": ((None,), "files are not encrypted")},
         {"integrated_save": integrated_save, "async_save": async_save, "append_dict": append_dict, "enc_key": enc_key})
    if isinstance(save_obj, Cell):
        values = {name: p.asnumpy() for name, p in save_obj.parameters_and_names()}
    elif isinstance(save_obj, list):
        values = {entry["name"]: np.asarray(entry["data"]) for entry in save_obj}
    else:
        raise TypeError(f"The argument 'save_obj' should be a Cell or a list, but got {type(save_obj).__name__}")
    path = os.fspath(ckpt_file_name)
    write_weights(path if path.endswith(".ckpt") else path + ".ckpt", {n: np.asarray(v, order="C") for n, v in values.items()})


def export(net, *inputs, file_name, file_format="RDGM", **kwargs):
    """Writes a Cell as a model file for inputs such as these: "RDGM", which this program, C and C++ read, or "ONNX".

    file_name: `.rdgm` or `.onnx` is added where it does not end so
    """
    if file_format in ("MINDIR", "AIR"):
        raise ValueError(f"export(file_format={file_format!r}): that is MindSpore's own; 'RDGM' is this program's, 'ONNX' "
                         "is read by others")
    if file_format not in FORMATS:
        raise ValueError(f"Illegal file format {file_format}, it must be one of {FORMATS}")
    if kwargs:
        raise TypeError(f"export() has no argument '{next(iter(kwargs))}' here")
    from .model import Model

    model = Model(net)
    model.predict(*(x if isinstance(x, Tensor) else Tensor(x) for x in inputs))
    ending = "." + file_format.lower()
    path = os.fspath(file_name)
    model._model.export(path if path.endswith(ending) else path + ending)
