#!/usr/bin/env python3
"""What Pillow answers, for tests/image.

  pillow_oracle.py resize CASES RESULTS   each case: 7 int32 (filter, height, width, channels, out height,
                                          out width, has box), 4 float32 (left, top, right, bottom), pixels;
                                          results: pixels
  pillow_oracle.py decode LIST RESULTS    each line of LIST a path; each result: 3 int32 (good, height, width),
                                          RGB pixels, of 16-bit grey the upper 8 bits
  pillow_oracle.py upright LIST RESULTS   the same, turned by ImageOps.exif_transpose
  pillow_oracle.py golden                 prints tests/data/image/resample_golden.txt

Pillow must be older than 13: its faster resize rounds some pixels differently.
"""
import struct
import sys
import warnings

from PIL import Image, ImageOps

FILTERS = [Image.Resampling.NEAREST, Image.Resampling.BOX, Image.Resampling.BILINEAR, Image.Resampling.BICUBIC,
           Image.Resampling.LANCZOS]
NAMES = ["nearest", "box", "bilinear", "bicubic", "lanczos"]


def resized(pixels, height, width, channels, out_height, out_width, filter_index, box):
    image = Image.frombytes({1: "L", 3: "RGB"}[channels], (width, height), pixels)
    return image.resize((out_width, out_height), FILTERS[filter_index], box=box).tobytes()


def resize(cases, results):
    while header := cases.read(44):
        *ints, left, top, right, bottom = struct.unpack("<7i4f", header)
        index, height, width, channels, out_height, out_width, has_box = ints
        pixels = cases.read(height * width * channels)
        box = (left, top, right, bottom) if has_box else None
        results.write(resized(pixels, height, width, channels, out_height, out_width, index, box))


def rgb(image):
    image.load()
    if image.mode in ("I", "I;16"):  # convert() would make everything above 255 white
        image = Image.frombytes("L", image.size, image.tobytes()[1::4 if image.mode == "I" else 2])
    return image.convert("RGB")


def decode(paths, results, turn=lambda image: image):
    warnings.simplefilter("ignore")
    for path in paths.read().decode().splitlines():
        try:
            image = rgb(turn(Image.open(path)))
        except Exception:
            results.write(struct.pack("<3i", 0, 0, 0))
            continue
        results.write(struct.pack("<3i", 1, image.height, image.width) + image.tobytes())


def upright(paths, results):
    decode(paths, results, ImageOps.exif_transpose)


def golden():
    sizes = [((7, 5), (3, 4), None), ((4, 6), (9, 5), None), ((12, 16), (2, 3), None), ((5, 5), (5, 3), None),
             ((11, 9), (4, 6), (0.5, 1.25, 8.0, 10.5)), ((1, 1), (2, 3), None), ((6, 40), (3, 7), None)]
    for index, name in enumerate(NAMES):
        for (height, width), (out_height, out_width), box in sizes:
            pixels = bytes((i * 73 + i * i * 19 + (i >> 3) * 101) & 255 for i in range(height * width * 3))
            out = resized(pixels, height, width, 3, out_height, out_width, index, box)
            print(name, height, width, out_height, out_width, *(box or (0, 0, 0, 0)), out.hex())


def main():
    mode = sys.argv[1]
    if mode == "golden":
        return golden()
    with open(sys.argv[2], "rb") as source, open(sys.argv[3], "wb") as target:
        {"resize": resize, "decode": decode, "upright": upright}[mode](source, target)


main()
