"""MindSpore's `dataset` over `ridgeline.data`: sources, samplers, and what makes datasets longer."""

from .... import data as _here
from .._names import lookup
from . import config
from ._dataset import Dataset
from ._sources import (Cifar10Dataset, GeneratorDataset, ImageFolderDataset, MnistDataset, NumpySlicesDataset,
                       TFRecordDataset)
from .samplers import (DistributedSampler, PKSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler,
                       SubsetSampler, WeightedRandomSampler)

__all__ = ["Cifar10Dataset", "Dataset", "DistributedSampler", "GeneratorDataset", "ImageFolderDataset", "MnistDataset",
           "NumpySlicesDataset", "PKSampler", "RandomSampler", "Sampler", "SequentialSampler", "SubsetRandomSampler",
           "SubsetSampler", "TFRecordDataset", "WeightedRandomSampler", "config", "deserialize", "serialize", "show", "zip"]


def zip(datasets):
    """Columns of several datasets side by side."""
    return Dataset(_here.zip([d._made for d in datasets]))


def serialize(dataset, json_filepath=""):
    """The tree of a dataset as MindData writes it; also into a file."""
    return dataset.to_json(json_filepath)


def deserialize(input_dict=None, json_filepath=None):
    """The dataset of such a tree."""
    import json

    if json_filepath is not None:
        with open(json_filepath, encoding="utf-8") as file:
            return Dataset(_here.Dataset.from_minddata_json(file.read()))
    return Dataset(_here.Dataset.from_minddata_json(json.dumps(input_dict)))


def show(dataset, indentation=2):
    """Prints the tree."""
    print(dataset._made.to_minddata_json(indentation))


_FILES = "ridgeline.data has sources of files: ImageFolder, Files, Csv, JsonLines, Tar, TFRecord, Packed, FromParquet"
REFUSED = {name: _FILES for name in ("Cifar100Dataset", "CelebADataset", "CocoDataset", "VOCDataset", "CSVDataset",
                                     "ManifestDataset", "TextFileDataset", "CLUEDataset", "PaddedDataset", "MindDataset",
                                     "FashionMnistDataset", "FlickrDataset", "SBUDataset", "OBSMindDataset")}
REFUSED |= {"DatasetCache": "ridgeline.data.Dataset.cache()", "WaitedDSCallback": "ridgeline.data.Dataset.with_callbacks()",
            "DSCallback": "ridgeline.data.Dataset.with_callbacks()", "Schema": "the first row tells the types",
            "Shuffle": "shuffle is True or False", "GraphData": "nets of images are trained here", "text": "nets of images are trained here",
            "audio": "nets of images are trained here", "compare": "compare the dicts of serialize()",
            "sync_wait_for_dataset": "ranks wait for each other in train() and eval() of the Model"}


def __getattr__(name):
    return lookup(__name__, name, {"vision": ".vision", "transforms": ".transforms", "samplers": ".samplers"}, REFUSED)
