"""The names under which graphs hold Python functions."""

from __future__ import annotations

from .. import _core


def name_of(function):
    """A name that another run finds again: module and qualified name."""
    target = getattr(function, "func", function)  # functools.partial
    name = getattr(target, "__qualname__", None) or type(target).__qualname__
    module = getattr(target, "__module__", None) or type(target).__module__
    return f"{module}.{name}".replace("<", "").replace(">", "")


def named_predicate(predicate, name=None):
    if isinstance(predicate, str):
        return predicate, None
    return _core.name_predicate(name or name_of(predicate), predicate)
