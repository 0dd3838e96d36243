"""Which code a Python function is, as a number: rows that a cache keeps in a directory are those of one version.

The number goes by the function's code (not its lines), constants, defaults, closure and attributes, and by the globals
that it names: functions and classes of the user's in turn, values by what they hold, libraries by name and version.
Files that it reads, and names that it looks up in other ways, are not seen. Where a part cannot be told, there is no
number, but a text that says which.
"""

from __future__ import annotations

import builtins
import copyreg
import dis
import functools
import hashlib
import os
import sys
import sysconfig
import types

from .. import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import *  # noqa: F403


class Unknown(Exception):
    """Why code has no version."""


def code_version(function):
    """A number of 64 bits, or a text."""
    try:
        return _number(_Digest().of(function, "it"))
    except Unknown as reason:
        return f"{reason}: give version=, and another one whenever its results may differ"
    except RecursionError:
        return "what it refers to is nested too deeply: give version=, and another one whenever its results may differ"


def digest_of_given(version):
    """Of a version that the user gave."""
    return _number(hashlib.blake2b(repr(("given", version)).encode(), digest_size=8).digest())


def _number(digest):
    return int.from_bytes(digest[:8], "little")


_PLAIN = (type(None), type(Ellipsis), type(NotImplemented), bool, int, float, complex, str, bytes)
# What every class has, and what changes when lines move.
_NOT_CODE = {"__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "__firstlineno__",
             "__static_attributes__", "__annotate__", "__annotate_func__", "__annotations_cache__", "_abc_impl",
             "__abstractmethods__", "__orig_bases__", "__parameters__", "__dataclass_fields__", "__dataclass_params__"}
_LIBRARIES = tuple(os.path.realpath(sysconfig.get_path(name)) + os.sep
                   for name in ("stdlib", "platstdlib", "purelib", "platlib"))


