"""Places in a sample, tuples of keys, indices and fields: what lies there, and where pictures and labels are."""

from __future__ import annotations

import copy
import dataclasses

from .._core import ArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import *  # noqa: F403


def value_at(sample, place):
    for key in place:
        sample = getattr(sample, key) if is_dataclass(sample) else sample[key]
    return sample


def with_value(sample, place, value):
    """The sample with another value at a place; the sample itself stays as it is."""
    if not place:
        return value
    key, inner = place[0], with_value(value_at(sample, place[:1]), place[1:], value)
    if isinstance(sample, tuple):
        parts = list(sample)
        parts[key] = inner
        return type(sample)(*parts) if hasattr(sample, "_fields") else tuple(parts)
    made = copy.copy(sample)
    if is_dataclass(sample):
        object.__setattr__(made, key, inner)
    else:
        made[key] = inner
    return made


def is_dataclass(sample):
    return dataclasses.is_dataclass(sample) and not isinstance(sample, dict)


def places_of_pictures(first, image, label) -> list[tuple[Any, ...]]:
    if image is not None:
        places = [place if isinstance(place, tuple) else (place,) for place in
                  (image if isinstance(image, list) else [image])]
        for place in places:
            try:
                value_at(first, place)
            except (LookupError, TypeError, AttributeError):
                raise ArgumentError(f"image is {image!r}, {_keys_of(first)}") from None
        return [_from_zero(first, place) for place in places]
    if isinstance(first, dict):
        if "image" in first:
            return [("image",)]
        raise ArgumentError(f"name the key of the picture with image=, among {', '.join(map(str, first))}")
    if isinstance(first, (tuple, list)):
        if len(first) == 2 and not hasattr(first, "_fields"):
            if label is not None and _place(first, label, "label") == 0:
                raise ArgumentError("image and label are both place 0 of the samples: name another with image= or "
                                    "label=")
            return [(0,)]
        raise ArgumentError(f"samples are {type(first).__name__}s of {len(first)}: name the place of the image with "
                            "image= (several as a list), and of the label with label= if nothing else is wanted")
    if is_dataclass(first):
        names = ", ".join(field.name for field in dataclasses.fields(first))
        raise ArgumentError(f"samples are {type(first).__name__}: name the field of the image with image=, among {names}")
    return [()]


def _keys_of(first):
    if isinstance(first, (tuple, list)):
        return f"samples are tuples of {len(first)} (allowed: 0 to {len(first) - 1})"
    if isinstance(first, dict):
        return f"samples have the keys {', '.join(map(str, first))}"
    return f"samples are {type(first).__name__}"


def _from_zero(first, place):
    if place and isinstance(first, (tuple, list)):
        return (place[0] % len(first), *place[1:])
    return place


def _place(first, place, name):
    if isinstance(first, (tuple, list)):
        if not hasattr(place, "__index__") or not -len(first) <= place < len(first):
            raise ArgumentError(f"{name} is {place!r}, {_keys_of(first)}")
        return place % len(first)
    if place not in first:
        raise ArgumentError(f"{name} is {place!r}, {_keys_of(first)}")
    return place


def pair_of(first, places, label):
    """(place of the label, form), where image and label are all that is delivered."""
    if type(first) not in (tuple, list, dict) or len(places) != 1 or len(places[0]) != 1:
        if label is not None:
            raise ArgumentError("label= names what is delivered beside one image: leave it out, and all of a sample is")
        return None
    form = "dict" if type(first) is dict else "tuple"
    if label is None:
        if len(first) != 2:
            return None
        (label,) = [key for key in (first if form == "dict" else range(2)) if key != places[0][0]]
    label = _place(first, label, "label")
    if label == places[0][0]:
        raise ArgumentError(f"image and label are both place {label} of the samples: name another with image= or label=")
    return (label,), form
