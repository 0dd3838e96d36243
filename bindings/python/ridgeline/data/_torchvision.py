"""torchvision's transforms as transforms of the engine, one by one.

Pixels are those that torchvision gives for PIL images, with the same parameters; random parameters are drawn by the
engine (keyed by seed, epoch and record), from the same ranges and distributions. Where torchvision would work on
tensors (v2.ToImage first), the engine still gives the pixels of PIL images.
"""

from __future__ import annotations

from .. import _core
from .._core import ArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import *  # noqa: F403


class Untranslatable(ArgumentError):
    """Names the transform of torchvision that the engine has nothing equal for, and why."""

    def __init__(self, transform, why):
        super().__init__(
            f"torchvision's {type(transform).__name__} cannot be translated: {why} (untranslatable='python' runs it, "
            "and what follows it, as a Python function)"
        )


class Translation:
    """What became of a chain: `transforms` for Dataset.map, then `python`, those that stay torchvision's.

    `takes` says what the first of `python` gets: 'pil', 'tensor u8' or 'tensor f32'.
    """

    def __init__(self, transforms: list[Transform], python: list, takes: str | None) -> None:
        self.transforms, self.python, self.takes = transforms, python, takes

    def call_python(self, value: Any) -> Any:
        """Runs the Python part on pixels [height, width, channels]; gives an array, channels last for images."""
        import numpy as np
        import torch

        if self.takes == "pil":
            from PIL import Image

            value = Image.fromarray(value[:, :, 0] if value.shape[2] == 1 else value)
        else:
            value = torch.from_numpy(value).permute(2, 0, 1)
        for transform in self.python:
            value = transform(value)
        if isinstance(value, torch.Tensor):
            value = value.detach().numpy()
            return np.ascontiguousarray(np.moveaxis(value, 0, -1)) if value.ndim == 3 else value
        value = np.asarray(value)
        return value[:, :, None] if value.ndim == 2 else value

    def __repr__(self) -> str:
        steps = [repr(t) for t in self.transforms] + [f"Python: {type(t).__name__}" for t in self.python]
        return "\n".join(steps)


def from_torchvision(transform: Any, channels: int = 3) -> list[Transform]:
    """The engine's transforms for one of torchvision.transforms or its v2, or a Compose of them.

    channels: of the images, 1 or 3
    Raises Untranslatable for the first that has no equal.
    """
    return translate(transform, channels).transforms


def translate(transform: Any, channels: int = 3, untranslatable: Literal['error', 'python'] = 'error') -> Translation:
    """The Translation of a transform. untranslatable: 'error' or 'python'."""
    if untranslatable not in ("error", "python"):
        raise ArgumentError(f"untranslatable is {untranslatable!r} (allowed: 'error', 'python')")
    state = _Chain(channels)
    chain = list(_flatten(transform))
    for i, step in enumerate(chain):
        try:
            state.add(step)
        except Untranslatable:
            if untranslatable == "error":
                raise
            takes = {"pixels": "tensor u8" if state.tensor else "pil"}.get(state.stage, "tensor f32")
            return Translation(state.finished(), chain[i:], takes)
    return Translation(state.finished(), [], None)


def is_torchvision(transform):
    return type(transform).__module__.startswith("torchvision.transforms")


def _flatten(transform):
    if transform is None:
        return
    name = type(transform).__name__
    if isinstance(transform, (list, tuple)):
        steps = transform
    elif name == "Compose" and is_torchvision(transform):
        steps = transform.transforms
    elif name == "Sequential" and type(transform).__module__.startswith("torch.nn"):
        steps = list(transform)
    else:
        yield transform
        return
    for step in steps:
        yield from _flatten(step)


def _ours(name, **args):
    from .. import data

    return getattr(data, name)(**args)


def _filter(transform):
    mode = transform.interpolation
    name = getattr(mode, "value", mode)
    return "nearest" if name == "nearest-exact" else str(name)


def _fill(transform, fill=None):
    fill = transform.fill if fill is None else fill
    if fill is None:
        return 0
    values = [fill] if isinstance(fill, (int, float)) else fill
    if isinstance(values, dict) or any(v != int(v) for v in values):
        raise Untranslatable(transform, f"fill={fill!r} is no colour of whole numbers, 0 to 255")
    return [int(v) for v in values]


def _pair(value):
    return [_whole(v) for v in value] if isinstance(value, (list, tuple)) else _whole(value)


def _whole(value):
    """A number of pixels; others are left for the engine, which refuses them by name."""
    return int(value) if isinstance(value, int) or float(value).is_integer() else value


