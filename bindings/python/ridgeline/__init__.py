"""Ridgeline: the data engine of the training engine of that name, for Python.

`ridgeline.data` holds everything: datasets, transforms, samplers, `DataLoader`.
"""

from ._core import ArgumentError, Error, InternalError, RunError, UnreachableError, __version__

__all__ = ["ArgumentError", "Error", "InternalError", "RunError", "UnreachableError", "__version__", "data"]


def __getattr__(name):
    if name == "data":
        import importlib

        return importlib.import_module(".data", __name__)
    raise AttributeError(f"module 'ridgeline' has no attribute {name!r}")
