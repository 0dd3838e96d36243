"""What DataLoader may be given, as a dataset of the engine: folders, Parquet files, torchvision's and map-style sets."""

import contextlib
import operator
import os
import warnings

from .._core import ArgumentError, Turn
from ._callables import FileList, FromGenerator
from ._graph import Dataset
from ._labels import first_label, labels_array
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
        dataset = _same_folder(self)
        if dataset is None:
            dataset = self._listed()
        return Input(dataset, transform=self.transform, classes=self.classes)

    def _listed(self):
        if all(type(label) is int and 0 <= label < 2 ** 31 for label in self.labels):
            return FileList(self.paths, self.labels)
        from .. import data

        labels = _labels_of(self.labels, lambda i: f"the label of {self.paths[i]}")
        files = FileList(self.paths, [0] * len(self.paths)).project(["image"])
        return data.zip([files, data.InMemory({"label": labels})])


class _Arrays:
    """Decoded pixels in memory: CIFAR, MNIST and the like."""

    def __init__(self, pixels, labels, transform, classes):
        self.pixels, self.labels, self.transform, self.classes = pixels, labels, transform, classes

    def select(self, indices):
        return _Arrays(self.pixels[indices], [self.labels[i] for i in indices], self.transform, self.classes)

    def join(self, other):
        import numpy as np

        return _Arrays(np.concatenate([self.pixels, other.pixels]), self.labels + other.labels, self.transform,
                       self.classes)

    def input(self):
        from .. import data

        labels = _labels_of(self.labels, lambda i: f"the label of sample {i}")
        dataset = data.InMemory({"image": self.pixels, "label": labels})
        return Input(dataset, transform=self.transform, channels=self.pixels.shape[3], classes=self.classes)


def _labels_of(labels, where):
    try:
        return labels_array(labels, where)
    except TypeError as error:
        raise ArgumentError(str(error)) from None


def input_of(dataset, image=None, label=None, thread_safe=False):
    """The Input of what DataLoader was given.

    image, label: columns, keys of samples that are dicts, or places in samples that are tuples
    thread_safe: whether a map-style data set may be asked by several threads at a time
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
        return _hugging_face_input(dataset, image, label, thread_safe)
    if hasattr(dataset, "__getitem__") and hasattr(dataset, "__len__"):
        return _map_style_input(dataset, image, label, thread_safe)
    raise ArgumentError(
        f"DataLoader takes a folder, Parquet files, a dataset of ridgeline.data, or a map-style data set with __getitem__ and __len__, "
        f"not {type(dataset).__name__}"
    )


def _engine_input(dataset, image, label):
    names = [name for name, _, _ in dataset.columns() if name != "mask"]
    for given in (image, label):
        if given is not None and given not in names:
            raise ArgumentError(f"there is no column {given!r} among {', '.join(names)}")
    pair = ("image" if image is None else image, "label" if label is None else label)
    return Input(dataset, columns=pair, form="tuple" if set(names) == set(pair) else "dict")


# ---- torchvision


def _of_package(dataset, package):
    return any(c.__module__.split(".")[0] == package for c in type(dataset).__mro__)


def _torchvision_data(dataset):
    kind = type(dataset).__name__
    if kind == "Subset" and _of_package(dataset, "torch"):
        held = _torchvision_data(dataset.dataset)
        return None if held is None else held.select([operator.index(i) for i in dataset.indices])
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
    target = (lambda label: label) if dataset.target_transform is None else dataset.target_transform
    if hasattr(dataset, "samples") and hasattr(dataset, "loader"):
        if getattr(dataset.loader, "__name__", "") != "default_loader":
            raise ArgumentError(
                f"a loader of the data set's own ({dataset.loader!r}) cannot be translated: leave it out, the engine "
                "reads JPEG, PNG, WebP and BMP itself"
            )
        return _Files([path for path, _ in dataset.samples], [target(label) for _, label in dataset.samples],
                      dataset.transform, list(dataset.classes),
                      folder=dataset if dataset.target_transform is None else None)
    given = _TARGETS.get(type(dataset).__getitem__.__qualname__)
    if given is not None:
        import numpy as np

        pixels = np.asarray(dataset.data)
        if pixels.dtype == np.uint8 and pixels.ndim in (3, 4):
            pixels = pixels if pixels.ndim == 4 else pixels[..., None]
            labels = [target(given(dataset, stored)) for stored in dataset.targets]
            return _Arrays(pixels, labels, dataset.transform, list(getattr(dataset, "classes", [])))
    return None


# Of torchvision's classes that hold all their pixels: the target of a sample, for what is stored. Subclasses that give
# samples in the same way are among them; all others are asked for their samples.
_TARGETS = {
    "CIFAR10.__getitem__": lambda dataset, stored: stored,
    "MNIST.__getitem__": lambda dataset, stored: int(stored),
    "QMNIST.__getitem__": lambda dataset, stored: int(stored[0]) if dataset.compat else stored,
    "USPS.__getitem__": lambda dataset, stored: int(stored),
}


def _same_folder(files):
    """The engine's own source for a folder, where it lists the same files in the same order."""
    if files.folder is None:
        return None
    from .. import data

    # By the folders that the files lie in: `classes` may hold other names, and `root` may lie above.
    names, roots, last = {}, set(), (-1, b"")
    for path, label in files.folder.samples:
        place, name = os.path.split(os.fsencode(path))
        root, folder = os.path.split(place)
        if names.setdefault(label, folder) != folder or (label, name) <= last:
            return None
        roots.add(root)
        last = (label, name)
    if len(roots) != 1 or sorted(names) != list(range(len(names))):
        return None
    dataset = data.ImageFolder(roots.pop())
    same = [os.fsencode(name) for name in dataset.class_names()] == [names[label] for label in range(len(names))]
    return dataset if same and dataset.num_samples() == len(files.paths) else None


