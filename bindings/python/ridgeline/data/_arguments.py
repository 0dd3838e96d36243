"""What a DataLoader checks of its arguments, and what it takes where one is absent."""

from __future__ import annotations

import sys

from .._core import ArgumentError
from ._inputs import no_data_set


def usual_output():
    if "torch" in sys.modules:
        return "torch"
    import importlib.util

    return "numpy" if importlib.util.find_spec("torch") is None else "torch"


def length_of(dataset):
    if not hasattr(dataset, "__getitem__"):
        raise no_data_set(dataset)
    if not hasattr(dataset, "__len__"):
        raise ArgumentError(f"{type(dataset).__name__} has no __len__: give a sampler that knows its indices")
    return len(dataset)


def refuse(name, value, why):
    if value is not None:
        raise ArgumentError(f"{name} is not supported: {why}")


def one_of(name, value, allowed):
    if value not in allowed:
        raise ArgumentError(f"{name} is {value!r} (allowed: {', '.join(map(repr, allowed))})")


def is_default_collate(function):
    return function is None or getattr(function, "__module__", "").endswith("_utils.collate") and \
        function.__name__ == "default_collate"
