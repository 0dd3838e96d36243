"""Values of samples that are no containers, as batches: numbers, texts, arrays, tensors, and those of different lengths."""

from __future__ import annotations

import operator

import numpy as np

from ._values import convert

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import *  # noqa: F403


class Misfit(TypeError):
    """Says what does not fit; `place` is the sample's in its batch."""

    def __init__(self, text, place=0):
        super().__init__(text)
        self.place = place


class Call:
    """One batch: what its samples are called, where its arrays lie (`memory(bytes)`; None: anywhere), and batches of
    pictures that are made already, by column."""

    def __init__(self, names, memory=None, pictures=None):
        self.names, self.memory, self.pictures = names, memory, pictures

    def array(self, shape, dtype):
        """An array, not filled, and not of Python's objects."""
        if self.memory is None:
            return np.empty(shape, dtype)
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        return self.memory(size).view(dtype).reshape(shape) if size else np.empty(shape, dtype)


def shown(value):
    if isinstance(value, _Shown):
        return value.text
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) < 60 else text[:57] + '...'}"


class Node:
    """A place in a sample."""

    takes = ""  # what it takes, for messages

    def __init__(self, path):
        self.path = path

    def fits(self, value, call, place):
        """A Misfit where the value is none that batches of this place hold."""

    def check(self, values, call):
        for place, value in enumerate(values):
            self.fits(value, call, place)

    def collate(self, values, call):
        """The batch of these values, one a sample."""
        raise NotImplementedError

    def misfit(self, call, place, why):
        where = "".join(f"[{key!r}]" for key in self.path)
        return Misfit(f"{call.names[place]}: {where + ' ' if where else ''}{why}", place)

    def of_another_type(self, call, place, value):
        return self.misfit(call, place, f"is {shown(value)}, by the first sample it is {self.takes}")


# ---- numbers


class Bools(Node):
    takes = "a bool"

    def __init__(self, path, torch):
        super().__init__(path)
        self.torch = torch

    def fits(self, value, call, place):
        if type(value) is not bool:
            raise self.of_another_type(call, place, value)

    def collate(self, values, call) -> Any:
        self.check(values, call)
        return _given(np.asarray(values, np.bool_), self.torch)


class Whole(Bools):
    takes = "a whole number"

    def fits(self, value, call, place):
        number = _as_whole(value)
        if number is None:
            raise self.of_another_type(call, place, value)
        if not -2 ** 63 <= number < 2 ** 63:
            raise self.misfit(call, place, f"is {number}, which does not fit 64 bits")

    def collate(self, values, call):
        self.check(values, call)
        return _given(np.asarray([int(v) for v in values], np.int64), self.torch)


def _as_whole(value):
    """The value as an int; None: it is no whole number. Tensors of one number are, where their type is one of integers."""
    if type(value) is int:
        return value
    if isinstance(value, (bool, np.bool_)) or getattr(value, "shape", ()) != () or str(getattr(value, "dtype", "")).endswith("bool"):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


class Floats(Bools):
    takes = "a float"

    def fits(self, value, call, place):
        if not isinstance(value, float) and not (type(value) is int and _as_float(value) == value):
            raise self.of_another_type(call, place, value)

    def collate(self, values, call):
        self.check(values, call)
        return _given(np.asarray(values, np.float64), self.torch)


def _as_float(value):
    try:
        return float(value)
    except OverflowError:
        return None


class Scalars(Bools):
    """Numbers of one of NumPy's types."""

    def __init__(self, path, torch, dtype):
        super().__init__(path, torch)
        self.dtype = dtype
        self.takes = f"a {dtype} of NumPy"

    def fits(self, value, call, place):
        if type(value) is float and self.dtype == np.float64:
            return
        if getattr(value, "dtype", None) != self.dtype or not isinstance(value, np.generic):
            raise self.of_another_type(call, place, value)

    def collate(self, values, call):
        self.check(values, call)
        return _given(np.asarray(values, self.dtype), self.torch)


class Texts(Node):
    """Texts or bytes: as they are, in the sequence that the caller has."""

    def __init__(self, path, kind):
        super().__init__(path)
        self.kind = kind
        self.takes = "a text" if kind is str else "bytes"

    def fits(self, value, call, place):
        if not isinstance(value, self.kind):
            raise self.of_another_type(call, place, value)

    def collate(self, values, call):
        self.check(values, call)
        return values


# ---- arrays


class Arrays(Node):
    """NumPy's, of one type; of one shape within a batch."""

    def __init__(self, path, torch, first):
        super().__init__(path)
        self.torch = torch
        self.dtype = first.dtype.newbyteorder("=")
        self.shape = first.shape
        self.takes = f"an array of {self.dtype}"

    def fits(self, value, call, place):
        if not isinstance(value, np.ndarray):
            raise self.of_another_type(call, place, value)
        if value.dtype != self.dtype and value.dtype.newbyteorder("=") != self.dtype:
            raise self.of_another_type(call, place, _Shown(f"an array of {value.dtype}"))

    def collate(self, values, call):
        self.check(values, call)
        shape = _one_shape(self, values, call)
        out = call.array((len(values), *shape), self.dtype)
        for place, value in enumerate(values):
            out[place] = value
        return _given(out, self.torch)


def _beside_the_engine(torch, values):
    """torch.stack without PyTorch's team of threads, which would take the engine's cores; None where NumPy cannot."""
    try:
        return torch.from_numpy(np.stack([v.as_subclass(torch.Tensor).numpy() for v in values]))
    except (TypeError, RuntimeError):
        return None