# ---- Hugging Face datasets


def _is_hugging_face(dataset):
    return type(dataset).__module__.split(".")[0] == "datasets" and hasattr(dataset, "features")


def _hugging_face_input(dataset, image, label, thread_safe):
    kinds = {name: type(feature).__name__ for name, feature in dataset.features.items()}
    chosen = image, label
    if image is None:
        image = next((name for name, kind in kinds.items() if kind == "Image"), None)
    if label is None:
        label = next((name for name, kind in kinds.items() if kind == "ClassLabel"), None)
    if image not in kinds or label not in kinds:
        raise ArgumentError(f"name the columns of images and labels with image= and label=, among {', '.join(kinds)}")
    _say_what_is_left(chosen, kinds, (image, label))
    names = getattr(dataset.features[label], "names", None)
    if kinds[image] == "Image":  # bytes, not pixels: the engine decodes
        dataset = dataset.cast_column(image, type(dataset.features[image])(decode=False))
    turns = _turns(dataset, thread_safe)
    return _rows_input(dataset, _sample(dataset, 0, turns), image, label, "dict", turns, classes=names)


# ---- map-style data sets


def _map_style_input(dataset, image, label, thread_safe):
    if len(dataset) == 0:
        raise ArgumentError("the data set is empty")
    turns = _turns(dataset, thread_safe)
    first = _sample(dataset, 0, turns)
    chosen = image, label
    if isinstance(first, dict):
        image, label = "image" if image is None else image, "label" if label is None else label
        if image not in first or label not in first:
            keys = ", ".join(map(str, first))
            raise ArgumentError(f"name the keys of image and label with image= and label=, among {keys}")
        _say_what_is_left(chosen, first, (image, label))
        return _rows_input(dataset, first, image, label, "dict", turns)
    if isinstance(first, (tuple, list)) and (len(first) == 2 or None not in chosen):
        image, label = 0 if image is None else image, 1 if label is None else label
        for name, place in (("image", image), ("label", label)):
            if not hasattr(place, "__index__") or not -len(first) <= place < len(first):
                raise ArgumentError(f"{name} is {place!r}, samples are tuples of {len(first)} (allowed: 0 to "
                                    f"{len(first) - 1})")
        if image % len(first) == label % len(first):
            raise ArgumentError(f"image and label are both place {image} of the samples: name another with image= or "
                                "label=")
        return _rows_input(dataset, first, image, label, "tuple", turns)
    if isinstance(first, (tuple, list)):
        raise ArgumentError(f"samples are tuples of {len(first)}: name the places of image and label with image= and "
                            "label=")
    raise ArgumentError(f"samples must be (image, label) or a dict, the first is {type(first).__name__}")


