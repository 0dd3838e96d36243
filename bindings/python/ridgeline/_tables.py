"""Python functions from the engine's tables: real signatures and docstrings, nothing mirrored.

The packages execute what `source_of` writes; `stubs.py` writes the same signatures as type stubs.
"""

import keyword
import os


class Function:
    """One function: `args` are dicts of name, type, doc and default (absent: required); `kind` says what it gives."""

    def __init__(self, name, entry, kind, doc, args, result):
        self.name, self.entry, self.kind, self.doc, self.args, self.result = name, entry, kind, doc, args, result


def camel(name):
    return "".join(part.capitalize() for part in name.split("_"))


def identifier(name):
    return name + "_" if keyword.iskeyword(name) else name


def default_of(arg):
    return tuple(arg["default"]) if isinstance(arg["default"], list) else arg["default"]


def type_of(arg):
    """As a stub writes it: what may be absent takes None."""
    return arg["type"] + (" | None" if "default" in arg and arg["default"] is None else "")


def sentence(text):
    text = text[:1].upper() + text[1:]
    return text if text.endswith(".") else text + "."


def doc_of(f):
    lines = [f.doc if f.kind in ("op", "many") else sentence(f.doc)]  # ops: a formula, in which X is not x
    told = [f"{arg['name']}: {arg['doc']}" for arg in f.args if arg["doc"]]
    return "\n".join([*lines, "", *told] if told else lines)


def parameters(f, types=False):
    given = []
    for arg in f.args:
        if arg.get("star") and not any(g.startswith("*") for g in given):
            given.append("*")
        text = identifier(arg["name"])
        if types:
            text += f": {type_of(arg)}"
        if "default" in arg:
            text += f" = {default_of(arg)!r}" if types else f"={default_of(arg)!r}"
        given.append(text)
    return ", ".join(given)


def source_of(f):
    """The function as Python text; the namespace holds _made(kind, entry, args)."""
    args = "{" + ", ".join(f"{a['name']!r}: {identifier(a['name'])}" for a in f.args) + "}"
    return (f"def {f.name}({parameters(f)}):\n    return _made({f.kind!r}, {f.entry!r}, {args})\n"
            f"{f.name}.__doc__ = {doc_of(f)!r}\n")


def stub_of(f):
    doc = doc_of(f).replace("\\", "\\\\").replace("\n", "\n    ")
    return f'def {f.name}({parameters(f, True)}) -> {f.result}:\n    """{doc}\n    """\n'


def define(functions, namespace):
    """Puts the functions into the namespace; their names."""
    # A file of the package, as messages name the lines of users.
    made = compile("\n".join(source_of(f) for f in functions), os.path.join(os.path.dirname(__file__), "tables"), "exec")
    exec(made, namespace)
    return [f.name for f in functions]
