#!/usr/bin/env python3
"""What Pillow (and numpy's pad) make of an image, for tests/image: pixel_oracle.py CASES RESULTS

Each case: a line "op height width channels numbers...", then the pixels.
Each result: 3 int32 (height, width, channels), then the pixels.
The operations are torchvision's functions for PIL images, written out in Pillow's calls.
"""
import struct
import sys

import numpy as np
from PIL import Image, ImageEnhance, ImageOps

SAMPLING = [Image.Resampling.NEAREST, Image.Resampling.BILINEAR, Image.Resampling.BICUBIC]
PAD_MODES = ["constant", "edge", "reflect", "symmetric"]


def grey3(image):
    grey = image.convert("L")
    return Image.merge("RGB", (grey, grey, grey))


def hue(image, factor):
    if image.mode == "L":
        return image
    h, s, v = image.convert("HSV").split()
    turned = np.array(h, dtype=np.uint8)
    turned += np.int32(factor * 255).astype(np.uint8)
    return Image.merge("HSV", (Image.fromarray(turned, "L"), s, v)).convert("RGB")


def solarize_add(image, addition, threshold):
    table = [min(255, v + int(addition)) if v < threshold else v for v in range(256)]
    return image.point(table * len(image.getbands()))


def fill_of(image, numbers):
    fill = tuple(int(x) for x in numbers[: len(image.getbands())])
    return fill if image.mode == "RGB" else fill[0]


def affine(image, a, b, c, d, e, f, sampling, out_height, out_width, *fill):
    return image.transform((int(out_width), int(out_height)), Image.Transform.AFFINE, (a, b, c, d, e, f),
                           SAMPLING[int(sampling)], fillcolor=fill_of(image, fill))


def perspective(image, a, b, c, d, e, f, g, h, sampling, *fill):
    return image.transform(image.size, Image.Transform.PERSPECTIVE, (a, b, c, d, e, f, g, h),
                           SAMPLING[int(sampling)], fillcolor=fill_of(image, fill))


def rotate(image, angle, expand, sampling, *fill):
    return image.rotate(angle, SAMPLING[int(sampling)], bool(expand), fillcolor=fill_of(image, fill))


def rotate_about(image, angle, expand, sampling, x, y, *fill):
    return image.rotate(angle, SAMPLING[int(sampling)], bool(expand), (x, y), fillcolor=fill_of(image, fill))


def pad(image, mode, top, left, bottom, right, *fill):
    top, left, bottom, right = int(top), int(left), int(bottom), int(right)
    if PAD_MODES[int(mode)] == "constant":
        return ImageOps.expand(image, (left, top, right, bottom), fill_of(image, fill))
    array = np.asarray(image)
    rest = ((0, 0),) * (array.ndim - 2)
    return Image.fromarray(np.pad(array, ((top, bottom), (left, right)) + rest, PAD_MODES[int(mode)]))


OPS = {
    "adjust_brightness": lambda image, f: ImageEnhance.Brightness(image).enhance(f),
    "adjust_contrast": lambda image, f: ImageEnhance.Contrast(image).enhance(f),
    "adjust_saturation": lambda image, f: ImageEnhance.Color(image).enhance(f),
    "adjust_sharpness": lambda image, f: ImageEnhance.Sharpness(image).enhance(f),
    "adjust_hue": hue,
    "grayscale1": lambda image: image.convert("L"),
    "grayscale3": grey3,
    "invert": ImageOps.invert,
    "posterize": lambda image, bits: ImageOps.posterize(image, int(bits)),
    "solarize": ImageOps.solarize,
    "solarize_add": solarize_add,
    "autocontrast": ImageOps.autocontrast,
    "equalize": ImageOps.equalize,
    "flip_vertical": lambda image: image.transpose(Image.Transpose.FLIP_TOP_BOTTOM),
    "affine": affine,
    "perspective": perspective,
    "rotate": rotate,
    "rotate_about": rotate_about,
    "pad": pad,
}


def main():
    with open(sys.argv[1], "rb") as cases, open(sys.argv[2], "wb") as results:
        while line := cases.readline():
            op, height, width, channels, *numbers = line.decode().split()
            height, width, channels = int(height), int(width), int(channels)
            pixels = cases.read(height * width * channels)
            image = Image.frombytes({1: "L", 3: "RGB"}[channels], (width, height), pixels)
            out = OPS[op](image, *(float(x) for x in numbers))
            results.write(struct.pack("<3i", out.height, out.width, len(out.getbands())) + out.tobytes())


main()
