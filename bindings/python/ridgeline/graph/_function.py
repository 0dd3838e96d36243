"""`@ridgeline.function`: Python functions of values as graphs, and their gradients."""

import collections
import functools
import inspect
import sys
import threading
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

from .. import _core
from . import _engine, _mode, _trees

_tracing = threading.local()


class _Result:
    """Stands in a tree of results for a value that the graph returns."""

    def __init__(self, index: int):
        self.index = index


class _Specialised:
    """A graph for arguments of certain types, and its program once it has run."""

    def __init__(self, graph: Any, constants: list, tree: Any):
        self.graph, self.constants, self.tree = graph, constants, tree
        self.session: Any = None
        self.program: Any = None

    def run(self, device: str, fusion: bool, arguments: list) -> list:
        session = _engine.session(device)
        with _engine.lock():
            if self.session is not session:
                self.program = _core.FunctionProgram(session, self.graph, self.constants, fusion)
                self.session = session
            program = self.program
        return program.run(arguments)

    def filled(self, results: Sequence) -> Any:
        leaves, structure = _trees.flatten(self.tree)
        return _trees.unflatten(structure, iter([results[leaf.index] if isinstance(leaf, _Result) else leaf
                                                 for _, leaf in leaves]))


class _Arguments:
    """The arguments of a call: leaves of arrays, values of a graph, and all else, which is part of the graph."""

    def __init__(self, function: "Function", args: tuple, kwargs: dict):
        self.function = function
        self.bound = function._signature.bind(*args, **kwargs)
        self.bound.apply_defaults()
        leaves, self.structure = _trees.flatten(dict(self.bound.arguments))
        self.names, self.leaves = [name for name, _ in leaves], [leaf for _, leaf in leaves]
        self.types: list[tuple | None] = []
        self.arrays: list = []  # FunctionArray, or None
        keys = []
        for name, leaf in leaves:
            array = None
            if isinstance(leaf, _core.Value):
                type_ = (leaf.dtype, leaf.shape)
            elif _is_array(leaf):
                array = _core.FunctionArray(leaf, f"argument '{name}' of {function.__name__}")
                type_ = (array.dtype, array.shape)
            else:
                type_ = None
            self.types.append(type_)
            self.arrays.append(array)
            keys.append(type_ if type_ is not None else _key_of(leaf, name, function))
        self.key = (self.structure, tuple(keys))

    def of_values(self) -> bool:
        return any(isinstance(leaf, _core.Value) for leaf in self.leaves)

    def given(self, leaves: list) -> tuple[tuple, dict]:
        """Arguments of the Python function, with other leaves."""
        arguments = _trees.unflatten(self.structure, iter(leaves))
        bound = inspect.BoundArguments(self.function._signature, collections.OrderedDict(arguments))
        return bound.args, bound.kwargs

    def positions(self) -> list[tuple[str, range, Any]]:
        """(name, leaves, structure) of each argument that has a position."""
        found, at = [], 0
        for name, value in self.bound.arguments.items():
            kind = self.function._signature.parameters[name].kind
            parts = list(enumerate(value)) if kind is inspect.Parameter.VAR_POSITIONAL else [(-1, value)]
            for i, part in parts:
                leaves, structure = _trees.flatten(part)
                if kind not in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD):
                    found.append((name if i < 0 else f"{name}[{i}]", range(at, at + len(leaves)), structure))
                at += len(leaves)
        return found

    def library(self) -> Callable[..., Any] | None:
        """What makes results that are of the kind of the first array; None: NumPy's."""
        return next((_library_of(leaf) for leaf, array in zip(self.leaves, self.arrays) if array is not None), None)


def _library_of(array: Any) -> Callable[..., Any] | None:
    module = sys.modules.get(type(array).__module__.partition(".")[0])
    return None if getattr(module, "__name__", "") == "numpy" else getattr(module, "from_dlpack", None)


def _is_array(leaf: Any) -> bool:
    return _core.is_array(leaf) or type(leaf).__module__ == "numpy" and hasattr(leaf, "__array_interface__")


def _is_floating(dtype: str) -> bool:
    return dtype.startswith(("f", "bf"))


def _key_of(leaf: Any, name: str, function: "Function") -> tuple:
    if isinstance(leaf, float):
        return (type(leaf), leaf.hex())
    try:
        hash(leaf)
    except (TypeError, ValueError):  # a memoryview that may be written raises the latter
        raise _core.ArgumentError(
            f"argument '{name}' of {function.__name__} is {leaf!r}: arrays are meant, or what can be a part of the graph "
            f"(numbers, texts, None, what has a hash){_behind()}") from None
    return (type(leaf), leaf)


def _behind() -> str:
    file, line, _ = _core.user_line()
    return f" ({file}:{line})" if line else ""