class _Chain:
    """The translation so far. Pixels are u8 until something makes them floats: the conversion waits for Normalize."""

    def __init__(self, channels):
        self.made = []
        self.channels = channels
        self.tensor = False
        self.stage = "pixels"  # float: v / 255, not converted yet; normalized: converted
        self.cast = None

    def finished(self):
        made = list(self.made)
        if self.stage == "float":
            made.append(_ours("Normalize", mean=[0.0] * self.channels, std=[1.0] * self.channels))
        if self.cast:
            made.append(_ours("TypeCast", dtype=self.cast))
        return made

    def add(self, step):
        if isinstance(step, _core.Transform):  # the engine's own among torchvision's
            self.made.append(step)
            return
        rule = getattr(self, "_" + type(step).__name__, None) if is_torchvision(step) else None
        if rule is None:
            raise Untranslatable(step, "the engine has no such operation")
        if self.cast and type(step).__name__ not in ("ToPureTensor", "Identity"):
            raise Untranslatable(step, f"it would work on {self.cast}")
        rule(step)

    def put(self, step, name, **args):
        """An operation on pixels u8."""
        if self.stage != "pixels":
            raise Untranslatable(step, "it comes after the conversion to floats, put it before ToTensor or ToDtype")
        self.made.append(_ours(name, **args))

    def move(self, step, name, **args):
        """An operation that moves pixels and computes none: on floats that are not converted yet it is the same."""
        black = args.get("fill", 0) in (0, [0], [0, 0, 0])
        if self.stage == "normalized" or (self.stage == "float" and not black):
            raise Untranslatable(step, "it comes after the conversion to floats, put it before ToTensor or ToDtype")
        self.made.append(_ours(name, **args))

    # ---- types

    def _ToTensor(self, step):
        self._to_float(step)
        self.tensor = True

    def _PILToTensor(self, step):
        self.tensor = True

    _ToImage = _PILToTensor

    def _ToPureTensor(self, step):
        pass

    _Identity = _ToPureTensor

    def _RGB(self, step):
        if self.channels != 3:
            raise Untranslatable(step, "the images have one channel")

    def _ToDtype(self, step):
        dtype = step.dtype
        if isinstance(dtype, dict):
            raise Untranslatable(step, "dtype is a dict, give one type")
        self._to_dtype(step, dtype, step.scale)

    def _ConvertImageDtype(self, step):
        self._to_dtype(step, step.dtype, True)

    def _to_dtype(self, step, dtype, scale):
        name = str(dtype).removeprefix("torch.")
        if name == "uint8" and self.stage == "pixels":
            return
        if name not in ("float32", "float16", "bfloat16"):
            raise Untranslatable(step, f"of the types of images, {name} is none of float32, float16, bfloat16, uint8")
        if self.stage == "pixels":
            if not scale:
                raise Untranslatable(step, "without scale=True values stay 0 to 255, which Normalize does not expect")
            self._to_float(step)
        self.cast = {"float16": "f16", "bfloat16": "bf16"}.get(name)

    def _to_float(self, step):
        if self.stage == "pixels":
            self.stage = "float"

    def _Normalize(self, step):
        if self.stage != "float":
            why = "Normalize comes twice" if self.stage == "normalized" else "it needs ToTensor or ToDtype before it"
            raise Untranslatable(step, why)
        mean, std = [float(v) for v in step.mean], [float(v) for v in step.std]
        if len(mean) == 1:
            mean, std = mean * self.channels, std * self.channels
        self.made.append(_ours("Normalize", mean=mean, std=std))
        self.stage = "normalized"

    # ---- geometry

    def _RandomResizedCrop(self, step):
        self._antialias(step)
        self.put(step, "RandomResizedCrop", size=_pair(step.size), scale=step.scale, ratio=step.ratio,
                 interpolation=_filter(step))

    def _Resize(self, step):
        self._antialias(step)
        if step.size is None or getattr(step, "max_size", None) is not None:
            raise Untranslatable(step, "max_size bounds the longer side, which the engine does not")
        self.put(step, "Resize", size=_pair(step.size), interpolation=_filter(step))

    def _antialias(self, step):
        if self.tensor and step.antialias is False:
            raise Untranslatable(step, "antialias=False on tensors skips pixels, the engine's filters read them all")

    def _CenterCrop(self, step):
        self.move(step, "CenterCrop", size=_pair(step.size))

    def _RandomCrop(self, step):
        size, padding, fill = _pair(step.size), step.padding, _fill(step)
        args = {"size": size, "pad_if_needed": bool(step.pad_if_needed), "fill": fill}
        if step.pad_if_needed and step.padding_mode != "constant":
            raise Untranslatable(step, f"pad_if_needed with padding_mode={step.padding_mode!r}")
        sides = set(padding) if isinstance(padding, (list, tuple)) else {padding or 0}
        if len(sides) == 1 and step.padding_mode == "constant":
            self.move(step, "RandomCrop", **args, padding=_whole(sides.pop()))
            return
        self.move(step, "Pad", padding=padding, padding_mode=step.padding_mode, fill=fill)
        self.move(step, "RandomCrop", **args)

    def _Pad(self, step):
        padding = step.padding if isinstance(step.padding, int) else list(step.padding)
        self.move(step, "Pad", padding=padding, padding_mode=step.padding_mode, fill=_fill(step))

    def _RandomHorizontalFlip(self, step):
        self.made.append(_ours("RandomHorizontalFlip", p=step.p))

    def _RandomVerticalFlip(self, step):
        self.made.append(_ours("RandomVerticalFlip", p=step.p))

    def _RandomRotation(self, step):
        self.put(step, "RandomRotation", degrees=step.degrees, interpolation=_filter(step), expand=bool(step.expand),
                 center=step.center, fill=_fill(step))

    def _RandomAffine(self, step):
        self.put(step, "RandomAffine", degrees=step.degrees, translate=step.translate, scale=step.scale,
                 shear=step.shear, interpolation=_filter(step), center=step.center, fill=_fill(step))

    def _RandomPerspective(self, step):
        self.put(step, "RandomPerspective", distortion_scale=step.distortion_scale, p=step.p,
                 interpolation=_filter(step), fill=_fill(step))

    # ---- colours

    def _ColorJitter(self, step):
        ranges = {name: getattr(step, name) for name in ("brightness", "contrast", "saturation", "hue")}
        self.put(step, "ColorJitter", **{name: value for name, value in ranges.items() if value is not None})

    def _Grayscale(self, step):
        self.put(step, "Grayscale", channels=step.num_output_channels)
        self.channels = step.num_output_channels

    def _RandomGrayscale(self, step):
        self.put(step, "RandomGrayscale", p=step.p)

    def _GaussianBlur(self, step):
        across, down = step.kernel_size
        self.put(step, "GaussianBlur", kernel_size=[down, across], sigma=step.sigma)

    def _RandomInvert(self, step):
        self.put(step, "RandomInvert", p=step.p)

    def _RandomPosterize(self, step):
        self.put(step, "RandomPosterize", bits=step.bits, p=step.p)

    def _RandomSolarize(self, step):
        self.put(step, "RandomSolarize", threshold=step.threshold, p=step.p)

    def _RandomAdjustSharpness(self, step):
        self.put(step, "RandomSharpness", factor=step.sharpness_factor, p=step.p)

    def _RandomAutocontrast(self, step):
        self.put(step, "RandomAutoContrast", p=step.p)

    def _RandomEqualize(self, step):
        self.put(step, "RandomEqualize", p=step.p)

    def _RandomErasing(self, step):
        value = step.value
        noise = value == "random" or value is None
        values = [0.0] if noise else [float(v) for v in (value if isinstance(value, (list, tuple)) else [value])]
        if self.stage == "float":  # on u8, before the conversion
            values = [v * 255 for v in values]
            if noise or any(v != int(v) for v in values):
                raise Untranslatable(step, "what it fills in has no value of 0 to 255; put it after Normalize")
        elif self.stage == "pixels" and noise:
            raise Untranslatable(step, "value='random' on bytes; put it after Normalize")
        self.made.append(_ours("RandomErasing", p=step.p, scale=step.scale, ratio=step.ratio, value=values,
                               noise=noise))

    # ---- policies

    def _AutoAugment(self, step):
        policy = getattr(step.policy, "value", step.policy)
        self.put(step, "AutoAugment", policy=policy, interpolation=_filter(step), fill=_fill(step))

    def _RandAugment(self, step):
        self.put(step, "RandAugment", num_ops=step.num_ops, magnitude=step.magnitude,
                 num_magnitude_bins=step.num_magnitude_bins, interpolation=_filter(step), fill=_fill(step))

    def _TrivialAugmentWide(self, step):
        self.put(step, "TrivialAugmentWide", num_magnitude_bins=step.num_magnitude_bins, interpolation=_filter(step),
                 fill=_fill(step))

    # ---- transforms made of others

    def _RandomApply(self, step):
        self.put(step, "RandomApply", operations=self._inner(step), p=step.p)

    def _RandomChoice(self, step):
        weights = getattr(step, "p", None)
        each = [self._one(step, inner) for inner in step.transforms]
        self.put(step, "RandomChoice", operations=each, weights=weights)

    def _RandomOrder(self, step):
        self.put(step, "RandomOrder", operations=[self._one(step, inner) for inner in step.transforms])

    def _inner(self, step, transforms=None):
        inner = _Chain(self.channels)
        inner.tensor = self.tensor
        for transform in _flatten(step.transforms if transforms is None else transforms):
            inner.add(transform)
        if inner.stage != "pixels" or inner.channels != self.channels:
            raise Untranslatable(step, "what it holds changes the type or the channels of the image")
        return inner.made

    def _one(self, step, transform):
        made = self._inner(step, [transform])
        return made[0] if len(made) == 1 else _ours("Compose", operations=made)
