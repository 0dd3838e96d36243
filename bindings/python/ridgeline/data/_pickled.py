"""Samples as bytes within one process: pickles in which PyTorch's tensors are their memory, type and shape, and no more.

PyTorch's own pickles are files of an archive, which cost some 100 microseconds a tensor, and those of its newer types
(uint16, float8_e4m3fn and more) cannot be read again, as of PyTorch 2.15.
"""

from __future__ import annotations

import copyreg
import functools
import io
import pickle
import struct
import sys

import numpy as np

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import *  # noqa: F403

# Those that NumPy has, too.
_TYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
_LARGE = 1 << 14  # bytes from which on memory is not copied into the pickle
_ALIGNED = 16


def parts(sample) -> tuple[Any, ...]:
    """Bytes and memory that, joined, are what loads() reads. Large ones are the sample's own memory.

    In front stand the number of pieces and their lengths (little endian, 64 bits each): the pickle, and the memory that it
    refers to. Each piece of memory begins at a multiple of 16.
    """
    large = []

    def small(buffer):
        memory = buffer.raw()
        if memory.nbytes < _LARGE:
            return True
        large.append(memory)
        return False

    stream = io.BytesIO()
    pickler = pickle.Pickler(stream, protocol=5, buffer_callback=small)
    torch = sys.modules.get("torch")
    if torch is not None:
        pickler.dispatch_table = _reducers(torch, sys.modules.get("torchvision.tv_tensors"))
    pickler.dump(sample)
    head = stream.getvalue()
    sizes = len(head), *(memory.nbytes for memory in large)
    made = [struct.pack(f"<{1 + len(sizes)}q", len(sizes), *sizes), head]
    at = len(made[0]) + len(head)
    for memory in large:
        made += [bytes(-at % _ALIGNED), memory]
        at += -at % _ALIGNED + memory.nbytes
    return tuple(made)


def loads(packed, lent: bool = False):
    """The sample of joined parts. lent: its large arrays and tensors are views of `packed`, where that can be written to,
    and keep it alive; else they have memory of their own."""
    view = memoryview(packed)
    count, = struct.unpack_from("<q", view)
    at = 8 * (1 + count)
    sizes = struct.unpack_from(f"<{count}q", view, 8)
    head = view[at:at + sizes[0]]
    at += sizes[0]
    buffers: list[Any] = []
    for size in sizes[1:]:
        at += -at % _ALIGNED
        memory = view[at:at + size]
        buffers.append(memory if lent and not memory.readonly else bytearray(memory))
        at += size
    return pickle.loads(head, buffers=buffers)


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
    # No memory has no buffer.
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
