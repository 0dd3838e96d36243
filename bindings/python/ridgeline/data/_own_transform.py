"""What becomes of transforms that have no equal in the engine, where the user has not said it."""

from __future__ import annotations

import warnings

from .._core import ArgumentError
from ._steps import flatten, is_albumentations
from ._torchvision import translate


class NotOnePicture(ArgumentError):
    """A transform gives something other than an array: several views, a dict."""


def settled(own, given, channels, untranslatable):
    """(untranslatable, whether the engine makes the pictures), and says what runs in Python.

    own: the transform that the data set brought; given: transform= of the loader. A data set's own always runs, in Python
    what the engine has no equal for, and in PyTorch's way if that is all of it; so does albumentations', of which much is
    its own. Others are an error: transform= is for the engine.
    """
    chosen = own if given is None else given
    of_albumentations = any(map(is_albumentations, flatten(chosen)))
    if untranslatable is not None or chosen is None or (given is not None and not of_albumentations):
        return untranslatable or "error", True
    translation = translate(chosen, channels, "python")
    engine = bool(translation.transforms) or of_albumentations or not translation.python
    if translation.python:
        say(translation.why, "it and what follows it run in Python, one sample at a time" if engine else
            "the data set's transform runs in Python")
    return "python", engine


def say(why, what):
    warnings.warn(f"{why}: {what}", stacklevel=4)
