"""What a sample may have for a picture: encoded bytes, files, PIL images, pixels."""

from __future__ import annotations

import os

from .. import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import *  # noqa: F403


def lazy_image_value(value):
    """As image_value, for files that are given by their path, which are left to be read."""
    if isinstance(value, dict):  # Hugging Face's images that are not decoded
        value = value["bytes"] if value.get("bytes") is not None else value["path"]
    value = getattr(value, "ridgeline_file", value)
    return value if isinstance(value, (str, os.PathLike)) else image_value(value)


def image_value(value):
    """Encoded bytes, or pixels u8 [height, width, channels]."""
    if isinstance(value, dict) or hasattr(value, "ridgeline_file"):
        value = lazy_image_value(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, (str, os.PathLike)):
        try:
            return _core.file_content(value)
        except _core.RunError as error:
            raise OSError(str(error)) from None
    import numpy as np

    if type(value).__module__.startswith("PIL."):
        value = _eight_bits(value)
    pixels = np.asarray(value)
    if is_tv_image(value):  # channels first
        pixels = np.ascontiguousarray(np.moveaxis(pixels, -3, -1))
    if pixels.dtype != np.uint8 or pixels.ndim not in (2, 3):
        raise TypeError(
            f"an image must be bytes, a path, a PIL image or pixels uint8 [height, width, channels], not "
            f"{type(value).__name__} {pixels.dtype} {list(pixels.shape)}"
        )
    if is_channels_first(pixels.shape):
        raise TypeError(f"pixels are [height, width, channels], and these {type(value).__name__} uint8 "
                        f"{list(pixels.shape)}: move the channels behind, or make it an Image of tv_tensors")
    return pixels[:, :, None] if pixels.ndim == 2 else pixels


def is_channels_first(shape):
    """Whether a shape can be none but [channels, height, width]."""
    return len(shape) == 3 and shape[0] in (1, 3, 4) and shape[2] > 4


# Modes of PIL images that become RGB without a loss of what a network is to see: transparency is left out, as the
# engine does with PNGs. 16-bit and float modes would be clipped.
_TO_RGB = ("1", "P", "PA", "RGBA", "RGBX", "LA", "CMYK", "YCbCr", "HSV", "LAB")


def _eight_bits(image):
    if image.mode in ("L", "RGB"):
        return image
    if image.mode not in _TO_RGB:
        raise TypeError(f"an image of PIL's mode {image.mode} has no 8 bits a channel: convert it as its values mean "
                        "(allowed: L, RGB, " + ", ".join(_TO_RGB) + ")")
    return image.convert("RGB")


def is_tv_image(value):
    return type(value).__name__ == "Image" and type(value).__module__.startswith("torchvision.tv_tensors")


def tv_image(pixels):
    import torch
    from torchvision import tv_tensors

    return tv_tensors.Image(torch.as_tensor(pixels))
