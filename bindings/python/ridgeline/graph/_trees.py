"""Arguments and results that are tuples, lists and dicts of values, as lists of their leaves."""

import collections


def flatten(tree, name=""):
    """(leaves, structure): leaves are (name, what stands there)."""
    if isinstance(tree, dict):
        made = [flatten(tree[key], _joined(name, key)) for key in tree]
        keys = tuple(tree)
        return [leaf for leaves, _ in made for leaf in leaves], (type(tree), keys, tuple(inner for _, inner in made))
    if isinstance(tree, (tuple, list)):
        names = getattr(tree, "_fields", range(len(tree)))
        made = [flatten(value, _joined(name, key)) for key, value in zip(names, tree)]
        return [leaf for leaves, _ in made for leaf in leaves], (type(tree), None, tuple(inner for _, inner in made))
    return [(name, tree)], None


def unflatten(structure, leaves):
    """The inverse; `leaves` is an iterator of what stands there."""
    if structure is None:
        return next(leaves)
    kind, keys, inner = structure
    values = [unflatten(one, leaves) for one in inner]
    if keys is not None:
        made = dict(zip(keys, values))
        if issubclass(kind, collections.defaultdict):
            return kind(None, made)  # what makes other keys is no part of the structure
        return made if kind is dict else kind(made)
    return kind(*values) if hasattr(kind, "_fields") else kind(values)


def _joined(name, key):
    text = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in str(key))
    return f"{name}_{text}" if name else text
