"""Parameters of Cells: arrays with a name, which a Model trains."""

from __future__ import annotations

import numpy as np

from ..._core import first_values
from ._tensor import Tensor
from .common import engine_seed, get_seed
from .common.initializer import rule_of


TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Parameter(Tensor):
    """A Tensor that is trained: `Parameter(Tensor(...), name="scale")`.

    Its name in checkpoints is the path of attributes from the net to it, or `name` where that is given.
    """

    def __init__(self, default_input, name=None, requires_grad=True):
        self._given = name
        self.name = name or "Parameter"
        self.requires_grad = requires_grad
        self._owner: Any = None  # the Model that trained it
        self._rule, self._fans = None, None
        self._data: Any = None  # where it was set
        if isinstance(default_input, Begin):
            self._extents, self._rule, self._fans = default_input.shape, default_input.rule, default_input.fans
        else:
            self._data = np.asarray(default_input, dtype=np.float32)
            self._extents = self._data.shape
        self._version = 0  # how often it was set
        self._called = None  # what the engine calls it, in the place of the last part of its name

    @property
    def shape(self):
        return tuple(self._extents)

    def asnumpy(self) -> np.ndarray:
        """The numbers: those of the Model that trains it, once one does."""
        if self._owner is not None:
            return self._owner._value_of(self)
        if self._data is None:
            seed = get_seed()
            self._data = first_values(self._engine_name, list(_logical(self.shape)), self._rule, list(_logical(self._fans)),
                                      1 if seed is None else engine_seed(seed))
        return self._data

    @property
    def _engine_name(self):
        cell, dot, _ = self.name.rpartition(".")
        return self.name if self._called is None else cell + dot + self._called

    @property
    def data(self):
        return self

    def value(self):
        return Tensor(self.asnumpy())

    def set_data(self, data, slice_shape=False):
        """Other numbers of the same shape, or how it begins, of initializer()."""
        values = data if isinstance(data, Begin) else np.asarray(data, dtype=np.float32)
        if values.shape != self.shape:
            raise ValueError(f"the parameter {self.name} has the shape {self.shape}, and the data {values.shape}")
        self._owner = None
        if isinstance(values, Begin):
            self._data, self._rule, self._fans = None, values.rule, values.fans
        else:
            self._data = values
        self._version += 1
        return self

    def __repr__(self):
        return f"Parameter (name={self.name}, shape={self.shape}, dtype=Float32, requires_grad={self.requires_grad})"


class Begin:
    """How a Parameter begins: its shape as files have it, and a rule of `ridgeline.nn`, of the fans of a shape."""

    def __init__(self, shape, init, fans=None):
        self.shape, self.fans = tuple(shape), tuple(fans or shape)
        self.rule = rule_of(init)


def _logical(shape):
    """[K,R,S,C] of [K,C,R,S], as the engine counts."""
    return (shape[0], shape[2], shape[3], shape[1]) if len(shape) == 4 else tuple(shape)
