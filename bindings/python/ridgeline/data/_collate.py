"""Batches of samples of any schema: what PyTorch's default_collate makes of them, checked by the first sample.

The first sample of a run makes the schema, a tree of nodes; every later one must have the same keys, lengths and types.
What has not, or what a batch would not hold exactly, is a Misfit that names sample, place and type. Shapes must be equal
within a batch alone, so that batches by length work. In PyTorch's world arrays and numbers become tensors, without it
NumPy arrays; texts and bytes stay what they are.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import sys

import numpy as np

from ._leaves import (Arrays, Bools, Call, Floats, Lists, Misfit, Node, Padded, Picture, Pictures, Scalars, Tensors, Texts,
                      Whole, shown)
from ._values import dataclass_like, is_sequence, is_tensor, mapping_like, sequence_like

ALLOWED = ("arrays, tensors, numbers, bools, texts, bytes, and dicts, tuples, lists, named tuples and dataclasses of "
           "these; collate_fn takes samples of any kind")


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


def schema_of(sample, options, name="the first sample"):
    """The schema that the sample makes. A Misfit for what no batch can hold."""
    found = set()
    node = _node_of(sample, (), options, Call([name]), found)
    if missing := options.known - found:
        keys = ", ".join(repr(k[0] if len(k) == 1 else k) for k in sorted(missing, key=repr))
        raise Misfit(f"{name}: there is no {keys}, which as_list or pad names")
    return node


# ---- containers


class Mappings(Node):
    def __init__(self, path, children, kind):
        super().__init__(path)
        self.children = children
        self.takes = f"a {kind.__name__}"

    def fits(self, value, call, place):
        self.same_keys(value, call, place)
        for key, node in self.children.items():
            node.fits(value[key], call, place)

    def same_keys(self, value, call, place):
        if not isinstance(value, collections.abc.Mapping):
            raise self.of_another_type(call, place, value)
        if len(value) != len(self.children) or any(key not in value for key in self.children):
            lacks = [repr(k) for k in self.children if k not in value]
            more = [repr(k) for k in value if k not in self.children]
            what = " and ".join(([f"lacks {', '.join(lacks)}"] if lacks else [])
                                + ([f"has {', '.join(more)} more"] if more else []))
            raise self.misfit(call, place, f"{what} than the first sample" if more else
                              f"{what}, which the first sample has")

    def collate(self, values, call):
        for place, value in enumerate(values):
            self.same_keys(value, call, place)
        made = {key: node.collate([value[key] for value in values], call) for key, node in self.children.items()}
        return mapping_like(values[0], made) if values else made


class Sequences(Node):
    def __init__(self, path, children, kind):
        super().__init__(path)
        self.children, self.kind = children, kind
        self.takes = f"a {kind.__name__} of {len(children)}"

    def fits(self, value, call, place):
        self.same_length(value, call, place)
        for inner, node in zip(value, self.children):
            node.fits(inner, call, place)

    def same_length(self, value, call, place):
        if not is_sequence(value):
            raise self.of_another_type(call, place, value)
        if len(value) != len(self.children):
            raise self.misfit(call, place, f"is {shown(value)}, of length {len(value)}, by the first sample it is "
                                           f"{self.takes} (as_list keeps values of different lengths apart, pad fills "
                                           "them up)")

    def collate(self, values, call):
        for place, value in enumerate(values):
            self.same_length(value, call, place)
        columns = zip(*values) if values else [()] * len(self.children)
        made = [node.collate(column, call) for node, column in zip(self.children, columns)]
        if issubclass(self.kind, tuple):
            return self.kind(*made) if hasattr(self.kind, "_fields") else made
        return sequence_like(values[0], made) if values else made


class Dataclasses(Node):
    def __init__(self, path, children, kind):
        super().__init__(path)
        self.children, self.kind = children, kind
        self.takes = f"a {kind.__name__}"

    def fits(self, value, call, place):
        if type(value) is not self.kind:
            raise self.of_another_type(call, place, value)
        for name, node in self.children.items():
            node.fits(getattr(value, name), call, place)

    def collate(self, values, call):
        for place, value in enumerate(values):
            if type(value) is not self.kind:
                raise self.of_another_type(call, place, value)
        made = {name: node.collate([getattr(value, name) for value in values], call)
                for name, node in self.children.items()}
        return dataclass_like(values[0] if values else None, self.kind, made)


class Registered(Node):
    """A type that the user taught PyTorch's default_collate."""

    def collate(self, values, call):
        return sys.modules["torch"].utils.data.default_collate(list(values))


def _registered(value):
    torch = sys.modules.get("torch")
    known = getattr(torch and torch.utils.data._utils.collate, "default_collate_fn_map", {}) if torch else {}
    return type(value) in known


def _node_of(value, path, options, call, found):
    torch = options.torch
    if isinstance(value, Picture):
        if path in options.as_list:
            found.add(path)
        return Pictures(path, value.column)
    if path in options.known:
        found.add(path)
        if path in options.pad:
            return Padded(path, torch, value, options.pad[path], call)
        inner = Arrays(path, torch, value) if isinstance(value, np.ndarray) else \
            Tensors(path, torch, value) if is_tensor(value) else Node(path)
        return Lists(path, inner)
    if is_tensor(value):
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
    if is_sequence(value):
        return Sequences(path, [below(i, inner) for i, inner in enumerate(value)], type(value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return Dataclasses(path, {name: below(name, getattr(value, name)) for name in names}, type(value))
    if type(value).__module__.startswith("PIL."):
        raise Node(path).misfit(call, 0, "is a picture of PIL: name what is done to it with transform= (data.Decode() for "
                                         "its pixels alone) and image=, which may name several (a mask that follows its "
                                         "picture is a Mask of tv_tensors), or give the data set a transform of its own")
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
