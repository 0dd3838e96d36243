"""torchvision's transforms as transforms of the engine, one by one.

Pixels are those that torchvision gives for PIL images, with the same parameters; random parameters are drawn by the
engine (keyed by seed, epoch and record), from the same ranges and distributions. Where torchvision would work on
tensors (v2.ToImage first), the engine still gives the pixels of PIL images.
"""

from __future__ import annotations

import math

from .. import _core
from ._follow import Fill
from ._steps import (Untranslatable, fill_of, filter_of, flatten, is_timm, is_torchvision, name_of_filter, one, ours, pair,
                     steered_by_boxes, whole)

# Of v2, what does something to the rest of a sample, apart from moving it with the picture.
_BESIDE = {"ToImage", "ToPureTensor", "ConvertImageDtype", "ConvertBoundingBoxFormat", "ClampBoundingBoxes",
           "ClampKeyPoints", "SanitizeBoundingBoxes", "SanitizeKeyPoints", "SetClampingMode"}
_AFTER_CAST = _BESIDE - {"ToImage", "ConvertImageDtype"} | {"Identity"}


class Chain:
    """The translation so far. Pixels are u8 until something makes them floats: the conversion waits for Normalize."""

    def __init__(self, channels, moved: frozenset[str] | set[str] = frozenset(), beside: list | None = None,
                 steered=False):
        self.made: list = []
        self.moved = moved  # types that follow the picture
        self.steered = self.steered_outside = steered  # whether a crop that goes by boxes may come behind
        self.beside = ([] if beside is None else beside) if moved else None
        self.masks_get = None if beside is not None else 0  # the fill of masks; None: it is not known
        self.channels = channels
        self.tensor = False
        self.stage = "pixels"  # float: v / 255, not converted yet; normalized: converted
        self.cast = None

    def finished(self):
        made = list(self.made)
        if self.stage == "float":
            made.append(ours("Normalize", mean=[0.0] * self.channels, std=[1.0] * self.channels))
        if self.cast:
            made.append(ours("TypeCast", dtype=self.cast))
        return made

    def add(self, step, behind=()):
        """behind: the steps that may come after it"""
        self.steered = self.steered_outside or self._steers(behind)
        if isinstance(step, _core.Transform):  # the engine's own among torchvision's
            self.made.append(step)
            return
        rule = getattr(self, "_" + type(step).__name__, None) if is_torchvision(step) else \
            getattr(self, "_timm_" + type(step).__name__, None) if is_timm(step) else None
        if rule is None:
            raise Untranslatable(step, "the engine has no such operation")
        name = type(step).__name__
        if self.cast and name not in _AFTER_CAST:
            raise Untranslatable(step, f"it would work on {self.cast}")
        rule(step)
        if name in _BESIDE or name == "ToDtype" and isinstance(step.dtype, dict):
            if type(step).__module__.startswith("torchvision.transforms.v2"):
                self.note(step)

    def _steers(self, steps):
        return "BoundingBoxes" in self.moved and steered_by_boxes(list(steps))

    def note(self, what):
        """What is done here to the rest of a sample."""
        if self.beside is not None:
            self.made.append(ours("NoteGeometry", text=str(len(self.beside))))
            self.beside.append(what)

    def fills(self, step):
        """Tells what masks are filled with by this step."""
        if "Mask" not in self.moved:
            return
        fill = getattr(step, "_fill", {"others": step.fill})
        fill = next((value for key, value in fill.items() if getattr(key, "__name__", "") == "Mask"),
                    fill.get("others", 0))
        if isinstance(fill, (list, tuple)):
            raise Untranslatable(step, f"fill={fill!r} has several numbers, masks take one: give a dict of types")
        fill = fill or 0
        if fill != self.masks_get:
            self.note(Fill(fill))
            self.masks_get = fill

    def put(self, step, name, **args):
        """An operation on pixels u8."""
        if self.stage != "pixels":
            raise Untranslatable(step, "it comes after the conversion to floats, put it before ToTensor or ToDtype")
        self.made.append(ours(name, **args))

    def place(self, step, name, **args):
        """An operation on pixels u8 that moves them."""
        self.put(step, name, **args)
        self.clip()

    def clip(self):
        """Boxes end at the picture's borders, as torchvision has them: for the crop that goes by them."""
        if self.steered:
            self.made.append(ours("ClipBoxes"))

    def move(self, step, name, **args):
        """An operation that moves pixels and computes none: on floats that are not converted yet it is the same."""
        black = args.get("fill", 0) in (0, [0], [0, 0, 0])
        if self.stage == "normalized" or (self.stage == "float" and not black):
            raise Untranslatable(step, "it comes after the conversion to floats, put it before ToTensor or ToDtype")
        self.made.append(ours(name, **args))
        self.clip()

    # ---- types

    def _ToTensor(self, step):
        self._to_float(step)
        self.tensor = True

    def _PILToTensor(self, step):
        self.tensor = True

    _ToImage = _PILToTensor

    def _ImageClassification(self, step):
        """What torchvision's weights bring: Resize, CenterCrop, ToTensor and Normalize in one."""
        from torchvision import transforms as v1

        for inner in (v1.Resize(step.resize_size, step.interpolation, antialias=step.antialias),
                      v1.CenterCrop(step.crop_size), v1.ToTensor(), v1.Normalize(step.mean, step.std)):
            self.add(inner)

    def _ToPureTensor(self, step):
        pass

    _Identity = _ToPureTensor

    def _RGB(self, step):
        if self.channels != 3:
            raise Untranslatable(step, "the images have one channel")

    def _ToDtype(self, step):
        dtype = step.dtype
        if isinstance(dtype, dict):
            named = {getattr(key, "__name__", key): value for key, value in dtype.items()}
            dtype = named.get("Image", named.get("Tensor", named.get("others")))
            if dtype is None:
                return
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
        self.made.append(ours("Normalize", mean=mean, std=std))
        self.stage = "normalized"

    # ---- what torchvision does to boxes alone

    def _beside_only(self, step):
        if self.beside is None:
            raise Untranslatable(step, "samples have no boxes of tv_tensors beside their picture")

    _ConvertBoundingBoxFormat = _ClampKeyPoints = _SanitizeKeyPoints = _beside_only

    def _ClampBoundingBoxes(self, step):
        self._SetClampingMode(step)
        self.clip()

    def _SetClampingMode(self, step):
        self._beside_only(step)
        if self.steered and step.clamping_mode is None:
            raise Untranslatable(step, "boxes beyond the picture's borders would guide the RandomIoUCrop behind it")

    def _SanitizeBoundingBoxes(self, step):
        self._beside_only(step)
        if self.steered:
            raise Untranslatable(step, "boxes that it drops would guide the RandomIoUCrop: put it behind that")

    # ---- geometry

    def _RandomResizedCrop(self, step):
        self._antialias(step)
        steered = {"min_object_covered": 0.0} if self.moved else {}  # by the picture alone, as torchvision's
        self.place(step, "RandomResizedCrop", size=pair(step.size), scale=step.scale, ratio=step.ratio,
                 interpolation=filter_of(step), **steered)

    def _Resize(self, step):
        self._antialias(step)
        if step.size is None or getattr(step, "max_size", None) is not None:
            raise Untranslatable(step, "max_size bounds the longer side, which the engine does not")
        self.place(step, "Resize", size=pair(step.size), interpolation=filter_of(step))

    def _RandomShortestSize(self, step):
        self._antialias(step)
        self.place(step, "RandomShortestSize", min_size=step.min_size, max_size=step.max_size or 0,
                 interpolation=filter_of(step))

    def _RandomResize(self, step):
        self._antialias(step)
        self.place(step, "RandomResize", min_size=step.min_size, max_size=step.max_size, interpolation=filter_of(step))

    def _ScaleJitter(self, step):
        self._antialias(step)
        self.place(step, "ScaleJitter", target_size=list(step.target_size), scale_range=step.scale_range,
                 interpolation=filter_of(step))

    def _RandomZoomOut(self, step):
        self.fills(step)
        self.place(step, "RandomZoomOut", side_range=step.side_range, p=step.p, fill=fill_of(step, self.tensor))

    def _RandomIoUCrop(self, step):
        if "BoundingBoxes" not in self.moved:
            raise Untranslatable(step, "samples have no BoundingBoxes of tv_tensors beside their picture")
        self.put(step, "RandomIoUCrop", min_scale=step.min_scale, max_scale=step.max_scale,
                 min_aspect_ratio=step.min_aspect_ratio, max_aspect_ratio=step.max_aspect_ratio, options=step.options,
                 trials=step.trials)

    def _antialias(self, step):
        if self.tensor and step.antialias is False:
            raise Untranslatable(step, "antialias=False on tensors skips pixels, the engine's filters read them all")

    def _CenterCrop(self, step):
        self.move(step, "CenterCrop", size=pair(step.size))

    def _RandomCrop(self, step):
        self.fills(step)
        size, padding, fill = pair(step.size), step.padding, fill_of(step, self.tensor)
        if isinstance(padding, (list, tuple)) and type(step).__module__.startswith("torchvision.transforms.v2"):
            left, right, top, bottom = padding  # as v2 keeps them
            padding = [left, top, right, bottom]
        args = {"size": size, "pad_if_needed": bool(step.pad_if_needed), "fill": fill}
        if step.pad_if_needed and step.padding_mode != "constant":
            raise Untranslatable(step, f"pad_if_needed with padding_mode={step.padding_mode!r}")
        sides = set(padding) if isinstance(padding, (list, tuple)) else {padding or 0}
        if len(sides) == 1 and step.padding_mode == "constant":
            self.move(step, "RandomCrop", **args, padding=whole(sides.pop()))
            return
        self.move(step, "Pad", padding=padding, padding_mode=step.padding_mode, fill=fill)
        self.move(step, "RandomCrop", **args)

    def _Pad(self, step):
        self.fills(step)
        padding = step.padding if isinstance(step.padding, int) else list(step.padding)
        self.move(step, "Pad", padding=padding, padding_mode=step.padding_mode, fill=fill_of(step, self.tensor))

    def _RandomHorizontalFlip(self, step):
        self.made.append(ours("RandomHorizontalFlip", p=step.p))

    def _RandomVerticalFlip(self, step):
        self.made.append(ours("RandomVerticalFlip", p=step.p))

    def _RandomRotation(self, step):
        self.fills(step)
        self.place(step, "RandomRotation", degrees=step.degrees, interpolation=filter_of(step), expand=bool(step.expand),
                 center=step.center, fill=fill_of(step, self.tensor))

    def _RandomAffine(self, step):
        self.fills(step)
        self.place(step, "RandomAffine", degrees=step.degrees, translate=step.translate, scale=step.scale,
                 shear=step.shear, interpolation=filter_of(step), center=step.center, fill=fill_of(step, self.tensor))

    def _RandomPerspective(self, step):
        self.fills(step)
        self.place(step, "RandomPerspective", distortion_scale=step.distortion_scale, p=step.p,
                 interpolation=filter_of(step), fill=fill_of(step, self.tensor))

    # ---- timm's

    def _timm_RandomResizedCropAndInterpolation(self, step):
        ways = step.interpolation if isinstance(step.interpolation, (tuple, list)) else [step.interpolation]
        steered = {"min_object_covered": 0.0} if self.moved else {}
        crops = [ours("RandomResizedCrop", size=list(step.size), scale=step.scale, ratio=step.ratio,
                      interpolation=name_of_filter(way), **steered) for way in ways]
        if len(crops) == 1:
            self.place(step, "RandomResizedCrop", **crops[0].args)
        else:
            self.place(step, "RandomChoice", operations=crops)

    def _timm_ToNumpy(self, step):
        self.tensor = True

    _timm_MaybePILToTensor = _timm_ToNumpy

    def _timm_MaybeToTensor(self, step):
        self._ToTensor(step)

    def _timm_RandomErasing(self, step):
        if (step.min_count, step.max_count, step.num_splits) != (1, 1, 0):
            raise Untranslatable(step, "several parts, or a part of the batch left alone")
        if step.rand_color:
            raise Untranslatable(step, "mode='rand' fills with one random colour")
        if self.stage != "normalized":
            raise Untranslatable(step, "it comes before Normalize")
        ratio = [math.exp(v) for v in step.log_aspect_ratio]
        self.made.append(ours("RandomErasing", p=step.probability, scale=[step.min_area, step.max_area], ratio=ratio,
                              value=[0.0], noise=step.per_pixel))

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
        values = [0.0]
        if value is not None and not noise:
            values = [float(v) for v in (value if isinstance(value, (list, tuple)) else [value])]
        if self.stage == "float":  # on u8, before the conversion
            values = [v * 255 for v in values]
            if noise or any(v != int(v) for v in values):
                raise Untranslatable(step, "what it fills in has no value of 0 to 255; put it after Normalize")
        elif self.stage == "pixels" and noise:
            raise Untranslatable(step, "value='random' on bytes; put it after Normalize")
        self.made.append(ours("RandomErasing", p=step.p, scale=step.scale, ratio=step.ratio, value=values,
                              noise=noise))

    # ---- policies

    def _AutoAugment(self, step):
        self._no_rest(step)
        policy = getattr(step.policy, "value", step.policy)
        self.put(step, "AutoAugment", policy=policy, interpolation=filter_of(step), fill=fill_of(step, self.tensor))

    def _RandAugment(self, step):
        self._no_rest(step)
        self.put(step, "RandAugment", num_ops=step.num_ops, magnitude=step.magnitude,
                 num_magnitude_bins=step.num_magnitude_bins, interpolation=filter_of(step), fill=fill_of(step, self.tensor))

    def _TrivialAugmentWide(self, step):
        self._no_rest(step)
        self.put(step, "TrivialAugmentWide", num_magnitude_bins=step.num_magnitude_bins, interpolation=filter_of(step),
                 fill=fill_of(step, self.tensor))

    def _no_rest(self, step):
        if self.moved:
            raise Untranslatable(step, f"it moves pixels but no {' or '.join(sorted(self.moved))}, in torchvision neither")

    # ---- transforms made of others

    def _RandomApply(self, step):
        self.put(step, "RandomApply", operations=[one(self._inner(step))], p=step.p)

    def _RandomChoice(self, step):
        weights = getattr(step, "p", None)
        each = [self._one(step, inner) for inner in step.transforms]
        self.put(step, "RandomChoice", operations=each, weights=weights)

    def _RandomOrder(self, step):
        each = [self._one(step, inner, step.transforms) for inner in step.transforms]
        self.put(step, "RandomOrder", operations=each)

    def _inner(self, step, transforms=None, beside_it=()):
        """beside_it: the steps that may come behind, where their order is drawn"""
        inner = Chain(self.channels, self.moved, self.beside, self.steered or self._steers(beside_it))
        inner.tensor = self.tensor
        self.masks_get = None
        chain = list(flatten(step.transforms if transforms is None else transforms))
        for i, transform in enumerate(chain):
            inner.add(transform, chain[i + 1:])
        if inner.stage != "pixels" or inner.channels != self.channels:
            raise Untranslatable(step, "what it holds changes the type or the channels of the image")
        return inner.made

    def _one(self, step, transform, beside_it=()):
        return one(self._inner(step, [transform], beside_it))
