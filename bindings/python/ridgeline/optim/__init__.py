"""Optimizers and learning rates, made from the engine's own tables.

    optim.Momentum(lr=optim.Cosine(0.05, warmup=1), weight_decay=1e-4)
    optim.Adam(lr=lambda i: 0.001 / (1 + optim.floor(i / 1000)))

`lr` is a number, a schedule, or a function of the index of the step (0 is the first), which is called once and writes a
formula of it: with + - * / // < <= and the functions below. The formula is a part of the compiled step.
"""

from .. import _core, _tables
from .._core import Optimizer, ParameterGroup, RateExpr, Schedule

# Names that are not simply the entry in capitals.
SPELLED = {"adamw": "AdamW", "rmsprop": "RmsProp", "step": "StepDecay"}


def spelled(name):
    return SPELLED.get(name) or _tables.camel(name)


def functions(core):
    """Schedules, then optimizers, in the order of the tables."""
    made = []
    for entry in core.schedule_table():
        made.append(_tables.Function(spelled(entry["name"]), entry["name"], "schedule", entry["doc"],
                                     [_told(arg) for arg in entry["args"]], "Schedule"))
    usual = core.training_defaults()
    rate = {"name": "lr", "type": "float | Schedule | Callable[[RateExpr], RateExpr | float]", "default": usual["lr"],
            "doc": "the learning rate: a number, a schedule, or a function of the index of the step"}
    common = [
        {"name": "weight_decay", "type": "float", "default": usual["weight_decay"], "star": True,
         "doc": "share of a parameter that is taken from it, times the rate; 0 or more"},
        {"name": "decay_vectors", "type": "bool", "default": usual["decay_vectors"], "star": True,
         "doc": "False: biases and the scales of norms do not decay"},
        {"name": "groups", "type": "Sequence[ParameterGroup]", "default": (), "star": True,
         "doc": "parameters that are trained otherwise, by patterns of their names"},
    ]
    for entry in core.optimizer_table():
        made.append(_tables.Function(spelled(entry["name"]), entry["name"], "optimizer", entry["doc"],
                                     [rate, *entry["args"], *common], "Optimizer"))
    return made


def _told(arg):
    if arg["name"] == "epochs":
        return {**arg, "doc": arg["doc"] + "; None: those of the first call of train()"}
    return arg


def _made(kind, name, args):
    if kind == "schedule":
        return _core.make_schedule(name, {k: list(v) if isinstance(v, tuple) else v for k, v in args.items()})
    own = {k: v for k, v in args.items() if k not in ("lr", "weight_decay", "decay_vectors", "groups")}
    return _core.make_optimizer(name, own, args["lr"], args["weight_decay"], args["decay_vectors"], list(args["groups"]))


def exp(x: RateExpr) -> RateExpr:
    """e to the power of x, in a learning rate's formula."""
    return _core.rate_function("exp", [x])


def log(x: RateExpr) -> RateExpr:
    """The natural logarithm of x, in a learning rate's formula."""
    return _core.rate_function("log", [x])


def sqrt(x: RateExpr) -> RateExpr:
    """The square root of x, in a learning rate's formula."""
    return _core.rate_function("sqrt", [x])


def floor(x: RateExpr) -> RateExpr:
    """The largest whole number that is not above x, in a learning rate's formula."""
    return _core.rate_function("floor", [x])


def cos(x: RateExpr) -> RateExpr:
    """The cosine of x (radians), in a learning rate's formula."""
    return _core.rate_function("cos", [x])


def sin(x: RateExpr) -> RateExpr:
    """The sine of x (radians), in a learning rate's formula."""
    return _core.rate_function("sin", [x])


def minimum(x: RateExpr | float, y: RateExpr | float) -> RateExpr:
    """The lesser of x and y, in a learning rate's formula."""
    return _core.rate_function("minimum", [x, y])


def maximum(x: RateExpr | float, y: RateExpr | float) -> RateExpr:
    """The greater of x and y, in a learning rate's formula."""
    return _core.rate_function("maximum", [x, y])


def where(condition: RateExpr, x: RateExpr | float, y: RateExpr | float) -> RateExpr:
    """x where the condition (such as i < 100) holds, else y, in a learning rate's formula."""
    return _core.rate_function("where", [condition, x, y])


_names = _tables.define(functions(_core), globals())

__all__ = sorted([*_names, "Optimizer", "ParameterGroup", "RateExpr", "Schedule", "cos", "exp", "floor", "log",
                  "maximum", "minimum", "sin", "sqrt", "where"])


def __getattr__(name):
    from .._instead import not_there

    raise not_there(__name__, name, __all__)


def __dir__():
    return __all__
