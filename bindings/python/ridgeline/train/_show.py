"""How models and their graphs show themselves in a notebook."""

from __future__ import annotations

import functools
import html

from .. import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._model import Model


class StepGraph(str):
    """The text of a step's graph, which a notebook draws."""

    @functools.cached_property
    def _drawing(self) -> str | None:
        try:
            return _core.graph_svg(str(self))
        except _core.Error:
            return None  # more boxes than anybody could look at

    def _repr_svg_(self) -> str | None:
        return self._drawing

    def _repr_html_(self) -> str | None:
        return None if self._drawing is not None else f"<pre>{html.escape(str(self))}</pre>"


def html_of(model: Model) -> str:
    """A table of the model's parameters, below what it is."""
    try:
        values = model.parameters()
    except _core.ArgumentError as error:  # its shapes are not known yet
        return f"<p>{html.escape(repr(model))}</p><p>{html.escape(str(error))}</p>"
    rows = "".join(f"<tr><td>{html.escape(name)}</td><td>{list(array.shape)}</td><td>{array.size:,}</td></tr>"
                   for name, array in values.items())
    total = sum(array.size for array in values.values())
    return (f"<p>{html.escape(repr(model))}</p><table><tr><th>parameter</th><th>shape</th><th>numbers</th></tr>{rows}"
            f"<tr><td>all</td><td></td><td>{total:,}</td></tr></table>")
