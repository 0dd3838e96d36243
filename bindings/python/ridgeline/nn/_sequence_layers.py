"""Layers of sequences and samples: norms of samples, tables, attention."""

from __future__ import annotations

from .. import _core
from ._layers import Layer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._core import Init, Value


class LayerNorm(Layer):
    """Normalises the numbers of the last axes of each sample by their own mean and variance; scale and shift have the
    extents of these axes.

    axes: how many, from the last one on
    epsilon: added to variances
    """

    _kind = "layer_norm"

    def __init__(self, axes: int = 1, epsilon: float = 1e-5, name: str | None = None) -> None:
        super().__init__(name)
        self.axes, self.epsilon = axes, epsilon

    def _build(self, x, name):
        return _core.layer_layer_norm(x, name, self.axes, self.epsilon, self._where)


class GroupNorm(Layer):
    """Normalises each group of channels of each sample [N,...,C] over all positions; scale and shift are [C].

    groups: of neighbouring channels; their number divides that of the channels
    epsilon: added to variances
    name: as of `Layer`
    """

    _kind = "group_norm"

    def __init__(self, groups: int = 32, epsilon: float = 1e-5, name: str | None = None) -> None:
        super().__init__(name)
        self.groups, self.epsilon = groups, epsilon

    def _build(self, x, name):
        return _core.layer_group_norm(x, name, self.groups, self.epsilon, self._where)


class Embedding(Layer):
    """Rows of a table [rows,width] by number: i32 [...] to f32 [...,width]. A number outside of it ends the step.

    rows: of the table
    width: numbers of a row
    weight_init: how the table begins: `normal(deviation)`, `constant(value)`, or one of `inits()`; None: normal(1)
    name: as of `Layer`
    """

    _kind = "embedding"

    def __init__(self, rows: int, width: int, weight_init: str | Init | None = None, name: str | None = None) -> None:
        super().__init__(name)
        self.rows, self.width, self.weight_init = rows, width, weight_init

    def _build(self, x, name):
        init = _core.init_normal(1.0) if self.weight_init is None else self.weight_init
        return _core.layer_embedding(x, name, self.rows, self.width, init, self._where)


class Attention(Layer):
    """Attention of several heads over x [N,T,D], as PyTorch's MultiheadAttention with batch_first and in its names:
    in_proj_weight [3D,D] of queries, keys and values, out_proj. Called with a second value [N,S,D], keys and values are
    of that.

    heads: which divide D
    dropout_keep: share of the probabilities that dropout keeps, in training only
    name: as of `Layer`
    """

    _kind = "attention"

    def __init__(self, heads: int, dropout_keep: float = 1.0, name: str | None = None) -> None:
        super().__init__(name)
        self.heads, self.dropout_keep = heads, dropout_keep

    def __call__(self, x: Value, memory: Value | None = None) -> Value:
        return self._build(x, _core.layer_name(self, self._kind, self.name or ""), memory)

    def _build(self, x, name, memory=None):
        return _core.layer_attention(x, memory, name, self.heads, self.dropout_keep, self._where)
