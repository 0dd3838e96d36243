"""Enumerations of operations of images, with MindSpore's numbers."""

from enum import IntEnum


class Inter(IntEnum):
    """How images are resampled: OpenCV's rules, and Pillow's bicubic."""

    BILINEAR = LINEAR = 0
    NEAREST = 1
    BICUBIC = CUBIC = 2
    AREA = 3
    PILCUBIC = 4


class Border(IntEnum):
    """What is put around an image; CONSTANT is there."""

    CONSTANT = 0
    EDGE = 1
    REFLECT = 2
    SYMMETRIC = 3
