"""What DataLoader may be given, as a dataset of the engine: folders, Parquet files, torchvision's and map-style sets."""

import os

from .._core import ArgumentError
from ._callables import FileList, FromGenerator
from ._graph import Dataset
from ._parquet import is_parquet, open_parquet


class Input:
    """A data set before transforms: `dataset` of single samples, and how PyTorch would show its samples."""

    def __init__(self, dataset, columns=("image", "label"), form="tuple", keys=None, transform=None, channels=3,
                 classes=None):
        self.dataset = dataset
        self.columns = columns  # of image and label
        self.form = form  # of a delivered batch: tuple or dict
        self.keys = keys or {}  # column: key in the dict, where it is another
        self.transform = transform  # that the data set itself brought
        self.channels = channels
        self.classes = classes


class _Files:
    """Encoded files with labels: what is left of torchvision's folders after Subset and ConcatDataset."""

    def __init__(self, paths, labels, transform, classes, folder=None):
        self.paths, self.labels, self.transform, self.classes = paths, labels, transform, classes
        self.folder = folder  # the one torchvision folder that this is all of

    def select(self, indices):
        return _Files([self.paths[i] for i in indices], [self.labels[i] for i in indices], self.transform, self.classes)

    def join(self, other):
        return _Files(self.paths + other.paths, self.labels + other.labels, self.transform, self.classes)

    def input(self):
        dataset = _same_folder(self) or FileList(self.paths, self.labels)
        return Input(dataset, transform=self.transform, classes=self.classes)


class _Arrays:
    """Decoded pixels in memory: CIFAR, MNIST and the like."""

    def __init__(self, pixels, labels, transform, classes):
        self.pixels, self.labels, self.transform, self.classes = pixels, labels, transform, classes

    def select(self, indices):
        return _Arrays(self.pixels[indices], self.labels[indices], self.transform, self.classes)

    def join(self, other):
        import numpy as np

        return _Arrays(np.concatenate([self.pixels, other.pixels]), np.concatenate([self.labels, other.labels]),
                       self.transform, self.classes)

    def input(self):
        from .. import data

        dataset = data.InMemory({"image": self.pixels, "label": self.labels})
        return Input(dataset, transform=self.transform, channels=self.pixels.shape[3], classes=self.classes)


def input_of(dataset, image=None, label=None):
    """The Input of what DataLoader was given.

    image, label: columns or keys of samples that are dicts
    """
    from .. import data

    if is_parquet(dataset):
        made, classes = open_parquet(dataset, image, label)
        return Input(made, classes=classes)
    if isinstance(dataset, (str, bytes, os.PathLike)):
        folder = data.ImageFolder(dataset)
        return Input(folder, classes=folder.class_names())
    if isinstance(dataset, Dataset):
        return _engine_input(dataset, image, label)
    if (held := _torchvision_data(dataset)) is not None:
        return held.input()
    if _is_hugging_face(dataset):
        return _hugging_face_input(dataset, image, label)
    if hasattr(dataset, "__getitem__") and hasattr(dataset, "__len__"):
        return _map_style_input(dataset, image, label)
    raise ArgumentError(
        f"DataLoader takes a folder, Parquet files, a dataset of ridgeline.data, or a map-style data set with __getitem__ and __len__, "
        f"not {type(dataset).__name__}"
    )


def _engine_input(dataset, image, label):
    names = [name for name, _, _ in dataset.columns() if name != "mask"]
    for given in (image, label):
        if given is not None and given not in names:
            raise ArgumentError(f"there is no column {given!r} among {', '.join(names)}")
    pair = (image or "image", label or "label")
    return Input(dataset, columns=pair, form="tuple" if set(names) == set(pair) else "dict")


# ---- torchvision


def _of_package(dataset, package):
    return any(c.__module__.split(".")[0] == package for c in type(dataset).__mro__)