def _plain(name: str) -> str:
    text = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name)
    return text if text and not text[0].isdigit() else f"function_{text}"


class Function:
    """A Python function of values that runs as a graph; `ridgeline.function` makes it.

    Called with arrays it gives arrays. Called with values, where another function or a net is built, it is a part of
    that.
    """

    def __init__(self, function: Callable[..., Any], device: str = "cpu", fusion: bool = False, keep: int = 64):
        if isinstance(function, Function) or not callable(function):
            raise _core.ArgumentError(f"ridgeline.function gets {function!r}; a function of Python is meant")
        if not isinstance(fusion, bool):
            raise _core.ArgumentError(f"fusion is {fusion!r}; True or False is meant")
        if not isinstance(keep, int) or keep < 1:
            raise _core.ArgumentError(f"keep is {keep!r}; 1 or more is meant")
        functools.update_wrapper(self, function, updated=())
        self._function, self._device, self._fusion, self._keep = function, device, fusion, keep
        self.__name__ = getattr(function, "__name__", type(function).__name__)
        self._graph_name = _plain(self.__name__)
        self._signature = inspect.signature(function)
        self._code = getattr(inspect.unwrap(function), "__code__", None)
        self._known: collections.OrderedDict[tuple, _Specialised] = collections.OrderedDict()

    def __repr__(self) -> str:
        return f"<ridgeline.function {self.__name__}, {len(self._known)} specialisations>"

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        arguments = _Arguments(self, args, kwargs)
        if arguments.of_values():
            return self._inside(arguments)
        if _mode.mode() == "eager":
            return self._run_eagerly(arguments)
        made = self._specialised(arguments)
        results = made.run(self._device, self._fusion, [a for a in arguments.arrays if a is not None])
        return made.filled(_shown(results, arguments.library()))

    def graph(self, *args: Any, **kwargs: Any) -> _core.Graph:
        """The graph for arguments of these types and shapes, without running it."""
        return self._specialised(_Arguments(self, args, kwargs)).graph

    @property
    def specialisations(self) -> list[_core.Graph]:
        """The graphs that are kept: one for each set of types, shapes and other arguments."""
        return [made.graph for made in self._known.values()]

    def forget(self) -> None:
        """Drops the graphs and programs that are kept; what the function reads from around it is read again."""
        with _engine.lock():
            self._known.clear()

    # The place of its definition, for errors about what it gives.
    def _where(self) -> str:
        code = self._code
        return f" ({code.co_filename}:{code.co_firstlineno})" if code is not None else ""

    def _specialised(self, arguments: _Arguments) -> _Specialised:
        with _engine.lock():
            made = self._known.get(arguments.key)
            if made is None:
                active = _tracing.__dict__.setdefault("active", [])
                if (self, arguments.key) in active:
                    raise _core.ArgumentError(f"{self.__name__} calls itself with arguments of the same types: a graph "
                                              f"without an end{_behind()}")
                active.append((self, arguments.key))
                try:
                    made = self._made(arguments)
                finally:
                    active.pop()
                self._known[arguments.key] = made
                while len(self._known) > self._keep:
                    self._known.popitem(last=False)
            self._known.move_to_end(arguments.key)
            return made

    def _made(self, arguments: _Arguments) -> _Specialised:
        trace = _core.FunctionTrace(self._graph_name, self._code)
        trace.enter()
        try:
            leaves = [leaf if type_ is None else trace.input(_plain(name), *type_)
                      for name, leaf, type_ in zip(arguments.names, arguments.leaves, arguments.types)]
            args, kwargs = arguments.given(leaves)
            values, tree = self._results(self._function(*args, **kwargs))
            return _Specialised(trace.finish(values), trace.constants(), tree)
        finally:
            trace.leave()

    def _results(self, result: Any) -> tuple[list, Any]:
        """The values that are returned, and the tree in which they stand."""
        leaves, structure = _trees.flatten(result)
        values: list = []
        stand: list = []
        for _, leaf in leaves:
            if isinstance(leaf, _core.Value):
                stand.append(_Result(len(values)))
                values.append(leaf)
            else:
                stand.append(leaf)
        if not values:
            raise _core.ArgumentError(f"{self.__name__} gives {result!r}; a value is meant, or several in tuples, lists and "
                                      f"dicts{self._where()}")
        return values, _trees.unflatten(structure, iter(stand))

    def _inside(self, arguments: _Arguments) -> Any:
        # A net's layers declare parameters, and eager values have numbers: there the Python function itself runs.
        if _core.place() != "graph":
            return self._function(*arguments.bound.args, **arguments.bound.kwargs)
        return self._called(arguments)

    def _called(self, arguments: _Arguments) -> Any:
        made = self._specialised(arguments)
        values = [leaf if isinstance(leaf, _core.Value) else _core.value_of_array(leaf)
                  for leaf, type_ in zip(arguments.leaves, arguments.types) if type_ is not None]
        return made.filled(_core.call_function(self._graph_name, made.graph, values, made.constants))

    def _run_eagerly(self, arguments: _Arguments) -> Any:
        with _engine.eager_run(self._device, self._code) as run:
            leaves = [leaf if array is None else run.input(array)
                      for leaf, array in zip(arguments.leaves, arguments.arrays)]
            args, kwargs = arguments.given(leaves)
            values, tree = self._results(self._function(*args, **kwargs))
            results = [run.output(value) for value in values]
        return _Specialised(None, [], tree).filled(_shown(results, arguments.library()))


