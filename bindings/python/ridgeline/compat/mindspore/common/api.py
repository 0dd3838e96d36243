"""MindSpore's functions of Tensors that run as graphs: `ms_function`, `jit`, and their gradients."""

import functools
import types

from .... import graph, nn
from ...._core import Value
from ....graph import _trees
from .._cell import Cell
from .._names import only
from .._tensor import Tensor
from .._values import GraphTensor, value_of


def _each(tree, change):
    leaves, structure = _trees.flatten(tree)
    return _trees.unflatten(structure, iter([change(leaf) for _, leaf in leaves]))


def _outside(x):
    """Of an argument: what `ridgeline.function` takes."""
    if isinstance(x, Tensor):
        return x.asnumpy()
    return x.plain() if isinstance(x, GraphTensor) else x


def _inside(x):
    return GraphTensor(x) if isinstance(x, Value) else x


def _given(x):
    """Of a result: what the script sees."""
    if isinstance(x, Value):
        return GraphTensor(x)
    return Tensor(x) if hasattr(x, "__array_interface__") else x


def _of_values(function, change=value_of):
    """The function of the graph's values that a function of Tensors is, with the lines of the script."""
    @functools.wraps(function)
    def of_values(*args, **kwargs):
        results = function(*_each(args, _inside), **_each(kwargs, _inside))
        return _each(results, lambda x: change(x) if isinstance(x, (GraphTensor, Value, Tensor)) else x)

    return of_values


class _Function:
    """A function of Tensors that runs as a graph."""

    def __init__(self, function, made):
        functools.update_wrapper(self, function)
        self._made = made

    def __call__(self, *args, **kwargs):
        return _each(self._made(*_each(args, _outside), **_each(kwargs, _outside)), _given)

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        # Nets are compiled as they are.
        return types.MethodType(self.__wrapped__ if isinstance(instance, Cell) else self, instance)


def ms_function(fn=None, obj=None, input_signature=None):
    """The function as a graph, one for each set of types and shapes; op by op in PYNATIVE_MODE, with the same numbers."""
    only("ms_function", {"obj": ((None,), "methods are decorated in their class"),
                         "input_signature": ((None,), "types and shapes are those of the arguments")},
         {"obj": obj, "input_signature": input_signature})
    return ms_function if fn is None else _Function(fn, graph.function(_of_values(fn)))


def jit(fn=None, input_signature=None, hash_args=None, jit_config=None):
    """ms_function under its later name."""
    only("jit", {"input_signature": ((None,), "types and shapes are those of the arguments"),
                 "hash_args": ((None,), "what has a hash is a part of the graph by itself"),
                 "jit_config": ((None,), "there are no levels of compilation")},
         {"input_signature": input_signature, "hash_args": hash_args, "jit_config": jit_config})
    return jit if fn is None else ms_function(fn)


def _summed(x):
    """Gradients are those of the sum, as MindSpore's are."""
    value = value_of(x)
    return nn.sum(value) if value.shape else value


def _gradient(made, name, fn, grad_position, weights, has_aux):
    only(name, {"weights": ((None,), "gradients by parameters are Model's"),
                "has_aux": ((False,), "the function gives one result")}, {"weights": weights, "has_aux": has_aux})
    if isinstance(fn, Cell):
        raise TypeError(f"{name}() of a Cell: gradients of nets are Model's; here a function of Tensors is meant")
    plain = fn.__wrapped__ if isinstance(fn, _Function) else fn
    return _Function(plain, made(graph.function(_of_values(plain, _summed)), grad_position))


def grad(fn, grad_position=0, weights=None, has_aux=False):
    """The function that gives the gradients of the sum of a function's result by one argument, or by several."""
    return _gradient(graph.grad, "grad", fn, grad_position, weights, has_aux)
