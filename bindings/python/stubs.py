"""Writes the type stubs of what the package makes from the tables of the extension: ridgeline.data, .graph, .nn.models
and .optim.

    python stubs.py EXTENSION FOLDER        (the build calls it; the files lie in FOLDER as in the package)
"""

import ast
import importlib.machinery
import importlib.util
import pathlib
import sys

PACKAGE = pathlib.Path(__file__).parent / "ridgeline"
HERE = PACKAGE / "data"


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


def stub_of_data(core):
    generated = load("_generated", HERE / "_generated.py")
    functions = generated.functions(core)
    # Also exports what the package's own file imports.
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
        if f.name == "Normalize":  # the only function that has a second one
            method = stub.replace("def Normalize(", "def __call__(self, ").replace("\n", "\n    ")
            stub = f"class _Normalize:\n    def imagenet(self) -> Transform: ...\n    {method}\nNormalize: _Normalize\n"
        text.append(stub)
    return "\n".join(text)


# Other public names of modules that are generated from tables: their functions and names of the extension.
IMPORTS = {
    "graph/__init__": "from collections.abc import Sequence\n\nfrom .._core import Graph as Graph, Value as Value\n"
                      "from ._function import (Function as Function, Gradient as Gradient, function as function,\n"
                      "                        grad as grad, value_and_grad as value_and_grad, where as where)\n"
                      "from ._mode import mode as mode, set_mode as set_mode\n",
    "nn/models": "from .._core import Net as Net\n",
    "optim/__init__": "from collections.abc import Callable, Sequence\n\nfrom .._core import (Optimizer as Optimizer, "
                      "ParameterGroup as ParameterGroup,\n                     RateExpr as RateExpr, Schedule as Schedule)\n",
}


def stub_of_tables(module, package):
    """Of a module of the package that has `functions`."""
    path = PACKAGE / f"{module}.py"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    written = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and node.returns is not None:
            written.append(f'def {node.name}({ast.unparse(node.args)}) -> {ast.unparse(node.returns)}:\n'
                           f'    """{ast.get_docstring(node)}"""\n')
    name = "ridgeline." + module.removesuffix("/__init__").replace("/", ".")
    functions = importlib.import_module(name).functions(package._core)
    return "\n".join([f'"""Type stub of {name}, written by the build from the engine\'s tables."""', IMPORTS[module],
                      *written, *map(package._tables.stub_of, functions)])


def main(extension, folder):
    sys.path.insert(0, str(pathlib.Path(extension).parent.parent))  # the package in the build folder
    package = importlib.import_module("ridgeline")
    importlib.import_module("ridgeline._tables")
    stubs = {"data/__init__": stub_of_data(package._core)}
    for module in IMPORTS:
        stubs[module] = stub_of_tables(module, package)
    for module, text in stubs.items():
        ast.parse(text)
        out = pathlib.Path(folder) / f"{module}.pyi"
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
