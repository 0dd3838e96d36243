"""MindSpore's names of types."""

import numpy as np


class Type:
    """A type of numbers."""

    def __init__(self, name, numpy, shown):
        self.name, self.numpy, self._shown = name, np.dtype(numpy), shown

    def __repr__(self):
        return self._shown


float16 = Type("float16", np.float16, "Float16")
float32 = Type("float32", np.float32, "Float32")
float64 = Type("float64", np.float64, "Float64")
int8 = Type("int8", np.int8, "Int8")
int16 = Type("int16", np.int16, "Int16")
int32 = Type("int32", np.int32, "Int32")
int64 = Type("int64", np.int64, "Int64")
uint8 = Type("uint8", np.uint8, "UInt8")
bool_ = Type("bool", np.bool_, "Bool")
float_, int_ = float32, int32

_ALL = (float16, float32, float64, int8, int16, int32, int64, uint8, bool_)


def of_numpy(dtype):
    """The type of an array; NumPy's own for what has no name here."""
    return next((t for t in _ALL if t.numpy == dtype), dtype)


def numpy_of(dtype):
    """NumPy's type for one of these, or for what NumPy takes for a type."""
    return dtype.numpy if isinstance(dtype, Type) else np.dtype(dtype)


def dtype_to_nptype(type_):
    """NumPy's type."""
    return numpy_of(type_).type


def name_of(dtype):
    """As data graphs write it: "float32"."""
    return "bool" if numpy_of(dtype) == np.bool_ else numpy_of(dtype).name