def _torchvision_data(dataset):
    kind = type(dataset).__name__
    if kind == "Subset" and _of_package(dataset, "torch"):
        held = _torchvision_data(dataset.dataset)
        return None if held is None else held.select([int(i) for i in dataset.indices])
    if kind == "ConcatDataset" and _of_package(dataset, "torch"):
        parts = [_torchvision_data(part) for part in dataset.datasets]
        if any(p is None or type(p) is not type(parts[0]) or p.transform is not parts[0].transform for p in parts):
            return None
        joined = parts[0]
        for part in parts[1:]:
            joined = joined.join(part)
        return joined
    if not _of_package(dataset, "torchvision"):
        return None
    # A class of the user's own that changes what a sample is must be asked for its samples.
    if not type(dataset).__getitem__.__module__.startswith("torchvision."):
        return None
    joint = getattr(dataset, "transforms", None)
    if joint is not None and type(joint).__name__ != "StandardTransform":
        raise ArgumentError("transforms of image and label together cannot be translated: give transform= instead")
    target = dataset.target_transform or (lambda label: label)
    if hasattr(dataset, "samples") and hasattr(dataset, "loader"):
        if getattr(dataset.loader, "__name__", "") != "default_loader":
            raise ArgumentError(
                f"a loader of the data set's own ({dataset.loader!r}) cannot be translated: leave it out, the engine "
                "reads JPEG, PNG, WebP and BMP itself"
            )
        return _Files([path for path, _ in dataset.samples], [target(label) for _, label in dataset.samples],
                      dataset.transform, list(dataset.classes), folder=dataset if target(0) == 0 else None)
    if hasattr(dataset, "data") and hasattr(dataset, "targets"):
        import numpy as np

        pixels = np.asarray(dataset.data)
        if pixels.dtype == np.uint8 and pixels.ndim in (3, 4):
            pixels = pixels if pixels.ndim == 4 else pixels[..., None]
            labels = np.asarray([target(int(label)) for label in dataset.targets], dtype=np.int32)
            return _Arrays(pixels, labels, dataset.transform, list(getattr(dataset, "classes", [])))
    return None


def _same_folder(files):
    """The engine's own source for a folder, where it lists the same files in the same order."""
    folder = files.folder
    if folder is None or files.labels != [label for _, label in folder.samples]:
        return None
    from .. import data

    last = (-1, b"")
    for path, label in folder.samples:
        place, name = os.path.split(os.fsencode(path))
        if place != os.path.join(os.fsencode(folder.root), os.fsencode(folder.classes[label])) or (label, name) <= last:
            return None
        last = (label, name)
    dataset = data.ImageFolder(folder.root)
    same = dataset.class_names() == list(folder.classes) and dataset.num_samples() == len(folder.samples)
    return dataset if same else None


# ---- Hugging Face datasets


def _is_hugging_face(dataset):
    return type(dataset).__module__.split(".")[0] == "datasets" and hasattr(dataset, "features")


def _hugging_face_input(dataset, image, label):
    kinds = {name: type(feature).__name__ for name, feature in dataset.features.items()}
    image = image or next((name for name, kind in kinds.items() if kind == "Image"), None)
    label = label or next((name for name, kind in kinds.items() if kind == "ClassLabel"), None)
    if image not in kinds or label not in kinds:
        raise ArgumentError(f"name the columns of images and labels with image= and label=, among {', '.join(kinds)}")
    names = getattr(dataset.features[label], "names", None)
    if kinds[image] == "Image":  # bytes, not pixels: the engine decodes
        dataset = dataset.cast_column(image, type(dataset.features[image])(decode=False))
    return _rows_input(dataset, image, label, "dict", classes=names)


# ---- map-style data sets


def _map_style_input(dataset, image, label):
    if len(dataset) == 0:
        raise ArgumentError("the data set is empty")
    first = dataset[0]
    if isinstance(first, dict):
        image, label = image or "image", label or "label"
        if image not in first or label not in first:
            raise ArgumentError(f"name the keys of image and label with image= and label=, among {', '.join(first)}")
        return _rows_input(dataset, image, label, "dict")
    if isinstance(first, (tuple, list)) and len(first) == 2:
        return _rows_input(dataset, image or 0, label or 1, "tuple")
    raise ArgumentError(f"samples must be (image, label) or a dict, the first is {type(first).__name__}")


def _rows_input(dataset, image, label, form, classes=None):
    first = _image_value(dataset[0][image])
    encoded = isinstance(first, bytes)
    column = ("image", "bytes", ()) if encoded else ("image", "u8", (-1, -1, first.shape[2]))

    def row(index):
        sample = dataset[index]
        return _image_value(sample[image]), int(sample[label])

    name = f"{type(dataset).__module__}.{type(dataset).__qualname__}"
    made = FromGenerator(row, [column, ("label", "i32", ())], len(dataset), name=name)
    keys = {"image": image, "label": label} if form == "dict" else None
    return Input(made, form=form, keys=keys, channels=3 if encoded else first.shape[2], classes=classes)


def _image_value(value):
    """Encoded bytes, or pixels u8 [height, width, channels]."""
    if isinstance(value, dict):  # Hugging Face's images that are not decoded
        value = value["bytes"] if value.get("bytes") is not None else value["path"]
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, (str, os.PathLike)):
        with open(value, "rb") as file:
            return file.read()
    import numpy as np

    if type(value).__module__.startswith("PIL.") and value.mode not in ("L", "RGB"):
        value = value.convert("RGB")
    pixels = np.asarray(value)
    if pixels.dtype != np.uint8 or pixels.ndim not in (2, 3):
        raise TypeError(
            f"an image must be bytes, a path, a PIL image or pixels uint8 [height, width, channels], not "
            f"{type(value).__name__} {pixels.dtype} {list(pixels.shape)}"
        )
    return pixels[:, :, None] if pixels.ndim == 2 else pixels
