"""MindSpore's sources. Those of files are read by the engine's own adapter of MindData's trees."""

import json
import os

import numpy as np

from .... import data as here
from . import samplers
from ._dataset import Dataset

_TUNING = {"num_parallel_workers": 8, "connector_queue_size": 16}


def _tree(op_type, sampler=None, **arguments):
    tree = {"op_type": op_type, "children": [], **_TUNING, **arguments}
    if sampler is not None:
        tree["sampler"] = sampler.tree()
    return Dataset(here.Dataset.from_minddata_json(json.dumps(tree)))


def _no_cache(cache, decrypt=None):
    if cache is not None or decrypt is not None:
        raise ValueError("cache and decrypt of a dataset: ridgeline.data has Dataset.cache(), and files are not encrypted")


def ImageFolderDataset(dataset_dir, num_samples=None, num_parallel_workers=None, shuffle=None, sampler=None, extensions=None,
                       class_indexing=None, decode=False, num_shards=None, shard_id=None, cache=None, decrypt=None):
    """Photos in class folders: columns image and label."""
    _no_cache(cache, decrypt)
    sampler = samplers.of(sampler, shuffle, num_samples, num_shards, shard_id)
    return _tree("ImageFolderDataset", sampler, dataset_dir=os.fspath(dataset_dir), extensions=list(extensions or []),
                 class_indexing=dict(class_indexing or {}), decode=decode, recursive=False)


def MnistDataset(dataset_dir, usage="train", num_samples=None, num_parallel_workers=None, shuffle=None, sampler=None,
                 num_shards=None, shard_id=None, cache=None):
    """MNIST's files: columns image [28,28,1] and label.

    usage: "train" or "test"
    """
    _no_cache(cache)
    return _tree("MnistDataset", samplers.of(sampler, shuffle, num_samples, num_shards, shard_id),
                 dataset_dir=os.fspath(dataset_dir), usage=usage or "all")


def Cifar10Dataset(dataset_dir, usage=None, num_samples=None, num_parallel_workers=None, shuffle=None, sampler=None,
                   num_shards=None, shard_id=None, cache=None):
    """CIFAR-10's files: columns image [32,32,3] and label.

    usage: "train", "test" or "all"
    """
    _no_cache(cache)
    return _tree("Cifar10Dataset", samplers.of(sampler, shuffle, num_samples, num_shards, shard_id),
                 dataset_dir=os.fspath(dataset_dir), usage=usage or "all")


def TFRecordDataset(dataset_files, schema=None, columns_list=None, num_samples=None, num_parallel_workers=None, shuffle=None,
                    num_shards=None, shard_id=None, shard_equal_rows=False, cache=None, compression_type=None):
    """Records of ImageNet: columns image/encoded and image/class/label."""
    _no_cache(cache)
    if num_shards is not None or shard_id is not None or shard_equal_rows or schema is not None:
        raise ValueError("TFRecordDataset(schema, num_shards, shard_id): ridgeline.data.TFRecord(...).shard(count, index), "
                         "whose columns are known")
    files = [dataset_files] if isinstance(dataset_files, (str, os.PathLike)) else list(dataset_files)
    shuffled = shuffle is None or bool(shuffle)
    return _tree("TFRecordDataset", dataset_files=[os.fspath(f) for f in files],
                 columns_list=list(columns_list or ["image/encoded", "image/class/label"]), num_samples=num_samples or 0,
                 shuffle=2 if shuffled else 0, shuffle_global=shuffled, shuffle_files=shuffled, num_shards=1, shard_id=0,
                 shard_equal_rows=False, schema_file_path="", compression_type=compression_type or "")


def _sampled(made, sampler, shuffle, num_samples, num_shards, shard_id):
    chosen = samplers.of(sampler, shuffle, num_samples, num_shards, shard_id)
    if chosen.tree() == samplers.SequentialSampler().tree():
        return Dataset(made)
    return Dataset(made).use_sampler(chosen)


def NumpySlicesDataset(data, column_names=None, num_samples=None, num_parallel_workers=1, shuffle=None, sampler=None,
                       num_shards=None, shard_id=None):
    """Rows of arrays: one, several in a tuple, or a dict of them by column."""
    if isinstance(data, dict):
        arrays, own_names = list(data.values()), [str(name) for name in data]
    else:
        arrays = list(data) if isinstance(data, tuple) else [data]
        own_names = [f"column_{i}" for i in range(len(arrays))]
    names = [column_names] if isinstance(column_names, str) else list(column_names or own_names)
    if len(names) != len(arrays):
        raise ValueError(f"{len(arrays)} columns of data have {len(names)} names")
    columns = {n: np.asarray(a) for n, a in zip(names, arrays)}
    return _sampled(here.InMemory(columns), sampler, shuffle, num_samples, num_shards, shard_id)


def GeneratorDataset(source, column_names=None, column_types=None, schema=None, num_samples=None, num_parallel_workers=1,
                     shuffle=None, sampler=None, num_shards=None, shard_id=None, python_multiprocessing=True, max_rowsize=6):
    """Rows of a Python object with __getitem__ and __len__, each a tuple of arrays, one a column."""
    if schema is not None or column_types is not None:
        raise ValueError("GeneratorDataset(column_types, schema): the first row tells the types")
    if not hasattr(source, "__getitem__") or not hasattr(source, "__len__"):
        raise ValueError("GeneratorDataset: a source has __getitem__ and __len__; rows one after the other are read by "
                         "ridgeline.data.FromStream")
    names = [column_names] if isinstance(column_names, str) else list(column_names or [])

    def row(index):
        values = source[index]
        return tuple(np.asarray(v) for v in (values if isinstance(values, (tuple, list)) else (values,)))

    if len(source) == 0:
        raise ValueError("GeneratorDataset: the source has no rows")
    first = row(0)
    if len(names) != len(first):
        raise ValueError(f"rows have {len(first)} columns, and {len(names)} names: {', '.join(names)}")
    specs = [(n, _type(n, v), tuple(v.shape)) for n, v in zip(names, first)]
    return _sampled(here.FromGenerator(row, specs, len(source), version=0), sampler, shuffle, num_samples, num_shards, shard_id)


def _type(name, value):
    found = {"f8": "f64", "f4": "f32", "f2": "f16", "u1": "u8", "i4": "i32", "i8": "i64", "b1": "bool"}.get(
        value.dtype.str[1:])
    if found is None:
        raise ValueError(f"column {name} of the rows is {value.dtype}; numbers of float16 to float64, uint8, int32, int64 "
                         "and bool are meant")
    return found