class _Digest:
    """Digests of objects; each is looked into once, so that they may refer to each other."""

    def __init__(self):
        self._seen = {}
        self._kept = []  # so that no other object gets the id of one

    def of(self, value, what):
        """Bytes that tell the value. what: how it is reached, for the reason."""
        if isinstance(value, _PLAIN) and type(value) in _PLAIN:
            return _hash(type(value).__name__, repr(value))
        if id(value) in self._seen:
            return _hash("seen", str(self._seen[id(value)]))
        self._seen[id(value)] = len(self._seen)
        self._kept.append(value)
        return self._look(value, what)

    def _look(self, value, what):
        for kinds, look in self._LOOKS:
            if isinstance(value, kinds):
                return look(self, value, what)
        if type(value) in (list, tuple):
            return _hash(type(value).__name__, *(self.of(v, f"{what}[{i}]") for i, v in enumerate(value)))
        if type(value) is dict:
            return _hash("dict", *(self.of(k, f"a key of {what}") + self.of(v, f"{what}[{k!r}]")
                                   for k, v in value.items()))
        if type(value) in (set, frozenset):
            return _hash(type(value).__name__, *sorted(_Digest().of(v, f"an element of {what}") for v in value))
        if hasattr(value, "__array__"):
            return self._array(value, what)
        return self._object(value, what)

    def _function(self, function, what):
        parts = [function.__module__ or "", function.__qualname__]
        if (library := _library(function.__module__)) is not None:
            parts.append(library)
        else:
            parts = [self._code(function.__code__, function.__globals__, what),
                     self.of(function.__dict__, f"the attributes of {function.__qualname__}")]
        parts += [self.of(function.__defaults__, what), self.of(function.__kwdefaults__, what)]
        for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            try:
                content = cell.cell_contents
            except ValueError:
                continue  # not set yet
            parts.append(_hash(variable, self.of(content, variable)))
        return _hash("function", *parts)

    def _code(self, code, names, what):
        facts = (code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_argcount,
                 code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags, sys.version_info[:2])
        parts = [self._code(c, names, what) if isinstance(c, types.CodeType) else self.of(c, what)
                 for c in code.co_consts]
        steps = list(dis.get_instructions(code))
        for i, step in enumerate(steps):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                attributes = []
                for following in steps[i + 1:]:
                    if following.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
                        break
                    attributes.append(following.argval)
                parts.append(self._named(step.argval, names, attributes))
            elif step.opname == "IMPORT_NAME" and _library(step.argval) is None:
                raise Unknown(f"{what} imports {step.argval} while it runs, which is no installed library")
        return _hash("code", repr(facts), *parts)

    def _named(self, name, names, attributes):
        """A global name; of the user's own modules the attribute that is asked for."""
        if name not in names:
            return _hash("built-in" if hasattr(builtins, name) else "undefined", name)
        value = names[name]
        while isinstance(value, types.ModuleType) and _library(value.__name__) is None and attributes:
            name, value = f"{name}.{attributes[0]}", getattr(value, attributes[0], None)
            attributes = attributes[1:]
        return _hash("global", name, self.of(value, name))

    def _module(self, module, what):
        if (library := _library(module.__name__)) is None:
            raise Unknown(f"{what} is the module {module.__name__}, which is no installed library")
        return _hash("module", module.__name__, library)

    def _class(self, kind, what):
        if (library := _library(kind.__module__)) is not None:
            return _hash("class", kind.__module__, kind.__qualname__, library)
        parts = [self.of(base, what) for base in kind.__bases__]
        for name, value in sorted(vars(kind).items()):
            if name not in _NOT_CODE and not isinstance(value, (types.MemberDescriptorType,
                                                                types.GetSetDescriptorType)):
                parts.append(_hash(name, self.of(value, f"{kind.__qualname__}.{name}")))
        return _hash("class", kind.__qualname__, *parts)

    def _built_in(self, value, what):
        owner = getattr(value, "__self__", None)
        module = getattr(value, "__module__", None) or getattr(getattr(value, "__objclass__", None), "__module__", "")
        if owner is not None and not isinstance(owner, (types.ModuleType, type)):
            return _hash("built-in method", value.__qualname__, self.of(owner, what))
        return _hash("built-in", module, value.__qualname__, _library(module) or "")

    def _object(self, value, what):
        """By what pickling would keep of it, code looked into."""
        try:
            made = copyreg.dispatch_table.get(type(value), lambda v: v.__reduce_ex__(2))(value)
        except Exception:
            kind = type(value)
            raise Unknown(f"{what} is a {kind.__module__}.{kind.__qualname__}, whose content cannot be told") from None
        if isinstance(made, str):
            return _hash("named", made, self.of(type(value), what))
        parts: tuple[Any, ...] = (*made, None, None, None)
        call, args, state, items, pairs = parts[:5]
        return _hash("object", self.of(call, what), self.of(args, what), self.of(state, what),
                     self.of(list(items or ()), what), self.of(list(pairs or ()), what))

    def _array(self, value, what):
        import numpy as np

        try:
            array = np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)
        except Exception as error:
            raise Unknown(f"{what} is a {type(value).__qualname__} that NumPy does not take ({error})") from None
        if array.dtype.hasobject:
            return _hash("objects", repr(array.shape), self.of(array.tolist(), what))
        return _hash("array", self.of(type(value), what), array.dtype.str, repr(array.shape), array.tobytes())


    _LOOKS = [
        (types.FunctionType, _function),
        (types.CodeType, lambda self, code, what: self._code(code, {}, what)),
        (types.MethodType, lambda self, m, what: _hash("method", self.of(m.__func__, what), self.of(m.__self__, what))),
        (types.ModuleType, _module),
        (type, _class),
        ((types.BuiltinFunctionType, types.WrapperDescriptorType, types.MethodDescriptorType), _built_in),
        ((staticmethod, classmethod), lambda self, m, what: _hash(type(m).__name__, self.of(m.__func__, what))),
        (property, lambda self, p, what: _hash("property", *(self.of(f, what) for f in (p.fget, p.fset, p.fdel)))),
        (functools.cached_property, lambda self, p, what: _hash("cached property", self.of(p.func, what))),
        (type(functools.lru_cache(len)), lambda self, f, what: _hash("cached", self.of(f.__wrapped__, what))),
        (_core.Transform, lambda self, t, what: _hash("transform", repr(t), *(self.of(o, what) for o in t.operations))),
    ]


def _hash(*parts):
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.digest()


@functools.lru_cache(maxsize=None)
def _library(name):
    """The version of the installed library (or of Python) that the module belongs to; None for the user's own."""
    if not name:
        return None
    top = name.partition(".")[0]
    if top in sys.builtin_module_names or top in sys.stdlib_module_names:
        return ".".join(map(str, sys.version_info[:3]))
    module = sys.modules.get(top)
    if module is None:
        import importlib

        try:
            module = importlib.import_module(top)
        except ImportError:
            return None
    file = os.path.realpath(getattr(module, "__file__", None) or (list(getattr(module, "__path__", [])) or [""])[0])
    if top != "ridgeline" and not file.startswith(_LIBRARIES) and f"{os.sep}site-packages{os.sep}" not in file \
            and f"{os.sep}dist-packages{os.sep}" not in file:
        return None
    version = getattr(module, "__version__", None)
    if version is None:
        import importlib.metadata

        names = importlib.metadata.packages_distributions().get(top, [])
        version = ",".join(f"{n} {importlib.metadata.version(n)}" for n in sorted(set(names)))
    return str(version)
