"""Batches of samples of any schema: what PyTorch's default_collate makes of them, checked by the first sample.

The first sample of a run makes the schema, a tree of nodes; every later one must have the same keys, lengths and types.
What has not, or what a batch would not hold exactly, is a Misfit that names sample, place and type. Shapes must be equal
within a batch alone, so that batches by length work. In PyTorch's world arrays and numbers become tensors, without it
NumPy arrays; texts and bytes stay what they are.
"""

from __future__ import annotations

import collections.abc
import copy
import dataclasses
import sys

import numpy as np

ALLOWED = ("arrays, tensors, numbers, bools, texts, bytes, and dicts, tuples, lists, named tuples and dataclasses of "
           "these; collate_fn takes samples of any kind")


class Misfit(TypeError):
    """Says what does not fit; `place` is the sample's in its batch."""

    def __init__(self, text, place=0):
        super().__init__(text)
        self.place = place


class Options:
    """How batches are made: of tensors or arrays, and the places whose values are lists or are padded."""

    def __init__(self, torch=True, as_list=(), pad=None, checks=True):
        self.torch = torch
        self.checks = checks  # off where the user's own collate_fn takes samples of any kind
        self.as_list = {_key_path(key) for key in as_list}
        self.pad = {_key_path(key): value for key, value in (pad or {}).items()}
        self.known = self.as_list | set(self.pad)


def _key_path(key):
    return key if isinstance(key, tuple) else (key,)


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


def schema_of(sample, options, name="the first sample"):
    """The schema that the sample makes. A Misfit for what no batch can hold."""
    found = set()
    node = _node_of(sample, (), options, Call([name]), found)
    if missing := options.known - found:
        keys = ", ".join(repr(k[0] if len(k) == 1 else k) for k in sorted(missing, key=repr))
        raise Misfit(f"{name}: there is no {keys}, which as_list or pad names")
    return node


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

    def collate(self, values, call):
        for place, value in enumerate(values):
            if type(value) is not bool:
                raise self.of_another_type(call, place, value)
        return _given(np.asarray(values, np.bool_), self.torch)


class Whole(Bools):
    takes = "a whole number"

    def collate(self, values, call):
        for place, value in enumerate(values):
            if type(value) is not int and (isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__")
                                           or getattr(value, "shape", ()) != ()):
                raise self.of_another_type(call, place, value)
        try:
            return _given(np.asarray([int(v) for v in values], np.int64), self.torch)
        except OverflowError:
            place = next(i for i, v in enumerate(values) if not -2 ** 63 <= v < 2 ** 63)
            raise self.misfit(call, place, f"is {values[place]}, which does not fit 64 bits") from None


class Floats(Bools):
    takes = "a float"

    def collate(self, values, call):
        for place, value in enumerate(values):
            if not isinstance(value, float) and not (type(value) is int and _as_float(value) == value):
                raise self.of_another_type(call, place, value)
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

    def collate(self, values, call):
        for place, value in enumerate(values):
            if type(value) is float and self.dtype == np.float64:
                continue
            if getattr(value, "dtype", None) != self.dtype or not isinstance(value, np.generic):
                raise self.of_another_type(call, place, value)
        return _given(np.asarray(values, self.dtype), self.torch)


class Texts(Node):
    """Texts or bytes: as they are, in the sequence that the caller has."""

    def __init__(self, path, kind):
        super().__init__(path)
        self.kind = kind
        self.takes = "a text" if kind is str else "bytes"

    def collate(self, values, call):
        for place, value in enumerate(values):
            if not isinstance(value, self.kind):
                raise self.of_another_type(call, place, value)
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

    def check(self, values, call):
        for place, value in enumerate(values):
            if not isinstance(value, np.ndarray) or value.dtype.newbyteorder("=") != self.dtype:
                raise self.of_another_type(call, place, value if not isinstance(value, np.ndarray) else
                                           _Shown(f"an array of {value.dtype}"))

    def collate(self, values, call):
        self.check(values, call)
        shape = _one_shape(self, values, call)
        out = call.array((len(values), *shape), self.dtype)
        for place, value in enumerate(values):
            out[place] = value
        return _given(out, self.torch)


