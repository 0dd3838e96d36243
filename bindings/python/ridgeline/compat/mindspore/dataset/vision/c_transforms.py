"""Operations of images, as MindData serialises them: the engine's own adapter reads them."""

from ..._names import lookup, only
from .utils import Border, Inter


class Operation:
    """A name and arguments, for Dataset.map."""

    def __init__(self, tensor_op_name, **params):
        self.tensor_op_name, self.params = tensor_op_name, params

    def __repr__(self):
        return f"{self.tensor_op_name}({', '.join(f'{k}={v!r}' for k, v in self.params.items())})"


def _size(size):
    return [size] if isinstance(size, int) else list(size)


def _both(size):
    return [size, size] if isinstance(size, int) else list(size)


def _reals(values):
    return [float(v) for v in values]


def Decode(rgb=True, to_pil=False):
    """Bytes of an image to pixels."""
    only("Decode", {"to_pil": ((False,), "pixels are arrays")}, {"to_pil": to_pil})
    return Operation("Decode", rgb=rgb)


def Resize(size, interpolation=Inter.LINEAR):
    """To that size; one number: of the shorter side."""
    return Operation("Resize", size=_size(size), interpolation=int(interpolation))


def CenterCrop(size):
    """The middle."""
    return Operation("CenterCrop", size=_both(size))


def RandomCrop(size, padding=None, pad_if_needed=False, fill_value=0, padding_mode=Border.CONSTANT):
    """A random part."""
    sides = [0] * 4 if padding is None else [padding] * 4 if isinstance(padding, int) else list(padding)
    if len(sides) == 2:
        sides = [sides[0], sides[1], sides[0], sides[1]]
    fill = [fill_value] * 3 if isinstance(fill_value, int) else list(fill_value)
    return Operation("RandomCrop", size=_both(size), padding=sides, pad_if_needed=pad_if_needed, fill_value=fill,
                     padding_mode=int(padding_mode))


def RandomResizedCrop(size, scale=(0.08, 1.0), ratio=(3 / 4, 4 / 3), interpolation=Inter.LINEAR, max_attempts=10):
    """A random part of random proportions, resized."""
    return Operation("RandomResizedCrop", size=_both(size), scale=_reals(scale), ratio=_reals(ratio),
                     interpolation=int(interpolation), max_attempts=max_attempts)


def RandomCropDecodeResize(size, scale=(0.08, 1.0), ratio=(3 / 4, 4 / 3), interpolation=Inter.LINEAR, max_attempts=10):
    """The same of bytes, of which no more is decoded than is needed."""
    return Operation("RandomCropDecodeResize", size=_both(size), scale=_reals(scale), ratio=_reals(ratio),
                     interpolation=int(interpolation), max_attempts=max_attempts)


def RandomHorizontalFlip(prob=0.5):
    """Left and right changed with that probability."""
    return Operation("RandomHorizontalFlip", prob=float(prob))


def Normalize(mean, std, is_hwc=True):
    """Less the mean, over the deviation, of pixels from 0 to 255; before HWC2CHW."""
    return Operation("Normalize", mean=_reals(mean), std=_reals(std), is_hwc=is_hwc)


def Rescale(rescale, shift):
    """Times a number, and another one added."""
    return Operation("Rescale", rescale=float(rescale), shift=float(shift))


def HWC2CHW():
    """[H,W,C] to [C,H,W]."""
    return Operation("HwcToChw")


_HERE = "map() takes transforms of ridgeline.data, too"
REFUSED = {name: f"ridgeline.data.{instead}: {_HERE}" if instead else _HERE for name, instead in {
    "RandomColorAdjust": "RandomColorAdjust", "RandomVerticalFlip": "RandomVerticalFlip", "RandomRotation": "RandomRotation",
    "Pad": "Pad", "CutOut": "CutOut", "ToTensor": "", "ToPIL": "", "RandomErasing": "RandomErasing", "ToType": "",
    "RandomSharpness": "RandomSharpness", "RandomAffine": "RandomAffine", "RandomPosterize": "RandomPosterize",
    "RandomSolarize": "RandomSolarize", "AutoContrast": "AutoContrast", "Equalize": "Equalize", "Invert": "Invert",
    "GaussianBlur": "GaussianBlur", "Grayscale": "Grayscale", "AutoAugment": "AutoAugment", "RandAugment": "RandAugment",
    "MixUpBatch": "MixUp", "CutMixBatch": "CutMix", "HorizontalFlip": "", "VerticalFlip": "", "Crop": "Crop"}.items()}


def __getattr__(name):
    return lookup(__name__, name, {}, REFUSED)
