"""albumentations' transforms as transforms of the engine: those whose pixels are equal.

albumentations resizes by OpenCV and flips, turns, crops, pads, normalises and looks values up by arithmetic that the
engine has, too. Random parameters come from the same distributions, drawn by the engine. What differs by more than the
last bit of a float stays albumentations' own: colours, blurs, warps, noise.
"""

from __future__ import annotations

from ._steps import Untranslatable, fill_of, flatten, is_albumentations, one, ours

# By cv2's numbers: they are part of its interface, and albumentations holds nothing else. INTER_CUBIC is another level
# here and there from one version of OpenCV to the next.
_FILTERS = {0: "opencv_nearest", 1: "opencv_linear", 3: "opencv_area"}
_DRAWN = {"HorizontalFlip": "RandomHorizontalFlip", "VerticalFlip": "RandomVerticalFlip", "InvertImg": "RandomInvert"}
_BORDERS = {0: "constant", 1: "edge", 2: "symmetric", 4: "reflect"}


class AlbumentationsChain:
    """The translation so far, as of _chain.Chain. `size` is the pictures' [height, width] where it is known."""

    beside = None
    tensor = False

    def __init__(self, channels, size=None):
        self.channels, self.size = channels, size
        self.made = []
        self.stage = "pixels"  # float: v / 255, not converted yet; normalized: converted

    def finished(self):
        if self.stage == "float":
            return [*self.made, ours("Normalize", mean=[0.0] * self.channels, std=[1.0] * self.channels)]
        return list(self.made)

    def add(self, step, behind=()):
        rule = self.rule_of(step)
        if self.tensor:
            raise Untranslatable(step, "it comes after ToTensorV2")
        before = len(self.made), self.size, self.stage, self.tensor
        try:
            self.run(step, rule)
        except (Untranslatable, AttributeError) as error:
            del self.made[before[0]:]
            self.size, self.stage, self.tensor = before[1:]
            if isinstance(error, AttributeError):
                raise Untranslatable(step, f"this version of albumentations holds its arguments otherwise: {error}") from None
            raise

    def rule_of(self, step):
        rule = getattr(self, "_" + type(step).__name__, None)
        if rule is None or not is_albumentations(step):
            raise Untranslatable(step, "the engine has none with its pixels")
        return rule

    def run(self, step, rule):
        name = type(step).__name__
        if step.p < 1 and name in _DRAWN:
            self.pixels(step)
            self.put(_DRAWN[name], p=step.p)
            return
        before = len(self.made), self.size, self.stage, self.tensor
        rule(step)
        if step.p >= 1 or name == "OneOrOther":  # whose p is that of the first
            return
        if (self.size, self.stage, self.tensor) != before[1:]:
            raise Untranslatable(step, f"p={step.p}, and pictures without it have another size or type")
        self.made[before[0]:] = [ours("RandomApply", operations=[one(self.made[before[0]:])], p=step.p)]

    def put(self, name, **args):
        self.made.append(ours(name, **args))

    def pixels(self, step):
        if self.stage != "pixels":
            raise Untranslatable(step, "it comes after the conversion to floats")

    def known(self, step):
        if self.size is None:
            raise Untranslatable(step, "the pictures' size is not known here: put it behind Resize or RandomResizedCrop")
        return self.size

    # ---- made of others

    def branch(self, steps, certain=False):
        """Steps that run together, and the size that they leave. certain: whether their own p counts no more."""
        inner = AlbumentationsChain(self.channels, self.size)
        for step in steps:
            inner.rule_of(step)(step) if certain else inner.add(step)
            if inner.stage != "pixels" or inner.tensor:
                raise Untranslatable(step, "it changes the type of some pictures and not of others")
        return inner

    def choose(self, step, transforms, weights):
        branches = [self.branch([inner], certain=True) for inner in transforms]
        sizes = {inner.size for inner in branches}
        if len(sizes) > 1:
            raise Untranslatable(step, "what it chooses from leaves different sizes")
        self.size = sizes.pop()
        self.put("RandomChoice", operations=[one(inner.made) for inner in branches], weights=weights)

    def _Compose(self, step):
        self.pixels(step)
        inner = self.branch(flatten(list(step.transforms)))
        self.made += inner.made
        self.size = inner.size

    _Sequential = _Compose

    def _OneOf(self, step):
        self.pixels(step)
        self.choose(step, step.transforms, list(map(float, step.transforms_ps)))

    def _OneOrOther(self, step):
        self.pixels(step)
        self.choose(step, [step.transforms[0], step.transforms[-1]], [step.p, 1 - step.p])

    def _NoOp(self, step):
        pass

    # ---- types

    def _ToTensorV2(self, step):
        self.tensor = True

    def _ToFloat(self, step):
        self.pixels(step)
        if step.max_value not in (None, 255):
            raise Untranslatable(step, f"max_value={step.max_value} is not that of bytes, 255")
        self.stage = "float"

    def _Normalize(self, step):
        if step.normalization != "standard":
            raise Untranslatable(step, f"normalization={step.normalization!r} goes by each picture's own values")
        wanted = {"pixels": 255, "float": 1}.get(self.stage)
        if step.max_pixel_value != wanted:
            raise Untranslatable(step, f"max_pixel_value={step.max_pixel_value} is not that of its pictures")
        mean, std = ([float(v) for v in (value if isinstance(value, (list, tuple)) else [value] * self.channels)]
                     for value in (step.mean, step.std))
        self.put("Normalize", mean=mean, std=std)
        self.stage = "normalized"

    # ---- geometry

    def filter(self, step):
        if getattr(step, "area_for_downscale", None) is not None:
            raise Untranslatable(step, "area_for_downscale takes a filter by the picture's size")
        if step.interpolation not in _FILTERS:
            raise Untranslatable(step, "of OpenCV's filters those with equal pixels are INTER_NEAREST, INTER_LINEAR and "
                                       "INTER_AREA")
        return _FILTERS[step.interpolation]

    def _Resize(self, step):
        self.pixels(step)
        self.size = step.height, step.width
        self.put("Resize", size=list(self.size), interpolation=self.filter(step))

    def _RandomResizedCrop(self, step):
        self.pixels(step)
        self.size = tuple(step.size)
        self.put("RandomResizedCrop", size=list(step.size), scale=list(step.scale), ratio=list(step.ratio),
                 interpolation=self.filter(step), min_object_covered=0.0)

    def cropped(self, step):
        self.pixels(step)
        if step.pad_if_needed:
            raise Untranslatable(step, "pad_if_needed")

    def _RandomCrop(self, step):
        self.cropped(step)
        self.size = step.height, step.width
        self.put("RandomCrop", size=list(self.size))

    def inside(self, step, top, left, height, width):
        self.cropped(step)
        given = self.known(step)
        if top < 0 or left < 0 or top + height > given[0] or left + width > given[1]:
            raise Untranslatable(step, f"it reaches beyond the picture of {given[0]}x{given[1]}")
        self.put("Crop", top=top, left=left, size=[height, width])
        self.size = height, width

    def _CenterCrop(self, step):
        height, width = self.known(step)
        self.inside(step, (height - step.height) // 2, (width - step.width) // 2, step.height, step.width)

    def _Crop(self, step):
        self.inside(step, step.y_min, step.x_min, step.y_max - step.y_min, step.x_max - step.x_min)

    def _Pad(self, step):
        self.pixels(step)
        sides = step.padding
        if isinstance(sides, int):
            sides = [sides] * 4
        elif len(sides) == 2:
            sides = [sides[0], sides[1]] * 2
        self.padded(step, *sides)

    def _PadIfNeeded(self, step):
        self.pixels(step)
        if step.min_height is None or step.min_width is None or str(getattr(step.position, "value", step.position)) != "center":
            raise Untranslatable(step, "position, pad_height_divisor or pad_width_divisor")
        given = self.known(step)
        more = [max(0, wanted - side) for wanted, side in zip((step.min_height, step.min_width), given)]
        top, left = (side // 2 for side in more)
        self.padded(step, left, top, more[1] - left, more[0] - top)

    def padded(self, step, left, top, right, bottom):
        if step.border_mode not in _BORDERS:
            raise Untranslatable(step, "of OpenCV's borders the engine has all but BORDER_WRAP")
        self.put("Pad", padding=[left, top, right, bottom], padding_mode=_BORDERS[step.border_mode],
                 fill=fill_of(step, self.tensor))
        if self.size is not None:
            self.size = self.size[0] + top + bottom, self.size[1] + left + right

    def _HorizontalFlip(self, step):
        self.pixels(step)
        self.put("RandomHorizontalFlip", p=1.0)

    def _VerticalFlip(self, step):
        self.pixels(step)
        self.put("RandomVerticalFlip", p=1.0)

    def square(self, step):
        self.pixels(step)
        height, width = self.known(step)
        if height != width:
            raise Untranslatable(step, f"pictures of {height}x{width} would become those of {width}x{height}")

    def _Transpose(self, step):
        self.square(step)
        self.made += _turned("transposed")

    def _RandomRotate90(self, step):
        self.square(step)
        self.put("RandomChoice", operations=[one(_turned(way)) for way in ("as it is", "90", "180", "270")])

    def _D4(self, step):
        self.square(step)
        self.put("RandomChoice", operations=[one(_turned(way)) for way in _WAYS])

    _SquareSymmetry = _D4

    # ---- values

    def _InvertImg(self, step):
        self.pixels(step)
        self.put("Invert")

    def _Posterize(self, step):
        self.pixels(step)
        bits = step.num_bits
        if isinstance(bits, list):
            raise Untranslatable(step, "num_bits are for each channel apart")
        least, most = bits if isinstance(bits, tuple) else (bits, bits)
        each = [ours("Posterize", bits=n) for n in range(least, most + 1)]
        self.put("RandomChoice", operations=each)

    def _Solarize(self, step):
        self.pixels(step)
        least, most = step.threshold_range
        if least != most:
            raise Untranslatable(step, "its threshold is drawn")
        self.put("Solarize", threshold=least * 255.0)


_WAYS = {
    "as it is": [], "90": [("Rotate", {"angle": 90})], "180": [("Rotate", {"angle": 180})],
    "270": [("Rotate", {"angle": 270})], "mirrored": [("RandomHorizontalFlip", {"p": 1.0})],
    "upside down": [("RandomVerticalFlip", {"p": 1.0})],
    "transposed": [("Rotate", {"angle": 90}), ("RandomVerticalFlip", {"p": 1.0})],
    "transposed about the other diagonal": [("Rotate", {"angle": 90}), ("RandomHorizontalFlip", {"p": 1.0})],
}


def _turned(way):
    """One of the eight ways to lay a square, as transforms."""
    return [ours(name, **args) for name, args in _WAYS[way]]