class Tensors(Node):
    """PyTorch's, of one type; of one shape within a batch."""

    def __init__(self, path, torch, first):
        super().__init__(path)
        self.torch = torch
        self.dtype, self.shape = first.dtype, tuple(first.shape)
        self.takes = f"a strided tensor of {_short(self.dtype)}"

    def fits(self, value, call, place):
        import torch

        if not isinstance(value, torch.Tensor):
            raise self.of_another_type(call, place, value)
        if type(value) is not torch.Tensor:  # a subclass's attributes go through Python
            value = value.as_subclass(torch.Tensor)
        if value.dtype != self.dtype or value.layout != torch.strided:
            raise self.of_another_type(call, place, _Shown(f"a {_short(value.layout)} tensor of {_short(value.dtype)}"))

    def collate(self, values, call):
        import torch

        self.check(values, call)
        shape = _one_shape(self, values, call)
        if not values:
            made = torch.empty((0, *shape), dtype=self.dtype)
        elif call.memory is None or values[0].device.type != "cpu" or any(v.requires_grad for v in values):
            made = _beside_the_engine(torch, values) if call.pictures else None
            made = torch.stack(list(values)) if made is None else made
        else:
            made = self._into_memory(torch, values, (len(values), *shape), call)
        return made if self.torch else _array(self, made, call)

    def _into_memory(self, torch, values, shape, call):
        values = [v.as_subclass(torch.Tensor) if type(v) is not torch.Tensor else v for v in values]
        size = values[0].element_size() * values[0].numel() * len(values)
        if size == 0:
            return torch.stack(values)
        out = torch.from_numpy(call.memory(size)).view(self.dtype).view(shape)
        return torch.stack(values, out=out)


class Picture:
    """Stands in a sample for a picture that the engine makes."""

    __slots__ = ("column",)

    def __init__(self, column):
        self.column = column


class Pictures(Node):
    takes = "a picture"

    def __init__(self, path, column):
        super().__init__(path)
        self.column = column

    def collate(self, values, call):
        return call.pictures[self.column]


class Lists(Node):
    """Values that stay one a sample."""

    def __init__(self, path, inner):
        super().__init__(path)
        self.inner = inner

    def fits(self, value, call, place):
        self.inner.fits(value, call, place)

    def collate(self, values, call):
        self.check(values, call)
        return [convert(value, self.inner.torch) if hasattr(self.inner, "torch") else value for value in values]


class Padded(Node):
    """Arrays, tensors or lists of numbers of one rank, filled up at their ends to the longest of the batch."""

    def __init__(self, path, torch, first, value, call):
        super().__init__(path)
        self.torch, self.value = torch, value
        first = self._as_array(first, call, 0)
        self.dtype, self.rank = first.dtype, first.ndim
        if first.ndim == 0:
            raise self.misfit(call, 0, f"is {shown(first.item())}, a single number has nothing to pad")
        if not _holds(self.dtype, value):
            raise self.misfit(call, 0, f"is an array of {self.dtype}, which does not hold pad's {value!r}")

    def _as_array(self, value, call, place):
        if type(value).__module__.split(".")[0] == "torch" and hasattr(value, "numpy"):
            try:
                return value.detach().numpy()
            except (TypeError, RuntimeError) as error:
                raise self.misfit(call, place, f"cannot be padded: {error}") from None
        if isinstance(value, (list, tuple)):
            try:
                array = np.asarray(value) if len(value) else np.zeros(0, getattr(self, "dtype", np.float64))
            except (ValueError, OverflowError) as error:
                raise self.misfit(call, place, f"is {shown(value)}, no array: {error}") from None
            if hasattr(self, "dtype") and array.dtype != self.dtype and array.dtype.kind == "i" and \
                    self.dtype.kind == "f" and (array.astype(self.dtype).astype(array.dtype) == array).all():
                array = array.astype(self.dtype)
            value = array
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "biufc":
            raise self.misfit(call, place, f"is {shown(value)}, pad takes arrays, tensors and lists of numbers")
        return value

    def fits(self, value, call, place):
        self._fitting(value, call, place)

    def _fitting(self, value, call, place):
        array = self._as_array(value, call, place)
        if array.dtype != self.dtype or array.ndim != self.rank:
            raise self.misfit(call, place, f"is an array of {array.dtype} with {array.ndim} extents, by the first sample "
                                           f"it is of {self.dtype} with {self.rank}")
        return array

    def collate(self, values, call):
        arrays = [self._fitting(value, call, place) for place, value in enumerate(values)]
        longest = [max((a.shape[i] for a in arrays), default=0) for i in range(self.rank)]
        out = call.array((len(arrays), *longest), self.dtype)
        out[...] = self.value
        for place, array in enumerate(arrays):
            out[(place, *(slice(extent) for extent in array.shape))] = array
        return _given(out, self.torch)


def _holds(dtype, value):
    try:
        with np.errstate(all="ignore"):
            kept = np.asarray(value).astype(dtype)
        return kept.ndim == 0 and (kept == value or dtype.kind in "fc" and np.isfinite(kept) == np.isfinite(value))
    except (TypeError, ValueError, OverflowError):
        return False


def _short(of_torch):
    return str(of_torch).removeprefix("torch.")


class _Shown:
    """Stands for a value in a message."""

    def __init__(self, text):
        self.text = text


def _one_shape(node, values, call):
    shape = tuple(values[0].shape) if values else node.shape
    for place, value in enumerate(values):
        if tuple(value.shape) != shape:
            raise node.misfit(call, place, f"has the shape {list(value.shape)}, {call.names[0]} of its batch has "
                                           f"{list(shape)} (as_list keeps such values apart, pad fills them up)")
    return shape


def _array(node, tensor, call):
    try:
        return tensor.detach().numpy()
    except TypeError:
        raise node.misfit(call, 0, f"is {node.takes}, which NumPy does not have: give output='torch'") from None


def _given(array, torch):
    if not torch:
        return array
    import torch as t

    return t.from_numpy(array)
