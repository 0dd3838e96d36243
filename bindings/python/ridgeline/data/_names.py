"""The names under which graphs hold Python functions, and what calls of these go by."""

from __future__ import annotations

import functools
import types

from .. import _core

# Of the engine's types.
NUMPY = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "u8": "uint8", "i32": "int32",
         "i64": "int64", "bool": "bool"}


def dtype_name(dtype):
    """The engine's name of a type that is given by this name, or as NumPy or PyTorch call it; others as they are."""
    if dtype is None:
        return None
    name = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", None) or str(dtype).removeprefix("torch.")
    return {theirs: ours for ours, theirs in NUMPY.items()}.get(name, name)


def columns_of(columns):
    """[(name, type, shape)] as the engine takes them."""
    made = []
    for column in columns:
        if not isinstance(column, (tuple, list)) or len(column) != 3 or not isinstance(column[0], str) or \
                not isinstance(column[2], (tuple, list)):
            raise _core.ArgumentError(f"columns has {column!r}, its members are (name, type, shape), such as ('x', 'f32', "
                                      "(3,)), and () is the shape of a single value")
        made.append((column[0], dtype_name(column[1]), tuple(column[2])))
    return made


def name_of(function):
    """A name that another run finds again: module and qualified name."""
    target = getattr(function, "func", function)  # functools.partial
    name = getattr(target, "__qualname__", None) or type(target).__qualname__
    module = getattr(target, "__module__", None) or type(target).__module__
    return f"{module}.{name}".replace("<", "").replace(">", "")


def code_of(function, thread_safe=False, version=None):
    """The function for a graph: whose turn its calls take, and the version that caches on disk go by."""
    if not callable(function):
        raise _core.ArgumentError(f"{function!r} is no function")

    def tell():
        from ._code_version import code_version, digest_of_given

        return code_version(function) if version is None else digest_of_given(version)

    return _core.Code(function, None if thread_safe else _owner(function), tell)


def _owner(function):
    """Methods of one object share its state, and so its turn."""
    while isinstance(function, functools.partial):
        function = function.func
    return function.__self__ if isinstance(function, types.MethodType) else function


def named_predicate(predicate, name=None, thread_safe=False):
    if isinstance(predicate, str):
        return predicate, None
    return _core.name_predicate(name_of(predicate) if name is None else name, code_of(predicate, thread_safe))
