"""Samples as bytes within one process: pickles in which PyTorch's tensors are their memory, type and shape, and no more.

PyTorch's own pickles are files of an archive, which cost some 100 microseconds a tensor, and those of its newer types
(uint16, float8_e4m3fn and more) cannot be read again, as of PyTorch 2.15.
"""

from __future__ import annotations

import copyreg
import functools
import io
import pickle
import sys

import numpy as np

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import *  # noqa: F403

# Those that NumPy has, too.
_TYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")


def dumps(sample) -> bytes:
    """As pickle.dumps. Values of other types are pickled as they always are."""
    torch = sys.modules.get("torch")
    if torch is None:
        return pickle.dumps(sample, protocol=5)
    stream = io.BytesIO()
    pickler = pickle.Pickler(stream, protocol=5)
    pickler.dispatch_table = _reducers(torch, sys.modules.get("torchvision.tv_tensors"))
    pickler.dump(sample)
    return stream.getvalue()


loads = pickle.loads


@functools.cache
def _reducers(torch, vision):
    """copyreg's table, and the functions for PyTorch's and torchvision's types."""
    kinds = [getattr(vision, name, None) for name in ("BoundingBoxes", "KeyPoints", "Mask", "Image")]
    return {**copyreg.dispatch_table, torch.Tensor: _tensor, **{kind: _tv_tensor for kind in kinds if kind is not None}}


def _memory(torch, tensor):
    """(memory, type, shape) of a tensor that is nothing more; None for others."""
    name = _names(torch).get(tensor.dtype)
    try:
        if name is not None:
            array: Any = np.ascontiguousarray(tensor.numpy())
        elif tensor.requires_grad or tensor.is_quantized or tensor.is_conj() or tensor.is_neg():
            return None
        else:
            name = str(tensor.dtype).removeprefix("torch.")
            array = tensor.clone(memory_format=torch.contiguous_format).view(-1).view(torch.uint8).numpy()
    except (TypeError, RuntimeError):  # it lies elsewhere, is sparse, or has a gradient
        return None
    # It is a copy that can be written to when it is read. No memory has no buffer.
    return pickle.PickleBuffer(array) if array.size else None, name, tuple(tensor.shape)


@functools.cache
def _names(torch):
    return {getattr(torch, name): name for name in _TYPES}


def _tensor(tensor):
    given = None if tensor.__dict__ else _memory(sys.modules["torch"], tensor)
    return tensor.__reduce_ex__(5) if given is None else (_made, given)


def _tv_tensor(tensor):
    torch = sys.modules["torch"]
    given = _memory(torch, tensor.as_subclass(torch.Tensor))
    return tensor.__reduce_ex__(5) if given is None else (_tv_made, (*given, type(tensor), tensor.__dict__))


def _made(memory, name, shape):
    torch = sys.modules["torch"]
    dtype = getattr(torch, name)
    if memory is None:
        return torch.empty(shape, dtype=dtype)
    return torch.frombuffer(memory, dtype=dtype).view(shape)


def _tv_made(memory, name, shape, kind, state):
    made = _made(memory, name, shape).as_subclass(kind)
    made.__dict__.update(state)
    return made
