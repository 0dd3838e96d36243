"""What DataLoader may be given, as a dataset of the engine: folders, Parquet files, torchvision's and map-style sets."""

import functools
import operator
import os
import types
import warnings

from .._core import ArgumentError, node_table
from ._callables import FileList
from ._graph import Dataset
from ._labels import labels_array
from ._parquet import is_parquet, open_parquet
from ._picture_values import is_channels_first
from ._samples import Input, is_stream, map_style_input, of_package


class _Files:
    """Encoded files with labels: what is left of torchvision's folders after Subset and ConcatDataset."""

    def __init__(self, paths, labels, transform, classes, folder=None):
        self.paths, self.labels, self.transform, self.classes = paths, labels, transform, classes
        self.folder = folder  # the one torchvision folder that this is all of

    def select(self, indices):
        return _Files([self.paths[i] for i in indices], [self.labels[i] for i in indices], self.transform, self.classes)

    def join(self, other):
        return _Files(self.paths + other.paths, self.labels + other.labels, self.transform, self.classes)

    def input(self, options):
        dataset = _same_folder(self)
        if dataset is not None or all(type(label) is int and 0 <= label < 2 ** 31 for label in self.labels):
            dataset = dataset or FileList(self.paths, self.labels)
            return Input(dataset, transform=self.transform, classes=self.classes, label_type=int)
        from .. import data

        labels = labels_array(self.labels, lambda i: f"the label of {self.paths[i]}")
        if labels is None:  # texts and other things
            return _pairs_input(_Pairs(self.paths, self.labels), self, options)
        files = FileList(self.paths, [0] * len(self.paths)).project(["image"])
        return Input(data.zip([files, data.InMemory({"label": labels})]), transform=self.transform,
                     classes=self.classes, counts=type(self.labels[0]) is int, label_type=type(self.labels[0]))


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

    def input(self, options):
        from .. import data

        labels = labels_array(self.labels, lambda i: f"the label of sample {i}")
        if labels is None:
            return _pairs_input(_Pairs(self.pixels, self.labels), self, options)
        dataset = data.InMemory({"image": self.pixels, "label": labels})
        kind = type(self.labels[0]) if len(self.labels) else int
        return Input(dataset, transform=self.transform, channels=self.pixels.shape[3], classes=self.classes,
                     counts=kind is int, label_type=kind)


class _Pairs:
    """Pictures and what belongs to them, of any kind."""

    def __init__(self, pictures, others):
        self.pictures, self.others = pictures, others

    def __len__(self):
        return len(self.others)

    def __getitem__(self, index):
        return self.pictures[index], self.others[index]


def _pairs_input(pairs, held, options):
    made = map_style_input(pairs, None, None, options, True, held.classes)
    made.transform = held.transform
    return made


def input_of(dataset, image=None, label=None, thread_safe=False, asked=True, options=None, steered=False,
             processes=None):
    """The Input of what DataLoader was given; None: its samples are Python's matter alone.

    image, label: columns, keys of samples that are dicts, or places in samples that are tuples
    asked: whether a transform for the engine was given
    options: how what is no picture becomes a batch (_collate.Options)
    steered: whether the engine's crops go by the bounding boxes of a sample
    thread_safe: whether a map-style data set may be asked by several threads at a time
    processes: those that make the samples of one (_sample_processes.RowProcesses)
    """
    from .. import data

    if is_parquet(dataset):
        made, classes = open_parquet(dataset, image, label)
        return Input(made, classes=classes)
    if isinstance(dataset, (str, bytes, os.PathLike)):
        _refuse_file(dataset)
        folder = data.ImageFolder(dataset)
        return Input(folder, classes=folder.class_names(), label_type=int)
    if isinstance(dataset, Dataset):
        return _engine_input(dataset, image, label, asked)
    wanted = asked or image is not None
    if (held := _torchvision_data(dataset) or _timm_data(dataset)) is not None:
        return held.input(options)
    if _is_hugging_face(dataset) and not is_stream(dataset):
        return _hugging_face_input(dataset, image, label, options, thread_safe, wanted, steered, processes)
    if not wanted or is_stream(dataset):
        return None
    if hasattr(dataset, "__getitem__") and hasattr(dataset, "__len__"):
        return map_style_input(dataset, image, label, options, thread_safe, steered=steered, processes=processes)
    raise no_data_set(dataset)