class Gradient(Function):
    """The gradients of a function; `ridgeline.grad` and `ridgeline.value_and_grad` make it."""

    def __init__(self, base: Function, argnums: int | Sequence[int], with_value: bool, has_aux: bool):
        super().__init__(base.__call__, base._device, base._fusion, base._keep)
        for number in argnums if isinstance(argnums, (tuple, list)) else [argnums]:
            if isinstance(number, bool) or not isinstance(number, int):
                raise _core.ArgumentError(f"argnums is {argnums!r}; the place of an argument is meant, or several"
                                          f"{_behind()}")
        functools.update_wrapper(self, base, updated=())
        self.__name__ = f"grad of {base.__name__}"
        self._graph_name = "grad_" + base._graph_name
        self._base, self._argnums, self._with_value, self._has_aux = base, argnums, with_value, has_aux
        self._signature, self._code = base._signature, base._code

    def _wanted(self, arguments: _Arguments) -> list[tuple[range, Any]]:
        """(leaves, structure) of each argument by which is differentiated."""
        positions = arguments.positions()
        wanted = []
        numbers = (self._argnums,) if isinstance(self._argnums, int) else tuple(self._argnums)
        for number in numbers:
            if not -len(positions) <= number < len(positions):
                raise _core.ArgumentError(f"argnums is {self._argnums!r}, and {self._base.__name__} has {len(positions)} "
                                          f"arguments{_behind()}")
            _, leaves, structure = positions[number]
            for i in leaves:
                type_ = arguments.types[i]
                if type_ is None:
                    raise _core.ArgumentError(
                        f"argument '{arguments.names[i]}' of {self._base.__name__} is {arguments.leaves[i]!r}, a part of "
                        f"the graph: gradients are by arrays (of a number: numpy.float32(...)){_behind()}")
                if not _is_floating(type_[0]):
                    raise _core.ArgumentError(f"argument '{arguments.names[i]}' of {self._base.__name__} is {type_[0]}: "
                                              f"gradients are by floating numbers{_behind()}")
            wanted.append((leaves, structure))
        return wanted

    def _loss(self, tree: Any, kind: type) -> Any:
        """What is differentiated in the tree of results, whose values are of that kind."""
        if self._has_aux and not (isinstance(tree, tuple) and len(tree) == 2):
            raise _core.ArgumentError(f"{self._base.__name__} gives {tree!r}; with has_aux=True a pair is meant, a number and "
                                      f"what is given besides{self._base._where()}")
        loss = tree[0] if self._has_aux else tree
        if not isinstance(loss, kind):
            self._refuse_loss("several values" if _trees.flatten(loss)[1] is not None else repr(loss))
        return loss

    def _check_number(self, dtype: str, shape: Sequence[int]) -> None:
        if shape or not _is_floating(dtype):
            self._refuse_loss(f"{dtype}{list(shape)}")

    def _refuse_loss(self, told: str) -> None:
        raise _core.ArgumentError(f"{self._base.__name__} gives {told}; gradients are of one floating number, a value "
                                  f"without axes{self._base._where()}")

    def _tree(self, tree: Any, grads: list) -> Any:
        made = grads[0] if isinstance(self._argnums, int) else tuple(grads)
        if self._with_value:
            return (tree, made)
        return (made, tree[1]) if self._has_aux else made

    def _made(self, arguments: _Arguments) -> _Specialised:
        wanted = self._wanted(arguments)
        base = self._base._specialised(arguments)
        loss = self._loss(base.tree, _Result)
        self._check_number(*base.graph.results[loss.index][1:])
        # Which argument of the graph a leaf is.
        of_graph = {i: n for n, i in enumerate(i for i, t in enumerate(arguments.types) if t is not None)}
        leaves = [of_graph[i] for one, _ in wanted for i in one]
        keep = self._with_value or self._has_aux
        graph = _core.gradient_graph(base.graph, self._graph_name, loss.index, leaves, keep)
        results = iter(range(len(base.graph.results) if keep else 0, len(graph.results)))
        grads = [_trees.unflatten(structure, iter([_Result(next(results)) for _ in one])) for one, structure in wanted]
        return _Specialised(graph, base.constants, self._tree(base.tree, grads))

    def _inside(self, arguments: _Arguments) -> Any:
        if _core.place() == "model":
            raise _core.ArgumentError(f"{self.__name__} is called while a net is built, whose gradients training makes"
                                      f"{_behind()}")
        return self._called(arguments)

    def _run_eagerly(self, arguments: _Arguments) -> Any:
        wanted = self._wanted(arguments)
        with _engine.eager_run(self._device, self._code) as run:
            leaves = [leaf if array is None else run.input(array)
                      for leaf, array in zip(arguments.leaves, arguments.arrays)]
            args, kwargs = arguments.given(leaves)
            result = self._base(*args, **kwargs)
            loss = self._loss(result, _core.Value)
            self._check_number(loss.dtype, loss.shape)
            flat = iter(run.gradients(loss, [leaves[i] for one, _ in wanted for i in one]))
            grads = [_trees.unflatten(structure, iter([next(flat) for _ in one])) for one, structure in wanted]
            tree = _trees.flatten(self._tree(result, grads))
            stand = [run.output(leaf) if isinstance(leaf, _core.Value) else leaf for _, leaf in tree[0]]
        library = arguments.library()
        return _trees.unflatten(tree[1], iter([_shown([leaf], library)[0] if isinstance(leaf, _core.FunctionArray)
                                               else leaf for leaf in stand]))


