"""Sizes of Resize and offsets of CenterCrop as torchvision has them, for all heights and widths up to 600: prints one
hash a line, as tests/image/geometry_test.cpp holds them. Needs torchvision (made with 0.29.2)."""
import torch
from torchvision.transforms import functional as F
from torchvision.transforms.functional import _compute_resized_output_size

MASK = (1 << 64) - 1


def mix(hash_, value):
    return ((hash_ ^ (value & 0xFFFFFFFF)) * 0x100000001B3) & MASK


def resize(size):
    hash_ = 0xCBF29CE484222325
    for height in range(1, 601):
        for width in range(1, 601):
            out = _compute_resized_output_size((height, width), [size])
            hash_ = mix(mix(hash_, out[0]), out[1])
    return hash_


def center_crop(size):
    """Where the crop's pixels come from, -1 for padding: of every length up to 600, in both directions."""
    hash_ = 0xCBF29CE484222325
    for length in range(1, 601):
        line = torch.arange(length, dtype=torch.float32) + 1
        middle = (size - 1) // 2  # where padding adds a single row or column
        for cut in (F.center_crop(line.reshape(1, length, 1), [size, size])[0, :, middle],
                    F.center_crop(line.reshape(1, 1, length), [size, size])[0, middle, :]):
            for value in cut.tolist():
                hash_ = mix(hash_, int(value) - 1)
    return hash_


for size in (64, 224, 232, 256, 299):
    print(f"resize {size} {resize(size):#018x}")
for size in (32, 64, 224, 299):
    print(f"center_crop {size} {center_crop(size):#018x}")
