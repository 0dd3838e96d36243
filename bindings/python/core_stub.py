"""Writes the type stub of the extension from the signatures that it holds.

    python core_stub.py EXTENSION OUT        (the build calls it)

nanobind's stub generator reads the signatures; core_stub.txt has the types that C++ does not show. The exceptions, which
the generator takes for another module's, are written here.
"""

import ast
import importlib.util
import pathlib
import re
import sys

from nanobind.stubgen import StubGen, load_pattern_file

IMPORTS = "import os\nfrom collections.abc import Callable, Sequence\nfrom typing import Any, overload\n"


def exceptions(module):
    """The classes of the module's exceptions, bases first."""
    found = [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, Exception)]
    for kind in sorted(found, key=lambda kind: len(kind.__mro__)):
        bases = ", ".join(base.__name__ for base in kind.__bases__)
        yield f'class {kind.__name__}({bases}):\n    """{kind.__doc__}"""\n'


# Containers to which C++ gives no element type; strict type checkers need one.
ARGUMENTS = {"dict": "[Any, Any]", "list": "[Any]", "tuple": "[Any, ...]", "os.PathLike": "[Any]"}


def with_arguments(signature):
    """A signature whose containers say what they hold; a parameter may have the name of one."""
    return re.sub(r"(?<![\w.])(dict|list|tuple|os\.PathLike)\b(?![\[(:])|(?<=-> )(dict|list|tuple)(?=:)",
                  lambda name: name[0] + ARGUMENTS[name[0]], signature)


def main(extension, out):
    spec = importlib.util.spec_from_file_location("_core", extension)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    patterns = load_pattern_file(pathlib.Path(__file__).with_name("core_stub.txt"))
    generator = StubGen(module, patterns=patterns)
    generator.put(module)
    text = generator.get()
    unused = [pattern.query.pattern for pattern in patterns if pattern.matches == 0]
    if unused:
        sys.exit(f"core_stub.txt has signatures of what the extension has not: {', '.join(unused)}")
    body = re.sub(r"^(from|import) [^(\n]*(\((?:[^)]*)\))?\n", "", text, flags=re.M).strip()
    body = body.replace("    pass\n", "    ...\n")
    body = re.sub(r"^ *def .*$", lambda line: with_arguments(line[0]), body, flags=re.M)
    text = "\n\n".join([IMPORTS, "__version__: str", *exceptions(module), body]) + "\n"
    ast.parse(text)
    pathlib.Path(out).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
