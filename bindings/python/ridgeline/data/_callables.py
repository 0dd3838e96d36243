"""Python functions and rows as parts of a graph.

Graphs hold names, so that they can be written down; the functions behind them live as long as a dataset or iterator
that uses them. Workers call them with the interpreter's lock, so they run one at a time: use them for what the engine
lacks. What they raise is the error of the row they worked on.
"""

from __future__ import annotations

from .. import _core
from ._graph import Dataset
from ._names import name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import *  # noqa: F403


def Function(function: Callable[[Any], Any] | str, dtype: str | None = None, shape: Sequence[int] | None = None,
             name: str | None = None) -> Transform:
    """A Python function as a transform: `function(value) -> value`.

    function: gets a NumPy array (pixels: u8 [height, width, channels]) or bytes, a copy that it may keep; its result
        must not depend on anything else, or runs could not be repeated. Or the name of one that is registered already.
    dtype: of the result: 'f64', 'f32', 'bf16', 'f16', 'u8', 'i32', 'i64', 'bool' or 'bytes'; absent: as the value's
    shape: of the result, -1 for an extent that varies; () is a single number; absent: as the value's
    name: under which graphs hold it; absent: the function's own
    """
    args = {"dtype": dtype}
    if shape is not None:
        args["shape"] = list(shape) or [0]
    if isinstance(function, str):
        return _core.make_transform("function", {"name": function, **args}, [], _core.Tokens())
    found, tokens = _core.name_function(name or name_of(function), function, dtype or "")
    return _core.make_transform("function", {"name": found, **args}, [], tokens)


def FromGenerator(row: Callable[[int], tuple], columns: Sequence[ColumnSpec], rows: int, version: int = 0,
                  name: str | None = None) -> Dataset:
    """Rows by index from Python: `row(index)` gives a tuple of values, one a column. Called in any order.

    columns: [(name, dtype, shape)], shape without the rows, -1 where it differs; bytes have the shape ()
    rows: how many there are
    version: another one where the rows are others; caches on disk go by it
    """
    found, tokens = _core.name_generator(name or name_of(row), list(columns), rows, row, version)
    return Dataset(_core.make_source("generator", {"name": found}, tokens))


def FromStream(open: Callable[[], Iterable[tuple]], columns: Sequence[ColumnSpec], rows: int, window: int = 4096,
               version: int = 0, name: str | None = None) -> Dataset:
    """Rows one after the other from Python: `open()` gives an iterator of tuples, again and again the same rows.

    window: rows that are kept for those who ask out of order
    """
    found, tokens = _core.name_stream(name or name_of(open), list(columns), rows, open, window, version)
    return Dataset(_core.make_source("generator", {"name": found, "stream": True}, tokens))


def FileList(paths: Sequence[str | bytes | os.PathLike], labels: Sequence[int], name: str = 'files') -> Dataset:
    """Files by path, with a label each: columns image (bytes) and label (i32), in this order."""
    found, tokens = _core.name_files(name, list(paths), [int(label) for label in labels])
    return Dataset(_core.make_source("generator", {"name": found}, tokens))