def no_data_set(dataset):
    """The error for what is none."""
    what = f"the {'class' if isinstance(dataset, type) else 'function'} {dataset.__name__}" if \
        isinstance(dataset, (type, types.FunctionType)) else f"a {type(dataset).__name__}"
    how = {type: ": give an object of it", types.FunctionType: ": give an object whose __iter__ calls it, or "
           "data.FromStream"}.get(type(dataset), "")
    return ArgumentError(f"DataLoader takes a folder, Parquet files, a dataset of ridgeline.data, a data set with "
                         f"__getitem__ and __len__, or one with __iter__, not {what}{how}")


def check_kind(dataset, by_keys):
    """An error for what has samples by no number, though it has __getitem__ and __len__. by_keys: a sampler may give keys"""
    if isinstance(dataset, (type, types.FunctionType)) or not (
            isinstance(dataset, os.PathLike) or hasattr(dataset, "__iter__") or hasattr(dataset, "__getitem__")):
        raise no_data_set(dataset)
    if isinstance(dataset, dict) and dataset and 0 not in dataset and not by_keys:
        keys = ", ".join(repr(key) for key in list(dataset)[:4]) + (", ..." if len(dataset) > 4 else "")
        raise ArgumentError(f"the data set is a {type(dataset).__name__} with the keys {keys}: give the one of its values "
                            "that has samples by number, or data.InMemory(...) if they are columns of arrays")
    if type(dataset).__module__.partition(".")[0] == "pandas":
        raise ArgumentError(f"the data set is a {type(dataset).__name__} of pandas, whose [...] names columns: give "
                            "its .to_dict('records'), a list of rows")


# Sources that read single files, by what their names end in.
_OF_FILES = {".tar": "Tar", ".csv": "Csv", ".tsv": "Csv", ".jsonl": "JsonLines", ".tfrecord": "TFRecord"}


def _refuse_file(path):
    name = os.fsdecode(path)
    if os.path.isfile(name):
        source = _OF_FILES.get(os.path.splitext(name)[1].lower())
        raise ArgumentError(f"{name} is a file, a path is that of a folder of class folders, or of Parquet files"
                            + (f": data.{source} reads such files" if source else ""))


def _engine_input(dataset, image, label, asked):
    names = [name for name, _, _ in dataset.columns() if name != "mask"]
    for given in (image, label):
        if given is not None and given not in names:
            raise ArgumentError(f"there is no column {given!r} among {', '.join(names)}")
    pair = ("image" if image is None else image, "label" if label is None else label)
    if pair[0] not in names:
        if asked:
            raise ArgumentError(f"transform= is for a picture, name its column with image=, among {', '.join(names)}")
        return Input(dataset, columns=pair, pictures=(), form="dict")
    for name, _, shape in dataset.columns():
        if name == pair[0] and is_channels_first(shape):
            raise ArgumentError(f"the column {name!r} is {list(shape)}: pictures are [height, width, channels] "
                                "(numpy.moveaxis(x, 1, -1) of an array [N,C,H,W])")
    return Input(dataset, columns=pair, form="tuple" if set(names) == set(pair) else "dict")


# ---- torchvision


def transform_of(dataset):
    """The transform that a data set of torchvision's or timm's brings, or those that parts of it are of."""
    kind = type(dataset).__name__
    if kind == "Subset" and of_package(dataset, "torch"):
        return transform_of(dataset.dataset)
    if kind == "ConcatDataset" and of_package(dataset, "torch"):
        return transform_of(dataset.datasets[0])
    return dataset.transform