def _say_what_is_left(chosen, keys, delivered):
    """A warning for what nobody said may be left out."""
    left = [str(key) for key in keys if key not in delivered]
    if left and None in chosen:
        warnings.warn(f"of each sample image {delivered[0]!r} and label {delivered[1]!r} are delivered, not "
                      f"{', '.join(left)} (image= and label= given together say so without this warning)", stacklevel=5)


def _turns(dataset, thread_safe):
    """Of all data sets behind this one: two loaders over parts of one data set take turns at it, too."""
    return [] if thread_safe else [Turn(part) for part in _parts(dataset)]


def _sample(dataset, index, turns, take=lambda sample: sample):
    """take(dataset[index]), by one thread at a time."""
    with contextlib.ExitStack() as stack:
        for turn in turns:
            stack.enter_context(turn)
        return take(dataset[index])


def _rows_input(dataset, first_sample, image, label, form, turns, classes=None):
    first = _image_value(first_sample[image])
    encoded = isinstance(first, bytes)
    column = ("image", "bytes", ()) if encoded else ("image", "u8", (-1, -1, first.shape[2]))
    labels = first_label(first_sample[label], f"sample 0: label ({label!r})")

    def row(index):
        value, target = _sample(dataset, index, turns, lambda s: (_lazy_image_value(s[image]), s[label]))
        value = _image_value(value)  # a file of its own: beside those of other workers
        if encoded != isinstance(value, bytes):
            raise TypeError(f"sample {index}: image ({image!r}) is {'pixels' if encoded else 'encoded'}, the first was "
                            f"{'encoded' if encoded else 'pixels'}")
        return value, labels.value(target, f"sample {index}: label ({label!r})")

    name = f"{type(dataset).__module__}.{type(dataset).__qualname__}"
    made = FromGenerator(row, [column, labels.column], len(dataset), name=name, thread_safe=True)
    keys = {"image": image, "label": label} if form == "dict" else None
    return Input(made, form=form, keys=keys, channels=3 if encoded else first.shape[2], classes=classes)


def _parts(dataset):
    """The data sets behind PyTorch's Subset and ConcatDataset, each once, in an order that is the same everywhere."""
    kind = type(dataset).__name__ if _of_package(dataset, "torch") else ""
    below = {"Subset": lambda: [dataset.dataset], "ConcatDataset": lambda: dataset.datasets}.get(kind)
    parts = {id(dataset): dataset}
    if below:
        parts = {id(part): part for inner in below() for part in _parts(inner)}
    return [parts[key] for key in sorted(parts)]


def _lazy_image_value(value):
    """As _image_value, but for files that are named by their path, which are left to be read."""
    if isinstance(value, dict):  # Hugging Face's images that are not decoded
        value = value["bytes"] if value.get("bytes") is not None else value["path"]
    return value if isinstance(value, (str, os.PathLike)) else _image_value(value)


def _image_value(value):
    """Encoded bytes, or pixels u8 [height, width, channels]."""
    if isinstance(value, dict):
        value = _lazy_image_value(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, (str, os.PathLike)):
        with open(value, "rb") as file:
            return file.read()
    import numpy as np

    if type(value).__module__.startswith("PIL."):
        value = _eight_bits(value)
    pixels = np.asarray(value)
    if pixels.dtype != np.uint8 or pixels.ndim not in (2, 3):
        raise TypeError(
            f"an image must be bytes, a path, a PIL image or pixels uint8 [height, width, channels], not "
            f"{type(value).__name__} {pixels.dtype} {list(pixels.shape)}"
        )
    return pixels[:, :, None] if pixels.ndim == 2 else pixels


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
