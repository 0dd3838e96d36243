"""What the annotations of this package name; imported by type checkers only."""

import os
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from .._core import Transform

# Name, element type ('u8', 'f32', 'bytes', ...), shape; -1 for an extent that varies.
ColumnSpec: TypeAlias = tuple[str, str, tuple[int, ...]]
# {'schema', 'version', 'graph_hash', 'seed', 'records', 'epoch', 'delivered'}
State: TypeAlias = dict[str, Any]

__all__ = ["Any", "Callable", "ColumnSpec", "Generator", "Iterable", "Literal", "Mapping", "Sequence", "State",
           "Transform", "os"]
