"""Modules whose names are found when they are asked for, and what is said of those that are not there."""

import importlib


def lookup(module, name, places, refused):
    """The value of `name` in the module, for its __getattr__.

    places: {name: module that has it, relative}; of a module itself ".name"
    refused: {name: what to use instead}
    """
    if name in places:
        place = places[name]
        found = importlib.import_module(place, module)
        return found if place.rpartition(".")[2] == name and name not in vars(found) else getattr(found, name)
    if name in refused:
        # No AttributeError, of which `from ... import` would drop the text.
        raise ImportError(f"{module} has no {name}: {refused[name]}")
    raise AttributeError(f"module {module!r} has no attribute {name!r}")


def not_there(what, instead):
    """A ValueError for an argument that this program cannot honour."""
    return ValueError(f"{what}: {instead}")


def only(function, accepted, given):
    """Refuses arguments that were given other values than the ones that mean the same as here.

    accepted: {name: (values that are accepted, what to do instead)}; given: {name: value}
    """
    for name, value in given.items():
        if name not in accepted:
            raise TypeError(f"{function}() has no argument '{name}' here")
        values, instead = accepted[name]
        if not any(value is v or (type(value) is type(v) and value == v) for v in values):
            raise not_there(f"{function}({name}={value!r})", instead)
