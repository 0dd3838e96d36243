"""Transforms of the user's own that only call another, such as the presets of torchvision's reference trainers."""

from __future__ import annotations

import numpy as np

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import *  # noqa: F403


# Never called: their code is what counts.
def _plain(self, image):
    return self.inner(image)


def _of_array(self, image):
    return self.inner(image=np.array(image))["image"]


def unwrapped(transform: Any) -> Any:
    """What a transform does nothing but call, through as many of them as there are; itself where it does more.

    Told by the code of its __call__ or forward, which must be that of `return self.NAME(image)`, or, as albumentations is
    called, `return self.NAME(image=np.array(image))["image"]`.
    """
    while (inner := _inner(transform)) is not None:
        transform = inner
    return transform


def _inner(transform):
    kind = type(transform)
    if kind.__module__.partition(".")[0] in ("torchvision", "timm", "albumentations", "torch"):
        return None
    if getattr(transform, "_forward_hooks", None) or getattr(transform, "_forward_pre_hooks", None):
        return None
    # A module of PyTorch's is called by its forward.
    is_module = any(c.__module__.startswith("torch.nn") for c in kind.__mro__)
    function = getattr(kind, "forward" if is_module else "__call__", None)
    if function is None:
        return None
    code = getattr(function, "__code__", None)
    for pattern, is_numpy in ((_plain, False), (_of_array, True)):
        name = _called(code, pattern.__code__)
        if name is None:
            continue
        if is_numpy and getattr(function.__globals__.get("np"), "__name__", "") != "numpy":
            continue
        inner = vars(transform).get(name, vars(transform).get("_modules", {}).get(name))
        return inner if callable(inner) else None
    return None


def _called(code, pattern):
    """The attribute of self that a function calls, if it has the code of the pattern."""
    if code is None or (code.co_code, code.co_argcount, code.co_kwonlyargcount) != \
            (pattern.co_code, pattern.co_argcount, pattern.co_kwonlyargcount):
        return None  # *args and **kwargs that are not used are neither here nor there
    if code.co_consts[1:] != pattern.co_consts[1:]:  # the first is the docstring
        return None
    place = pattern.co_names.index("inner")
    names = list(code.co_names)
    wanted = list(pattern.co_names)
    if len(names) != len(wanted):
        return None
    wanted[place] = names[place]
    return names[place] if names == wanted else None