def apply_op(name: str, operands: list, attributes: dict) -> Any:
    """An op where a graph is built; outside of one, in eager mode, its results on arrays."""
    arrays = [x for x in operands if _is_array(x)]
    if _mode.mode() != "eager" or _core.place() is not None or not arrays:
        return _core.apply_op(name, operands, attributes)
    with _engine.eager_run("cpu", None) as run:
        values = [run.input(_core.FunctionArray(x, f"operand {i + 1} of {name}")) if _is_array(x) else x
                  for i, x in enumerate(operands)]
        result: Any = _core.apply_op(name, values, attributes)
        results = [run.output(value) for value in (result if isinstance(result, tuple) else (result,))]
    shown = _shown(results, _library_of(arrays[0]))
    return tuple(shown) if isinstance(result, tuple) else shown[0]


def _shown(arrays: Sequence, library: Callable[..., Any] | None) -> list:
    return [array.numpy() if library is None else library(array.dlpack()) for array in arrays]


@overload
def function(function: Callable[..., Any], /) -> Function: ...
@overload
def function(*, device: str = "cpu", fusion: bool = False,
             keep: int = 64) -> Callable[[Callable[..., Any]], Function]: ...


def function(function: Callable[..., Any] | None = None, /, *, device: str = "cpu", fusion: bool = False,
             keep: int = 64) -> Any:
    """A Python function of values as a graph: `@ridgeline.function`, with or without arguments.

    The function is called once for each set of element types and shapes of its arrays, with values that have no numbers,
    and what it does to them is recorded, compiled and run. Arrays are those of NumPy, or of anything with __dlpack__;
    results are of the kind of the first one. Tuples, lists and dicts hold several. All else (numbers, texts, None) is a
    part of the graph: another number is another graph. Arrays that the function reads from around it are constants, as
    they are when it is recorded. `set_mode("eager")` runs functions op by op instead, with the same bits.

    device: where it runs: cpu, or what `ridgeline devices` lists.
    fusion: merge ops as training does: faster, with bits that may differ from those of op by op.
    keep: how many graphs are kept; the one that was used longest ago goes first.
    """
    if function is not None:
        return Function(function)
    return lambda python: Function(python, device, fusion, keep)


def _base(function: Callable[..., Any]) -> Function:
    return function if isinstance(function, Function) else Function(function)


def grad(function: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Gradient:
    """The function that gives the gradients of a function of values, for the same arguments.

    function: made by `ridgeline.function`, or one of Python's; gives one floating number, a value without axes.
    argnums: the place of the argument by which is differentiated, or of several: then the gradients are a tuple. Of an
        argument that is a dict, list or tuple of arrays they come as one.
    has_aux: the function gives a pair, the number and what is given beside the gradients as it is.
    """
    return Gradient(_base(function), argnums, False, has_aux)


def value_and_grad(function: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Gradient:
    """As `grad`, with the value: the function that gives (value, gradients).

    function: made by `ridgeline.function`, or one of Python's; gives one floating number, a value without axes.
    argnums: the place of the argument by which is differentiated, or of several: then the gradients are a tuple.
    has_aux: the function gives a pair, which is given as the value.
    """
    return Gradient(_base(function), argnums, True, has_aux)


def where(condition: Any, a: Any, b: Any) -> Any:
    """`a` where the condition holds, else `b`, element by element: what `if` cannot do with values.

    condition: a value of type bool.
    a: a value, array or number.
    b: likewise, of the same element type.
    """
    return apply_op("select", [condition, a, b], {})
