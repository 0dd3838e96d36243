"""Cells: nets made of attributes that are Cells and Parameters, with a construct()."""

from __future__ import annotations

from . import context
from ._parameter import Parameter
from ._tensor import Tensor
from ._values import GraphTensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Cell:
    """A net, or a part of one: attributes are its Cells and Parameters, `construct` says what it computes.

    construct() builds a graph: it is called once for each of training, evaluation and prediction, with values that have
    shapes and no numbers. A Cell that is called with Tensors predicts.
    """

    _cells: dict[str, Cell]
    _params: dict[str, Parameter]

    def __init__(self, auto_prefix=True, flags=None):
        object.__setattr__(self, "_cells", {})
        object.__setattr__(self, "_params", {})
        self._auto_prefix = auto_prefix
        self._path = ""  # of attributes, with a dot at its end
        self._attached = False
        self._predictor: Any = None  # a Model
        self.training = False

    def __setattr__(self, name, value):
        if isinstance(value, (Cell, Parameter)):
            if "_cells" not in self.__dict__:
                raise AttributeError(f"For {type(self).__name__}, super().__init__() comes before attributes are set")
            self._attach(name, value)
        else:
            for kept in ("_cells", "_params"):
                self.__dict__.get(kept, {}).pop(name, None)
        object.__setattr__(self, name, value)

    def __delattr__(self, name):
        self._cells.pop(name, None)
        self._params.pop(name, None)
        object.__delattr__(self, name)

    def _attach(self, name, value):
        if isinstance(value, Parameter):
            self._params[name] = value
            if value._given is None:
                value.name = self._path + name
            elif self._path and not value.name.startswith(self._path):
                value.name = self._path + value._given
            return
        self._cells[name] = value
        if not value._attached:
            value._attached = True
            value.update_parameters_name(self._path + (name + "." if self._auto_prefix else ""))

    def update_parameters_name(self, prefix="", recurse=True):
        """Puts a prefix in front of the names of all Parameters."""
        self._path = prefix + self._path
        for parameter in self._params.values():
            parameter.name = prefix + parameter.name
        if recurse:
            for cell in self._cells.values():
                cell.update_parameters_name(prefix)

    # ---- what it is made of

    def parameters_and_names(self, name_prefix="", expand=True):
        """(name, Parameter) of all, each once."""
        seen = set()
        for cell in (c for _, c in self.cells_and_names()) if expand else [self]:
            for parameter in cell._params.values():
                if id(parameter) not in seen:
                    seen.add(id(parameter))
                    yield parameter.name, parameter

    def get_parameters(self, expand=True):
        return (parameter for _, parameter in self.parameters_and_names(expand=expand))

    def parameters_dict(self, recurse=True):
        return dict(self.parameters_and_names(expand=recurse))

    def trainable_params(self, recurse=True):
        """Those that an optimizer takes."""
        return [p for p in self.get_parameters(expand=recurse) if p.requires_grad]

    def untrainable_params(self, recurse=True):
        return [p for p in self.get_parameters(expand=recurse) if not p.requires_grad]

    def cells(self):
        return self._cells.values()

    def name_cells(self):
        return dict(self._cells)

    def cells_and_names(self, name_prefix=""):
        """(path, Cell) of this one and all below, each once."""
        found: dict[int, tuple[str, Cell]] = {}
        todo: list[tuple[str, Cell]] = [(name_prefix, self)]
        while todo:
            name, cell = todo.pop(0)
            if id(cell) in found:
                continue
            found[id(cell)] = (name, cell)
            todo[:0] = [(f"{name}.{k}" if name else k, c) for k, c in cell._cells.items()]
        return iter(found.values())

    def insert_child_to_cell(self, child_name, child_cell):
        setattr(self, child_name, child_cell)

    # ---- modes

    def set_train(self, mode=True):
        """Whether it is in training, as `training` of each Cell tells. Models set it themselves for what they build."""
        for _, cell in self.cells_and_names():
            cell.training = mode
        return self

    def set_grad(self, requires_grad=True):
        return self

    def to_float(self, dst_type):
        raise NotImplementedError("Cell.to_float(): the precision of a Model is its amp_level")

    def set_param_ps(self, *_, **__):
        raise NotImplementedError("Cell.set_param_ps(): parameter servers are started by the command line: ridgeline "
                                  "launch --servers")

    # ---- what it computes

    def construct(self, *inputs, **named):
        raise NotImplementedError(f"{type(self).__name__} has no construct()")

    def __call__(self, *inputs, **named):
        if inputs and all(_is_numbers(x) for x in inputs) and not named:
            return self._predict(inputs)
        return self.construct(*inputs, **named)

    def _predict(self, inputs):
        from .train.model import Model

        context.mode_is_said()
        predictor = self._predictor
        if predictor is None:
            predictor = Model(self)
            object.__setattr__(self, "_predictor", predictor)
        return predictor.predict(*inputs)

    def __repr__(self):
        inside = "".join(f"\n  ({name}): " + repr(cell).replace("\n", "\n  ") for name, cell in self._cells.items())
        return f"{type(self).__name__}<{inside}\n  >" if inside else f"{type(self).__name__}<>"


def _is_numbers(x):
    return not isinstance(x, (GraphTensor, Parameter)) and (isinstance(x, Tensor) or hasattr(x, "__array__"))


class SequentialCell(Cell):
    """Cells one after the other; their names are their places."""

    def __init__(self, *args):
        super().__init__()
        from collections import OrderedDict

        cells = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple, dict)) else args
        named = cells.items() if isinstance(cells, (dict, OrderedDict)) else ((str(i), c) for i, c in enumerate(cells))
        for name, cell in named:
            if not isinstance(cell, Cell):
                raise TypeError(f"a {type(self).__name__} is made of Cells, not {cell!r}")
            setattr(self, name, cell)

    def append(self, cell):
        setattr(self, str(len(self._cells)), cell)
        return self

    def __len__(self):
        return len(self._cells)

    def __iter__(self):
        return iter(self._cells.values())

    def __getitem__(self, index):
        cells = list(self._cells.values())
        return type(self)(*cells[index]) if isinstance(index, slice) else cells[index]

    def construct(self, x):
        for cell in self._cells.values():
            x = cell(x)
        return x


class CellList(SequentialCell):
    """Cells in a list; construct() is the owner's."""

    def extend(self, cells):
        for cell in cells:
            self.append(cell)
        return self

    def construct(self, x=None, *more):
        raise NotImplementedError("a CellList is called cell by cell")
