"""Arrays under MindSpore's name. A Tensor holds a NumPy array; numbers are computed by NumPy, nets by the engine."""

import numpy as np

from .common import dtype as mstype


class Tensor:
    """An array with a type and a shape."""

    def __init__(self, input_data=None, dtype=None, shape=None, init=None):
        if init is not None or input_data is None:
            raise ValueError("a Tensor is made of numbers: Tensor(array, dtype). Values of `init` are for Parameters")
        if isinstance(input_data, Tensor):
            input_data = input_data.asnumpy()
        values = np.asarray(input_data)
        if dtype is None and values.dtype == np.float64 and not isinstance(input_data, (np.ndarray, np.generic)):
            dtype = mstype.float32  # numbers and lists of Python, as MindSpore takes them
        self._data = values.astype(mstype.numpy_of(dtype)) if dtype is not None else values
        if shape is not None and tuple(shape) != self._data.shape:
            raise ValueError(f"the Tensor has the shape {self._data.shape}, not {tuple(shape)}")

    def asnumpy(self) -> np.ndarray:
        """The numbers as a NumPy array."""
        return self._data

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.asnumpy(), dtype=dtype)

    @property
    def shape(self):
        return tuple(self.asnumpy().shape)

    @property
    def dtype(self):
        return mstype.of_numpy(self.asnumpy().dtype)

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def size(self):
        return int(np.prod(self.shape))

    def item(self, *index):
        return self.asnumpy().item(*index)

    def astype(self, dtype):
        return Tensor(self.asnumpy(), dtype)

    def reshape(self, *shape):
        return Tensor(self.asnumpy().reshape(*shape))

    view = reshape

    def transpose(self, *axes):
        return Tensor(self.asnumpy().transpose(*axes))

    def mean(self, axis=None, keep_dims=False):
        return Tensor(self.asnumpy().mean(axis=_some(axis), keepdims=keep_dims))

    def sum(self, axis=None, keepdims=False):
        return Tensor(self.asnumpy().sum(axis=_some(axis), keepdims=keepdims))

    def max(self, axis=None, keepdims=False):
        return Tensor(self.asnumpy().max(axis=_some(axis), keepdims=keepdims))

    def argmax(self, axis=None):
        return Tensor(self.asnumpy().argmax(axis=axis))

    def __neg__(self):
        return Tensor(-self.asnumpy())

    def __float__(self):
        return float(self.asnumpy())

    def __int__(self):
        return int(self.asnumpy())

    def __bool__(self):
        return bool(self.asnumpy())

    def __len__(self):
        return len(self.asnumpy())

    def __getitem__(self, index):
        return Tensor(self.asnumpy()[index])

    def __iter__(self):
        return (Tensor(part) for part in self.asnumpy())

    def __repr__(self):
        return f"Tensor(shape={list(self.shape)}, dtype={self.dtype}, value={self.asnumpy()})"

    __hash__ = object.__hash__


def _some(axis):
    """() are all axes, as None is."""
    return None if axis == () else axis


def _numbers(name):
    method = getattr(np.ndarray, name)

    def operate(self, other):
        if not isinstance(other, (Tensor, np.ndarray, np.generic, int, float, bool)):
            return NotImplemented
        other = other.asnumpy() if isinstance(other, Tensor) else other
        return Tensor(method(np.asarray(self.asnumpy()), other))

    operate.__name__ = name
    return operate


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "pow", "eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Tensor, f"__{_name}__", _numbers(f"__{_name}__"))