def _torchvision_data(dataset):
    kind = type(dataset).__name__
    if kind == "Subset" and of_package(dataset, "torch"):
        held = _torchvision_data(dataset.dataset)
        return None if held is None else held.select([operator.index(i) for i in dataset.indices])
    if kind == "ConcatDataset" and of_package(dataset, "torch"):
        parts = [_torchvision_data(part) for part in dataset.datasets]
        if any(p is None or type(p) is not type(parts[0]) or p.transform is not parts[0].transform for p in parts):
            return None
        joined = parts[0]
        for part in parts[1:]:
            joined = joined.join(part)
        return joined
    if not of_package(dataset, "torchvision"):
        return None
    # A class of the user's own that changes what a sample is must be asked for its samples.
    if not type(dataset).__getitem__.__module__.startswith("torchvision."):
        return None
    joint = getattr(dataset, "transforms", None)
    if joint is not None and type(joint).__name__ != "StandardTransform":
        return None  # of image and label together
    target = (lambda label: label) if dataset.target_transform is None else dataset.target_transform
    if hasattr(dataset, "samples") and hasattr(dataset, "loader"):
        if getattr(dataset.loader, "__name__", "") != "default_loader":
            return None  # files that the user reads
        if (path := next((path for path, _ in dataset.samples if path.lower().endswith(_pillows_alone())), None)):
            warnings.warn(f"{path}: the engine does not decode such files, so the samples of this data set are made in "
                          "Python", stacklevel=4)
            return None
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


@functools.cache
def _pillows_alone():
    """What names of pictures end in that torchvision lists and the engine does not decode: TIFF and others."""
    from torchvision.datasets.folder import IMG_EXTENSIONS

    (folder,) = (node for node in node_table() if node["op"] == "image_folder")
    (decoded,) = (arg["default"] for arg in folder["args"] if arg["name"] == "extensions")
    return tuple(set(IMG_EXTENSIONS) - set(decoded))


# Of torchvision's classes that hold all their pixels: the target of a sample, for what is stored. Subclasses that give
# samples in the same way are among them; all others are asked for their samples.
_TARGETS = {
    "CIFAR10.__getitem__": lambda dataset, stored: stored,
    "MNIST.__getitem__": lambda dataset, stored: int(stored),
    "QMNIST.__getitem__": lambda dataset, stored: int(stored[0]) if dataset.compat else stored,
    "USPS.__getitem__": lambda dataset, stored: int(stored),
}


def _timm_data(dataset):
    """Of timm's ImageDataset over a folder, whose reader lists its files."""
    if type(dataset).__name__ != "ImageDataset" or not type(dataset).__module__.startswith("timm.data"):
        return None
    reader = dataset.reader
    if type(reader).__name__ != "ReaderImageFolder" or dataset.load_bytes or dataset.input_img_mode != "RGB" or \
            getattr(dataset, "additional_features", None) is not None:
        return None
    target = (lambda label: label) if dataset.target_transform is None else dataset.target_transform
    classes = sorted(reader.class_to_idx, key=reader.class_to_idx.get)
    return _Files([path for path, _ in reader.samples], [target(label) for _, label in reader.samples],
                  dataset.transform, classes)


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


def _hugging_face_input(dataset, image, label, options, thread_safe, wanted, steered, processes):
    """Images stay encoded, and all that is beside them is what `datasets` gives."""
    kinds = {name: type(feature).__name__ for name, feature in (dataset.features or {}).items()}
    images = [name for name, kind in kinds.items() if kind == "Image"]
    if (dataset.format["type"] is not None or not images) and not wanted:
        return None  # samples that the user makes, or without pictures
    named = image if isinstance(image, list) else [image]
    for name in [*named, label]:
        if name is not None and name not in kinds:
            raise ArgumentError(f"there is no column {name!r} among {', '.join(kinds)}")
    if image is None and not images:
        raise ArgumentError(f"name the columns of images with image=, among {', '.join(kinds)}")
    chosen = images if image is None else named
    for name in images:  # bytes, not pixels: the engine decodes
        if name in chosen:
            dataset = dataset.cast_column(name, type(dataset.features[name])(decode=False))
    classes = [name for name, kind in kinds.items() if kind == "ClassLabel"]
    names = getattr(dataset.features[label if label is not None else classes[0]], "names", None) if classes else None
    return map_style_input(dataset, chosen if len(chosen) > 1 else chosen[0], label, options, thread_safe, names,
                           steered, processes)
