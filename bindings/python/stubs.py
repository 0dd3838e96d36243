"""Writes the type stub of ridgeline.data from the tables of the extension.

    python stubs.py EXTENSION OUT        (the build calls it)
"""

import ast
import importlib.machinery
import importlib.util
import pathlib
import sys

HERE = pathlib.Path(__file__).parent / "ridgeline" / "data"


def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def parameter(spec, generated):
    kind = generated.TYPES[spec["type"]]
    if spec["allowed"]:
        kind = "Literal[" + ", ".join(repr(a) for a in spec["allowed"]) + "]"
    if spec["required"]:
        return f"{spec['name']}: {kind}"
    return f"{spec['name']}: {kind} | None = {generated.default_of(spec)!r}"


def stub_of(f, generated):
    given = ["operations: Sequence[Transform]"] if f.nests else []
    given += [parameter(spec, generated) for spec in generated.ordered(f.args)]
    result = {"source": "Dataset", "sampler": "Sampler"}.get(f.kind, "Transform")
    doc = generated.doc_of(f).replace("\n", "\n    ").replace("\\", "\\\\")
    return f'def {f.name}({", ".join(given)}) -> {result}:\n    """{doc}\n    """\n'


def main(extension, out):
    generated = load("_generated", HERE / "_generated.py")
    functions = generated.functions(load("_core", extension))
    # Imports of the package's own file are what it shows besides.
    tree = ast.parse((HERE / "__init__.py").read_text(encoding="utf-8"))
    shown = []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module != "__future__":
            names = ", ".join(f"{a.name} as {a.name}" for a in node.names if not a.name.startswith("_"))
            if names:
                shown.append(f"from {'.' * node.level}{node.module} import {names}")
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            args = ast.unparse(node.args)
            doc = ast.get_docstring(node) or ""
            shown.append(f'def {node.name}({args}) -> Transform:\n    """{doc}"""')
        elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "_LATER":
            for name, module in ast.literal_eval(node.value).items():
                shown.append(f"from .{module} import {name} as {name}")
    text = [
        '"""Type stub of ridgeline.data, written by the build from the engine\'s tables."""',
        "import os\nfrom collections.abc import Mapping, Sequence\nfrom typing import Any as ArrayLike, Literal\n",
        *shown,
        "",
    ]
    for f in functions:
        stub = stub_of(f, generated)
        if f.name == "Normalize":  # the one function with another beside it
            method = stub.replace("def Normalize(", "def __call__(self, ").replace("\n", "\n    ")
            stub = f"class _Normalize:\n    def imagenet(self) -> Transform: ...\n    {method}\nNormalize: _Normalize\n"
        text.append(stub)
    text = "\n".join(text)
    ast.parse(text)
    pathlib.Path(out).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
