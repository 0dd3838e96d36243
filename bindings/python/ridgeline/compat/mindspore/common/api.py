"""MindSpore's functions of Tensors that run as graphs: `ms_function`, `jit`, and their gradients."""

from __future__ import annotations

import functools
import types

from .... import graph, nn
from ...._core import Value
from ....graph import _trees
from .._cell import Cell
from .._names import only
from .._tensor import Tensor
from .._values import GraphTensor, value_of


TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


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

    __wrapped__: Callable[..., Any]  # of update_wrapper

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


def _gradient(fn, grad_position):
    if isinstance(fn, Cell):
        raise TypeError("gradients of Cells are Model's; here a function of Tensors is meant")
    plain = fn.__wrapped__ if isinstance(fn, _Function) else fn
    return _Function(plain, graph.grad(graph.function(_of_values(plain, _summed)), grad_position))


_BY_PARAMETERS = "gradients by parameters are Model's"


def grad(fn, grad_position=0, weights=None, has_aux=False):
    """The function that gives the gradients of the sum of a function's result by one argument, or by several."""
    only("grad", {"weights": ((None,), _BY_PARAMETERS), "has_aux": ((False,), "the function gives one result")},
         {"weights": weights, "has_aux": has_aux})
    return _gradient(fn, grad_position)


class GradOperation:
    """GradOperation(...)(function) gives the gradients of the sum of its result by the first argument.

    get_all: by all arguments, in a tuple
    sens_param: one more argument is what the result is multiplied by before the sum
    """

    def __init__(self, get_all=False, get_by_list=False, sens_param=False):
        only("GradOperation", {"get_by_list": ((False,), _BY_PARAMETERS)}, {"get_by_list": get_by_list})
        self.get_all, self.sens_param = get_all, sens_param

    def __call__(self, fn, weights=None):
        only("GradOperation", {"weights": ((None,), _BY_PARAMETERS)}, {"weights": weights})
        differentiated = _times_last(fn) if self.sens_param else fn
        if not self.get_all:
            return _gradient(differentiated, 0)
        by_count = functools.cache(lambda count: _gradient(differentiated, tuple(range(count))))
        return lambda *args: by_count(len(args) - self.sens_param)(*args)


def _times_last(fn):
    if isinstance(fn, Cell):
        return fn

    def weighted(*args):
        return fn(*args[:-1]) * args[-1]

    return weighted
