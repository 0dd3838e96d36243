"""Images in Parquet files, as Hugging Face stores them: a column of encoded bytes and a label. Read through pyarrow."""

from __future__ import annotations

import bisect
import collections
import glob
import json
import os
import threading

from .._core import ArgumentError
from ._callables import FromGenerator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._graph import Dataset
    from ._types import *  # noqa: F403


def FromParquet(files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], image: str | None = None,
                label: str | None = None, memory_limit: int = 2 << 30) -> Dataset:
    """Encoded images and labels of Parquet files: columns image (bytes) and label (i32). Needs pyarrow.

    files: paths or shell patterns; those of a pattern sorted by name, rows numbered through all files
    image: column of the images: binary, or Hugging Face's struct of bytes and path; absent: what the files' own
        description says, else the only one of that kind
    label: column of the labels, whole numbers; absent: what the files' own description says, else `label`
    memory_limit: bytes for row groups, which are read whole: those that were used last are kept

    A shuffle of more than memory_limit reads a row group for nearly every row: small row groups (100 rows, Hugging
    Face's) are made for that.
    """
    return open_parquet(files, image, label, memory_limit)[0]


def open_parquet(files, image=None, label=None, memory_limit=2 << 30):
    """The dataset, and the names of its classes or None."""
    rows = ParquetRows(_paths(files), image, label, memory_limit)
    columns = [("image", "bytes", ()), ("label", "i32", ())]
    made = FromGenerator(rows.row, columns, len(rows), version=rows.version, name="parquet", thread_safe=True)
    return made, rows.classes


def is_parquet(value):
    """Whether DataLoader takes this for Parquet files: names that end so, one or several."""
    values = value if isinstance(value, (list, tuple)) else [value]
    return bool(values) and all(
        isinstance(v, (str, os.PathLike)) and os.fspath(v).endswith(".parquet") for v in values)


def _paths(files):
    files = [files] if isinstance(files, (str, bytes, os.PathLike)) else list(files)
    paths = []
    for pattern in map(os.fsdecode, files):
        found = [pattern] if os.path.exists(pattern) else sorted(glob.glob(pattern))
        if not found:
            raise ArgumentError(f"[parquet] no file matches {pattern}")
        paths += found
    if not paths:
        raise ArgumentError("[parquet] no files are given")
    return paths


