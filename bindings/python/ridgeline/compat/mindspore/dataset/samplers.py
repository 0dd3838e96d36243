"""MindSpore's samplers: which rows of a source, in which order. They are read by the engine's own adapter of MindData."""

import json

from .... import data as here
from ...._core import minddata_as_json
from .._names import only


class Sampler:
    """A row of MindData's table of samplers: its name and arguments, and a sampler below."""

    def __init__(self, name, arguments, num_samples=None):
        self._tree = {"sampler_name": name, **arguments, "num_samples": num_samples or 0}
        self._children = []

    def add_child(self, sampler):
        """Its rows feed this one."""
        if self._children:
            raise RuntimeError("Cannot add child sampler, this sampler already has a child.")
        self._children.append(sampler)

    def tree(self):
        """As MindData serialises it."""
        return {**self._tree, "child_sampler": [s.tree() for s in self._children]} if self._children else dict(self._tree)

    def _over(self, made):
        """The rows that it chooses of a dataset that is no file."""
        probe = {"op_type": "MnistDataset", "dataset_dir": ".", "usage": "train", "children": [], "num_parallel_workers": 8,
                 "connector_queue_size": 16, "sampler": self.tree()}
        for node in json.loads(minddata_as_json(json.dumps(probe)))["nodes"][1:]:
            made = made.sample(here.Sampler(node["op"], node.get("args", {})))
        return made


def SequentialSampler(start_index=None, num_samples=None):
    """Rows in their order."""
    return Sampler("SequentialSampler", {"start_index": start_index or 0}, num_samples)


def RandomSampler(replacement=False, num_samples=None, shuffle=None):
    """Rows in a random order."""
    only("RandomSampler", {"shuffle": ((None,), "a source without a sampler has shuffle")}, {"shuffle": shuffle})
    return Sampler("RandomSampler", {"replacement": replacement, "reshuffle_each_epoch": True}, num_samples)


def WeightedRandomSampler(weights, num_samples=None, replacement=True):
    """Rows by weight."""
    return Sampler("WeightedRandomSampler", {"weights": [float(w) for w in weights], "replacement": replacement}, num_samples)


def SubsetSampler(indices, num_samples=None):
    """These rows, in this order."""
    return Sampler("SubsetSampler", {"indices": [indices] if isinstance(indices, int) else list(indices)}, num_samples)


def SubsetRandomSampler(indices, num_samples=None):
    """These rows, in a random order."""
    return Sampler("SubsetRandomSampler", {"indices": list(indices)}, num_samples)


def PKSampler(num_val, num_class=None, shuffle=False, class_column="label", num_samples=None):
    """`num_val` rows of each class."""
    only("PKSampler", {"num_class": ((None,), "all classes are there; num_samples limits the rows"),
                       "class_column": (("label",), "classes are in the column label")},
         {"num_class": num_class, "class_column": class_column})
    return Sampler("PKSampler", {"num_val": num_val, "shuffle": shuffle}, num_samples)


def DistributedSampler(num_shards, shard_id, shuffle=True, num_samples=None, offset=-1):
    """The part of one of several ranks."""
    return Sampler("DistributedSampler", {"num_shards": num_shards, "shard_id": shard_id, "shuffle": shuffle, "offset": offset,
                                          "seed": 0, "even_dist": True}, num_samples)


def of(sampler, shuffle, num_samples, num_shards, shard_id):
    """What a source does with these arguments, as MindData decides it: rows are shuffled unless somebody says otherwise."""
    if sampler is not None:
        if not isinstance(sampler, Sampler):
            raise TypeError(f"sampler is {sampler!r}; one of dataset's samplers is meant")
        if shuffle is not None:
            raise RuntimeError("sampler and shuffle cannot be specified at the same time.")
        if num_shards is not None:
            raise RuntimeError("sampler and sharding cannot be specified at the same time.")
        if num_samples is not None:
            raise RuntimeError("sampler and num_samples cannot be specified at the same time.")
        return sampler
    if (num_shards is None) != (shard_id is None):
        raise RuntimeError("num_shards and shard_id need to be passed in together.")
    shuffled = shuffle is None or bool(shuffle)
    if num_shards is not None:
        return DistributedSampler(num_shards, shard_id, shuffled, num_samples)
    return RandomSampler(num_samples=num_samples) if shuffled else SequentialSampler(num_samples=num_samples)