class Tensors(Node):
    """PyTorch's, of one type; of one shape within a batch."""

    def __init__(self, path, torch, first):
        super().__init__(path)
        self.torch = torch
        self.dtype, self.shape = first.dtype, tuple(first.shape)
        self.takes = f"a strided tensor of {_short(self.dtype)}"

    def check(self, values, call):
        import torch

        for place, value in enumerate(values):
            if not isinstance(value, torch.Tensor) or value.dtype != self.dtype or value.layout != torch.strided:
                raise self.of_another_type(call, place, value if not isinstance(value, torch.Tensor) else
                                           _Shown(f"a {_short(value.layout)} tensor of {_short(value.dtype)}"))

    def collate(self, values, call):
        import torch

        self.check(values, call)
        shape = _one_shape(self, values, call)
        if not values:
            made = torch.empty((0, *shape), dtype=self.dtype)
        elif call.memory is None or values[0].device.type != "cpu" or any(v.requires_grad for v in values):
            made = torch.stack(list(values))
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

    def collate(self, values, call):
        return call.pictures[self.column]


class Lists(Node):
    """Values that stay one a sample."""

    def __init__(self, path, inner):
        super().__init__(path)
        self.inner = inner

    def collate(self, values, call):
        if isinstance(self.inner, (Arrays, Tensors)):
            self.inner.check(values, call)
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

    def collate(self, values, call):
        arrays = [self._as_array(value, call, place) for place, value in enumerate(values)]
        for place, array in enumerate(arrays):
            if array.dtype != self.dtype or array.ndim != self.rank:
                raise self.misfit(call, place, f"is an array of {array.dtype} with {array.ndim} extents, by the first "
                                               f"sample it is of {self.dtype} with {self.rank}")
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


# ---- containers


class Mappings(Node):
    def __init__(self, path, children, kind):
        super().__init__(path)
        self.children = children
        self.takes = f"a {kind.__name__}"

    def collate(self, values, call):
        for place, value in enumerate(values):
            if not isinstance(value, collections.abc.Mapping):
                raise self.of_another_type(call, place, value)
            if len(value) != len(self.children) or any(key not in value for key in self.children):
                lacks = [repr(k) for k in self.children if k not in value]
                more = [repr(k) for k in value if k not in self.children]
                what = " and ".join(([f"lacks {', '.join(lacks)}"] if lacks else [])
                                    + ([f"has {', '.join(more)} more"] if more else []))
                raise self.misfit(call, place, f"{what} than the first sample" if more else
                                  f"{what}, which the first sample has")
        made = {key: node.collate([value[key] for value in values], call) for key, node in self.children.items()}
        return _mapping_like(values[0], made) if values else made


def _mapping_like(first, made):
    try:
        if isinstance(first, collections.abc.MutableMapping):
            clone = copy.copy(first)
            clone.update(made)
            return clone
        return type(first)(made)
    except TypeError:
        return made


class Sequences(Node):
    def __init__(self, path, children, kind):
        super().__init__(path)
        self.children, self.kind = children, kind
        self.takes = f"a {kind.__name__} of {len(children)}"

    def collate(self, values, call):
        for place, value in enumerate(values):
            if not _is_sequence(value) or len(value) != len(self.children):
                hint = " (as_list keeps values of different lengths apart, pad fills them up)" \
                    if _is_sequence(value) else ""
                raise self.misfit(call, place, f"is {shown(value)}"
                                  + (f", of length {len(value)}" if _is_sequence(value) else "")
                                  + f", by the first sample it is {self.takes}{hint}")
        columns = zip(*values) if values else [()] * len(self.children)
        made = [node.collate(column, call) for node, column in zip(self.children, columns)]
        if issubclass(self.kind, tuple):
            return self.kind(*made) if hasattr(self.kind, "_fields") else made
        return _sequence_like(values[0], made) if values else made


def _sequence_like(first, made):
    try:
        if isinstance(first, collections.abc.MutableSequence):
            clone = copy.copy(first)
            for i, value in enumerate(made):
                clone[i] = value
            return clone
        return type(first)(made)
    except TypeError:
        return made


class Dataclasses(Node):
    def __init__(self, path, children, kind):
        super().__init__(path)
        self.children, self.kind = children, kind
        self.takes = f"a {kind.__name__}"

    def collate(self, values, call):
        for place, value in enumerate(values):
            if type(value) is not self.kind:
                raise self.of_another_type(call, place, value)
        made = {name: node.collate([getattr(value, name) for value in values], call)
                for name, node in self.children.items()}
        return _dataclass_like(values[0] if values else None, self.kind, made)


def _dataclass_like(first, kind, made):
    """No __post_init__ runs: it checked samples, and a batch is none."""
    clone = object.__new__(kind) if first is None else copy.copy(first)
    for name, value in made.items():
        object.__setattr__(clone, name, value)
    return clone


