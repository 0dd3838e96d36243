"""Python functions and rows as parts of a graph.

Graphs hold names, so that they can be written down; the functions behind them live as long as a dataset or iterator
that uses them. Each runs one call at a time, from its beginning to its end, whatever it waits for; methods of one
object share one turn. `thread_safe=True` lets several workers in, where the interpreter does. Use them for what the
engine lacks. What they raise is the error of the row they worked on. What they give must be what was declared: a value
that the type does not hold is an error, and no other value in its place.

A cache in a directory outlives a run, and goes by the version of the code that made its rows: absent, the function's
code and what it refers to, where that can be told (_code_version.py), else the cache is an error.
"""

from __future__ import annotations

import os

from .. import _core
from ._graph import Dataset
from ._names import code_of, columns_of, dtype_name, name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import *  # noqa: F403


def Function(function: Callable[[Any], Any] | str, dtype: Any = None, shape: Sequence[int] | None = None,
             name: str | None = None, thread_safe: bool = False, version: Any = None) -> Transform:
    """A Python function as a transform: `function(value) -> value`.

    function: gets a NumPy array (pixels: u8 [height, width, channels]) or bytes, a copy that it may keep; its result
        must not depend on anything else, or runs could not be repeated. Or the name of one that is registered already.
    dtype: of the result: 'f64', 'f32', 'bf16', 'f16', 'u8', 'i32', 'i64', 'bool' or 'bytes', or NumPy's or PyTorch's
        type; absent: as the value's
    shape: of the result, -1 for an extent that varies; () is a single number; absent: as the value's
    name: under which graphs hold it; absent: the function's own
    thread_safe: whether several workers may call it at a time
    version: another one where results may differ, for caches in a directory; absent: told by its code
    """
    dtype = dtype_name(dtype)
    args: dict[str, Any] = {"dtype": dtype}
    if shape is not None:
        args["shape"] = list(shape) or [0]
    if isinstance(function, str):
        return _core.make_transform("function", {"name": function, **args}, [], _core.Tokens())
    code = code_of(function, thread_safe, version)
    found, tokens = _core.name_function(name_of(function) if name is None else name, code, dtype or "")
    return _core.make_transform("function", {"name": found, **args}, [], tokens)


def FromGenerator(row: Callable[[int], tuple[Any, ...]], columns: Sequence[ColumnSpec], rows: int, version: Any = None,
                  name: str | None = None, thread_safe: bool = False) -> Dataset:
    """Rows by index from Python: `row(index)` gives a tuple of values, one a column. Called in any order.

    columns: [(name, dtype, shape)], dtype as of Function, shape without the rows, -1 where it differs; bytes have the
        shape ()
    rows: how many there are
    version: another one where the rows are others, for caches in a directory; absent: told by the code of `row`
    thread_safe: whether several workers may call it at a time
    """
    code = code_of(row, thread_safe, version)
    found, tokens = _core.name_generator(name_of(row) if name is None else name, columns_of(columns), _rows_of(rows), code)
    return Dataset(_core.make_source("generator", {"name": found}, tokens))


def FromStream(open: Callable[[], Iterable[tuple[Any, ...]]], columns: Sequence[ColumnSpec], rows: int,
               window: int = 4096, version: Any = None, name: str | None = None) -> Dataset:
    """Rows one after the other from Python: `open()` gives an iterator of tuples, again and again the same rows.

    open: such as a generator function; called anew for every pass, and where a row is asked for that is not kept any more
    columns, rows: as of FromGenerator. A stream that ends before so many rows is a RunError
    window: rows that are kept for those who ask out of order
    version: as of FromGenerator, of `open`
    """
    code = code_of(open, version=version)
    found, tokens = _core.name_stream(name_of(open) if name is None else name, columns_of(columns), _rows_of(rows), code, window)
    return Dataset(_core.make_source("generator", {"name": found, "stream": True}, tokens))


def _rows_of(rows):
    if not hasattr(rows, "__index__") or rows < 0:
        raise _core.ArgumentError(f"rows is {rows!r}, it must be the number of rows (a DataLoader takes an iterable whose "
                                  "number of samples is not known)")
    return rows.__index__()


def FileList(paths: Sequence[str | bytes | os.PathLike[str]], labels: Sequence[int], name: str = 'files') -> Dataset:
    """Files by path, with a label each: columns image (bytes) and label (i32), in this order.

    paths: of encoded pictures; read when a row is asked for
    labels: whole numbers, one a path. Other targets: a data set of your own whose samples are (path, target), which
        DataLoader takes
    name: under which graphs hold it
    """
    paths, labels = list(paths), list(labels)
    for i, label in enumerate(labels):
        if not hasattr(label, "__index__"):
            of = f" of {os.fsdecode(paths[i])}" if i < len(paths) else ""
            raise _core.ArgumentError(f"label {label!r}{of} is a {type(label).__name__}, it must be a whole number (a data "
                                      "set of your own with samples (path, target) has targets of any kind)")
    found, tokens = _core.name_files(name, paths, labels)
    return Dataset(_core.make_source("generator", {"name": found}, tokens))
