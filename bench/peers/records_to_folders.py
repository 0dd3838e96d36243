"""The images of TFRecords (slim ImageNet keys, or image and label) as class folders, for systems that read those.

    python bench/peers/records_to_folders.py OUT FILE...
"""
import os
import struct
import sys


def varint(data, at):
    """The number at a place, and the place behind it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """The fields of a protocol buffer message: number, value (bytes or int)."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
            yield key >> 3, value
        elif key & 7 == 2:
            size, at = varint(data, at)
            yield key >> 3, data[at : at + size]
            at += size
        else:
            at += 8 if key & 7 == 1 else 4


def example(data):
    features = {}
    for _, entry in fields(dict(fields(data))[1]):
        pair = dict(fields(entry))
        features[pair[1].decode()] = pair[2]
    image = dict(fields(dict(fields(features.get("image/encoded") or features["image"]))[1]))[1]
    label = dict(fields(dict(fields(features.get("image/class/label") or features["label"]))[3]))[1]
    return image, label if isinstance(label, int) else varint(label, 0)[0]


out, count = sys.argv[1], 0
for path in sys.argv[2:]:
    with open(path, "rb") as file:
        while header := file.read(12):
            record = file.read(struct.unpack("<Q", header[:8])[0])
            file.read(4)
            image, label = example(record)
            folder = os.path.join(out, f"{label:04d}")
            os.makedirs(folder, exist_ok=True)
            with open(os.path.join(folder, f"{count:06d}.jpg"), "wb") as target:
                target.write(image)
            count += 1
print(f"{count} images in {out}")
