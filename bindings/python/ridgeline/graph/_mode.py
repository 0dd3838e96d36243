"""How functions of values run: as compiled graphs, or op by op."""

from typing import Literal

from .. import _core

Mode = Literal["graph", "eager"]
MODES = ("graph", "eager")

_mode: Mode = "graph"


def mode() -> Mode:
    """How functions made by `ridgeline.function` run: "graph" (as it begins) or "eager"."""
    return _mode


def set_mode(mode: Mode) -> Mode:
    """How functions made by `ridgeline.function` run from here on, in all threads; gives what held before.

    mode: "graph": a function becomes a graph, once for each set of types and shapes, which is compiled and run. "eager":
    its ops run one by one as they are written, so that values have numbers and Python's `if` and `while` may go by them.
    The results have the same bits.
    """
    global _mode
    if mode not in MODES:
        raise _core.ArgumentError(f"the mode of functions is {mode!r} (allowed: {', '.join(MODES)})")
    before, _mode = _mode, mode
    return before