class ParquetRows:
    """Rows of several files by number. Any thread may ask."""

    def __init__(self, paths, image, label, memory_limit):
        try:
            import pyarrow
            import pyarrow.parquet as parquet
        except ImportError:
            raise ArgumentError("[parquet] needs pyarrow: pip install pyarrow") from None
        self._pyarrow, self._limit = pyarrow, memory_limit
        self._files, self._groups, self._starts = [], [], [0]
        for path in paths:
            try:
                file = parquet.ParquetFile(path, memory_map=True)
            except (OSError, pyarrow.ArrowException) as error:
                raise ArgumentError(f"[parquet] {path}: {error}") from None
            self._files.append((path, file))
            for group in range(file.num_row_groups):
                self._groups.append((len(self._files) - 1, group))
                self._starts.append(self._starts[-1] + file.metadata.row_group(group).num_rows)
        schema = self._files[0][1].schema_arrow
        described = _description(schema)
        self.image = _named(described, "Image") if image is None else image
        if self.image is None:
            self.image = _only(schema, self._is_image, "image")
        self.label = _named(described, "ClassLabel") if label is None else label
        if self.label is None:
            self.label = "label"
        self.classes = described.get(self.label, {}).get("names")
        self._labels = []  # of each file: its labels in those of the first, or None where they are the same
        for path, file in self._files:
            self._check(path, file.schema_arrow)
            self._labels.append(self._labels_of(path, file.schema_arrow))
        if len(self) == 0:
            raise ArgumentError(f"[parquet] no rows in {', '.join(paths)}")
        # Caches on disk hold for files with these names, sizes and times.
        facts = [(path, os.stat(path).st_size, os.stat(path).st_mtime_ns) for path in paths]
        self.version = int.from_bytes(_digest(repr((facts, self.image, self.label, self.classes))), "little")
        self._lock = threading.Lock()
        self._kept, self._bytes = collections.OrderedDict(), 0

    def __len__(self):
        return self._starts[-1]

    def row(self, index):
        """Encoded bytes and label."""
        number = bisect.bisect_right(self._starts, index) - 1
        images, labels = self._group(number)
        at = index - self._starts[number]
        value, label = images[at].as_py(), labels[at].as_py()
        if isinstance(value, dict):
            value = self._bytes_of(number, value)
        if value is None or label is None:
            raise ValueError(f"{self._place(number, at)} has no {'image' if value is None else 'label'}")
        return value, self._class_of(number, at, label)

    def _class_of(self, number, at, label):
        """The label in the classes of the first file."""
        mapped = self._labels[self._groups[number][0]]
        known = mapped if mapped is not None else self.classes
        if known is not None and not 0 <= label < len(known):
            raise ValueError(f"{self._place(number, at)} has the label {label}, which is outside the "
                             f"{len(known)} classes that the file names")
        return label if mapped is None else mapped[label]

    def _labels_of(self, path, schema):
        """Names may have another order, or be fewer, in other files: labels go by names."""
        names = _description(schema).get(self.label, {}).get("names")
        if names == self.classes:
            return None
        first = self._files[0][0]
        if names is None or self.classes is None:
            without, named = (path, first) if names is None else (first, path)
            raise ArgumentError(f"[parquet] {without} does not name its classes, {named} does: their labels may not "
                                "mean the same")
        unknown = [name for name in names if name not in self.classes]
        if unknown:
            raise ArgumentError(f"[parquet] {path} has the class {unknown[0]!r}, which is not among those of {first}: "
                                f"{', '.join(self.classes)}")
        return [self.classes.index(name) for name in names]

    def _bytes_of(self, number, value):
        if value.get("bytes") is not None or not value.get("path"):
            return value.get("bytes")
        folder = os.path.dirname(self._files[self._groups[number][0]][0])
        with open(os.path.join(folder, value["path"]), "rb") as file:
            return file.read()

    def _place(self, number, at):
        file, group = self._groups[number]
        return f"{self._files[file][0]}: row {at} of row group {group}"

    def _group(self, number):
        with self._lock:
            if number in self._kept:
                self._kept.move_to_end(number)
                return self._kept[number][0]
        # Read without the lock: pyarrow leaves the interpreter to others meanwhile.
        file, group = self._groups[number]
        table = self._files[file][1].read_row_group(group, columns=[self.image, self.label])
        columns = tuple(table.column(name).combine_chunks() for name in (self.image, self.label))
        with self._lock:
            if number not in self._kept:
                self._kept[number] = (columns, table.nbytes)
                self._bytes += table.nbytes
            while self._bytes > self._limit and len(self._kept) > 1:
                self._bytes -= self._kept.popitem(last=False)[1][1]
        return columns

    def _is_image(self, kind):
        types = self._pyarrow.types
        if types.is_struct(kind):
            fields = {kind.field(i).name: kind.field(i).type for i in range(kind.num_fields)}
            return "bytes" in fields and self._is_image(fields["bytes"])
        return types.is_binary(kind) or types.is_large_binary(kind)

    def _check(self, path, schema):
        for argument, name in (("image", self.image), ("label", self.label)):
            if name not in schema.names:
                raise ArgumentError(f"[parquet] {path} has no column {name!r}: name one with {argument}=, among "
                                    f"{', '.join(schema.names)}")
        if not self._is_image(schema.field(self.image).type):
            raise ArgumentError(f"[parquet] {path}: column {self.image!r} is {schema.field(self.image).type}, images "
                                "must be binary or a struct of bytes and path")
        if not self._pyarrow.types.is_integer(schema.field(self.label).type):
            raise ArgumentError(f"[parquet] {path}: column {self.label!r} is {schema.field(self.label).type}, labels "
                                "must be whole numbers")


def _description(schema):
    """Hugging Face's features by column, if the file has them."""
    try:
        features = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"]
        return {name: feature for name, feature in features.items() if isinstance(feature, dict)}
    except (KeyError, TypeError, ValueError):
        return {}


def _named(described, kind):
    return next((name for name, feature in described.items() if feature.get("_type") == kind), None)


def _only(schema, test, argument):
    found = [field.name for field in schema if test(field.type)]
    if len(found) != 1:
        raise ArgumentError(f"[parquet] name the column of images with {argument}=, among {', '.join(schema.names)}")
    return found[0]


def _digest(text):
    import hashlib

    return hashlib.blake2b(text.encode(), digest_size=4).digest()
