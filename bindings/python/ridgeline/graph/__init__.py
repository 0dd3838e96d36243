"""Graphs: the ops of which they are made, as functions of values, and Python functions that become graphs.

The ops are made from the engine's own table. They are called where a graph is built: in a function with
`@ridgeline.function`, or in that which `ridgeline.train.Model` gets as its net or its loss. An operand is a value of the
graph, an array (in functions), or a number, which becomes a constant of the type of the first value. Shapes and types are
checked at the call; an error names the line. With `set_mode("eager")` they take arrays anywhere, and give arrays.
"""

from .. import _core, _tables
from .._core import Graph, Value
from ._function import Function, Gradient, apply_op, function, grad, value_and_grad, where
from ._mode import mode, set_mode

TYPE_CHECKING = False


def functions(core):
    """One for each op, its operands first and its attributes by name."""
    made = []
    for op in core.op_table():
        if op["name"] == "call":
            continue
        optional = op["min_operands"]
        args = []
        many = op["max_operands"] < 0
        if many:
            args.append({"name": "operands", "type": "Sequence[Value | float]", "doc": "values of the graph"})
        else:
            for i, name in enumerate(op["operands"]):
                arg = {"name": name, "type": "Value | float", "doc": ""}
                if i >= optional:
                    arg["default"] = None
                args.append(arg)
        for attribute in op["attributes"]:
            arg = {"name": attribute["name"], "type": attribute["type"], "doc": attribute["doc"], "star": True}
            if not attribute["required"]:
                arg["default"] = attribute["default"]
            args.append(arg)
        taken = {a["name"] for a in args if not a.get("star")}
        for arg in args:
            if arg.get("star") and arg["name"] in taken:
                arg["name"] += "_"
        result = "Value" if len(op["results"]) == 1 else "tuple[Value, ...]"
        doc = op["formula"].replace("\n", " ")
        made.append(_tables.Function(_tables.identifier(op["name"]), op["name"], "many" if many else "op", doc, args,
                                     result))
    return made


_OPS = {op["name"]: op for op in _core.op_table()}


def _made(kind, name, args):
    op = _OPS[name]
    attributes = {}
    operands = []
    names = {a["name"] for a in op["attributes"]}
    places = set() if kind == "many" else set(op["operands"])
    for key, value in args.items():
        plain = key[:-1] if key.endswith("_") and key[:-1] in names and key[:-1] in places else key
        if kind == "many" and key == "operands":
            operands = list(value)
        elif key in places:
            operands.append(value)
        elif value is not None:
            attributes[plain] = value
    while operands and operands[-1] is None:
        operands.pop()
    return apply_op(name, operands, attributes)


__all__ = sorted([*_tables.define(functions(_core), globals()), "Function", "Gradient", "Graph", "Value", "function",
                  "grad", "mode", "set_mode", "value_and_grad", "where"])


def __dir__():
    return __all__