class Registered(Node):
    """A type that the user taught PyTorch's default_collate."""

    def collate(self, values, call):
        return sys.modules["torch"].utils.data.default_collate(list(values))


def _is_sequence(value):
    return isinstance(value, collections.abc.Sequence) and not isinstance(value, (str, bytes))


def _is_tensor(value):
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _registered(value):
    torch = sys.modules.get("torch")
    known = getattr(torch and torch.utils.data._utils.collate, "default_collate_fn_map", {}) if torch else {}
    return type(value) in known


def _node_of(value, path, options, call, found):
    torch = options.torch
    if isinstance(value, Picture):
        node = Pictures(path)
        node.column = value.column
        return node
    if path in options.known:
        found.add(path)
        if path in options.pad:
            return Padded(path, torch, value, options.pad[path], call)
        inner = Arrays(path, torch, value) if isinstance(value, np.ndarray) else \
            Tensors(path, torch, value) if _is_tensor(value) else Node(path)
        return Lists(path, inner)
    if _is_tensor(value):
        node = Tensors(path, torch, value)
        node.check([value], call)
        return node
    if isinstance(value, np.ndarray):
        node = Arrays(path, torch, value)
        if not _is_number(value.dtype, torch):
            raise node.misfit(call, 0, f"is an array of {value.dtype} (allowed: numbers and bools)")
        return node
    if isinstance(value, np.generic) and not isinstance(value, (str, bytes)):
        if not _is_number(value.dtype, torch):
            raise Node(path).misfit(call, 0, f"is {shown(value)} of {value.dtype} (allowed: numbers and bools)")
        return Scalars(path, torch, value.dtype)
    if _registered(value) and not isinstance(value, (float, int, str, bytes)):
        return Registered(path)
    for kind, node in ((bool, Bools), (float, Floats), (int, Whole)):
        if isinstance(value, kind):
            return node(path, torch)
    for kind in (str, bytes):
        if isinstance(value, kind):
            return Texts(path, kind)
    below = lambda key, inner: _node_of(inner, (*path, key), options, call, found)  # noqa: E731
    if isinstance(value, collections.abc.Mapping):
        return Mappings(path, {key: below(key, value[key]) for key in value}, type(value))
    if _is_sequence(value):
        return Sequences(path, [below(i, inner) for i, inner in enumerate(value)], type(value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return Dataclasses(path, {name: below(name, getattr(value, name)) for name in names}, type(value))
    if type(value).__module__.startswith("PIL."):
        raise Node(path).misfit(call, 0, "is a picture of PIL: name what is done to it with transform= (data.Decode() "
                                         "for its pixels alone), or give the data set a transform of its own")
    raise Node(path).misfit(call, 0, f"is {shown(value)} (allowed: {ALLOWED})")


def _is_number(dtype, torch):
    if dtype.kind not in "biufc":
        return False
    if not torch:
        return True
    import torch as t

    try:
        t.from_numpy(np.zeros(0, dtype.newbyteorder("=")))
    except TypeError:
        return False
    return True


# ---- single samples, and what is done to all tensors of a batch


def convert(value, torch):
    """A sample as it is delivered alone: arrays as tensors in PyTorch's world, all else as it is."""
    if _is_tensor(value):
        return value if torch else value.detach().numpy()
    if isinstance(value, (np.ndarray, np.generic)) and not isinstance(value, (str, bytes)):
        if not torch or value.dtype.kind not in "biufc":
            return value
        import torch as t

        return t.as_tensor(value)
    return each(value, lambda inner: convert(inner, torch))


def each(value, change):
    """The same containers with every value inside changed; what is no container, as it is."""
    if isinstance(value, (str, bytes)):
        return value
    if isinstance(value, collections.abc.Mapping):
        return _mapping_like(value, {key: change(value[key]) for key in value})
    if isinstance(value, tuple):
        made = [change(inner) for inner in value]
        return type(value)(*made) if hasattr(value, "_fields") else made
    if _is_sequence(value):
        return _sequence_like(value, [change(inner) for inner in value])
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        made = {f.name: change(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return _dataclass_like(value, type(value), made)
    return value


def pinned(value):
    """The batch with its tensors in page-locked memory."""
    if _is_tensor(value):
        return value if value.is_pinned() else value.pin_memory()
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(pinned(inner) for inner in value)
    if not isinstance(value, (str, bytes)) and hasattr(value, "pin_memory"):
        return value.pin_memory()
    return each(value, pinned)
