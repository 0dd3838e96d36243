"""Containers of a user's, made anew around other values: what PyTorch's default_convert and default_collate do with them."""

from __future__ import annotations

import collections.abc
import copy
import dataclasses
import sys

import numpy as np


def is_sequence(value):
    return isinstance(value, collections.abc.Sequence) and not isinstance(value, (str, bytes))


def is_tensor(value):
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def is_strided(value):
    """Whether it is a tensor whose values lie in one piece of memory."""
    return is_tensor(value) and value.layout == sys.modules["torch"].strided and not value.is_nested


def is_on_host(value):
    """Whether it is such a tensor in the host's memory."""
    return is_strided(value) and value.device.type == "cpu"


def mapping_like(first, made):
    try:
        if isinstance(first, collections.abc.MutableMapping):
            clone = copy.copy(first)
            clone.update(made)
            return clone
        return type(first)(made)
    except TypeError:
        return made


def sequence_like(first, made):
    try:
        if isinstance(first, collections.abc.MutableSequence):
            clone = copy.copy(first)
            for i, value in enumerate(made):
                clone[i] = value
            return clone
        return type(first)(made)
    except TypeError:
        return made


def dataclass_like(first, kind, made):
    """No __post_init__ runs: it checked samples, and a batch is none."""
    clone = object.__new__(kind) if first is None else copy.copy(first)
    for name, value in made.items():
        object.__setattr__(clone, name, value)
    return clone


def convert(value, torch):
    """A sample as it is delivered alone: arrays as tensors in PyTorch's world, all else as it is."""
    if is_tensor(value):
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
        return mapping_like(value, {key: change(value[key]) for key in value})
    if isinstance(value, tuple):
        made = [change(inner) for inner in value]
        return type(value)(*made) if hasattr(value, "_fields") else made
    if is_sequence(value):
        return sequence_like(value, [change(inner) for inner in value])
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        made = {f.name: change(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return dataclass_like(value, type(value), made)
    return value


def pinned(value):
    """The batch with its tensors in page-locked memory; those that cannot lie there stay where they are."""
    if is_tensor(value):
        return value.pin_memory() if is_on_host(value) and not value.is_pinned() else value
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(pinned(inner) for inner in value)
    pin = None if isinstance(value, (str, bytes)) else getattr(value, "pin_memory", None)
    if pin is not None:
        return pin()
    return each(value, pinned)
