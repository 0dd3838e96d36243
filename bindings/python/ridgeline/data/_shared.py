"""Batches from process to process: pickled, their arrays and tensors through memory that both see.

The sender owns slabs: memory files without a name (memfd), so that nothing is left on any disk or in /dev/shm, however a
process ends. Arrays that were made in a slab stay where they are, others are copied into it once; the receiver's arrays
lie on the same memory and are the receiver's alone until the last of them is gone. Then the slab goes back and is used
again, its pages still in place.
"""

from __future__ import annotations

import collections
import mmap
import os
import pickle
import sys

import numpy as np

_ALIGNMENT = 64
_SMALLEST = 1 << 16  # bytes of a slab
_IN_LINE = 256  # arrays of fewer bytes travel inside the pickle
_MOST_LEASES = 8  # batches of one sender that the receiver keeps in their slabs


class Slab:
    """One memory file as its owner sees it: a place from which bytes are handed out."""

    def __init__(self, number):
        self.number = number
        self.file = os.memfd_create("ridgeline-batch", os.MFD_CLOEXEC)
        self.size = self.used = 0
        self.maps = []  # (first address, array); older ones stay, as arrays lie on them
        self.sent = False

    def memory(self, size):
        """`size` bytes as an array u8."""
        begin = -(-self.used // _ALIGNMENT) * _ALIGNMENT
        if begin + size > self.size:
            self.size = max(_SMALLEST, 2 * self.size, -(-(begin + size) // mmap.PAGESIZE) * mmap.PAGESIZE)
            os.ftruncate(self.file, self.size)
            whole = _mapped(self.file, self.size)
            self.maps.append((_address(whole), whole))
        self.used = begin + size
        return self.maps[-1][1][begin:begin + size]

    def place_of(self, array):
        """Where in the slab the bytes of the array u8 lie; None: elsewhere."""
        at = _address(array)
        for first, whole in self.maps:
            if first <= at and at + array.size <= first + whole.size:
                return at - first
        return None

    def close(self):
        os.close(self.file)
        self.maps.clear()


class Slabs:
    """The slabs of a sender, of which one is being filled."""

    def __init__(self):
        self._free = []
        self._lent = {}
        self._made = 0

    def next(self):
        """A slab to fill, the one that was used last first."""
        slab = self._free.pop() if self._free else Slab(self._new())
        slab.used = 0
        del slab.maps[:-1]
        self._lent[slab.number] = slab
        return slab

    def _new(self):
        self._made += 1
        return self._made - 1

    def take_back(self, numbers):
        for number in numbers:
            self._free.append(self._lent.pop(number))

    def close(self):
        for slab in [*self._free, *self._lent.values()]:
            slab.close()


class _Pickler(pickle.Pickler):
    def reducer_override(self, value):
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(value, torch.Tensor):
            return _reduce_tensor(torch, value)
        return NotImplemented


def pack(value, slab):
    """Writes the value into the slab: where its pickle lies, (begin, bytes)."""
    buffers = []

    def out_of_line(buffer):
        raw = np.frombuffer(buffer.raw(), np.uint8)
        if raw.size < _IN_LINE:
            return True
        begin = slab.place_of(raw)
        if begin is None:
            memory = slab.memory(raw.size)
            memory[:] = raw
            begin = slab.place_of(memory)
        buffers.append((begin, raw.size))
        return False

    stream = _Stream()
    _Pickler(stream, protocol=5, buffer_callback=out_of_line).dump(value)
    text = pickle.dumps((buffers, b"".join(stream.parts)), protocol=5)
    memory = slab.memory(len(text))
    memory[:] = np.frombuffer(text, np.uint8)
    return slab.place_of(memory), len(text)


class _Stream:
    def __init__(self):
        self.parts = []

    def write(self, data):
        self.parts.append(bytes(data))
        return len(data)


class Received:
    """The slabs of one sender as the receiver sees them.

    Of batches that the consumer keeps, the first lie in their slabs; those beyond are copies, so that neither memory files
    nor their descriptors grow with what is kept.
    """

    def __init__(self):
        self._maps = {}
        self._files = {}
        self._given_back = collections.deque()  # numbers, by any thread
        self._leases = 0  # that were not taken back yet

    def add(self, number, file):
        self._files[number] = file

    def unpack(self, number, size, used, begin, length):
        """The value that pack() wrote into a slab of so many bytes, of which some are used. Its arrays hold the slab."""
        whole = self._maps.get(number)
        if whole is None or whole.size < size:
            whole = self._maps[number] = _mapped(self._files[number], size)
        self._leases += 1
        if self._leases - len(self._given_back) > _MOST_LEASES:
            memory = whole[:used].copy()
            self._given_back.append(number)
        else:
            memory = np.asarray(_Lease(whole, number, self._given_back))
        buffers, data = pickle.loads(memory[begin:begin + length].data)
        return pickle.loads(data, buffers=[memory[at:at + size] for at, size in buffers])

    def drop(self, number):
        """A batch that nobody wants."""
        self._leases += 1
        self._given_back.append(number)

    def take_given_back(self):
        """Numbers of slabs that the sender may use again."""
        numbers = []
        while self._given_back:
            numbers.append(self._given_back.popleft())
        self._leases -= len(numbers)
        return numbers

    def close(self):
        for file in self._files.values():
            os.close(file)
        self._files.clear()
        self._maps.clear()


def _mapped(file, size):
    """The memory file as an array. Before 3.13 Python keeps a descriptor with it."""
    options = {"trackfd": False} if sys.version_info >= (3, 13) else {}
    return np.frombuffer(mmap.mmap(file, size, **options), np.uint8)


class _Lease:
    """What arrays over a slab hold; its end gives the slab back."""

    __slots__ = ("whole", "number", "given_back")

    def __init__(self, whole, number, given_back):
        self.whole, self.number, self.given_back = whole, number, given_back

    @property
    def __array_interface__(self):
        return self.whole.__array_interface__

    def __del__(self):
        self.given_back.append(self.number)


def _address(array):
    return array.__array_interface__["data"][0]


# ---- tensors


def _reduce_tensor(torch, tensor):
    if tensor.layout != torch.strided or tensor.device.type != "cpu" or tensor.is_quantized or tensor.is_nested:
        return NotImplemented  # as PyTorch pickles it
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError("a tensor with a gradient of its own cannot go from process to process: detach() it")
    kind, state = type(tensor), None
    if kind is not torch.Tensor:
        state = dict(tensor.__dict__)
    plain = tensor.detach().as_subclass(torch.Tensor)
    if plain.is_conj() or plain.is_neg():
        plain = plain.resolve_conj().resolve_neg()
    # The order of extents in memory is kept (channels_last); gaps and repeats are not.
    order = None
    if not plain.is_contiguous():
        strides = plain.stride()
        order = sorted(range(plain.dim()), key=lambda i: (-strides[i], -plain.shape[i]))
        laid = plain.permute(order)
        if laid.is_contiguous():
            plain = laid
        else:
            order, plain = None, plain.contiguous()
    if plain.numel():
        buffer = pickle.PickleBuffer(plain.reshape(-1).view(torch.uint8).numpy())
    else:
        buffer = None
    return _tensor_of, (buffer, tensor.dtype, tuple(plain.shape), order, tensor.requires_grad, kind, state)


def _tensor_of(buffer, dtype, shape, order, requires_grad, kind, state):
    import torch

    if buffer is None:
        made = torch.empty(shape, dtype=dtype)
    else:
        made = torch.frombuffer(buffer, dtype=dtype).view(shape)
    if order is not None:
        made = made.permute([order.index(i) for i in range(len(order))])
    if kind is torch.nn.Parameter:
        return torch.nn.Parameter(made, requires_grad)
    if kind is not torch.Tensor:
        made = made.as_subclass(kind)
        made.__dict__.update(state)
    return made.requires_grad_() if requires_grad else made
