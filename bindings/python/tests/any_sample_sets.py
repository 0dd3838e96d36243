"""Data sets of the shapes that people have, for test_any_sample.py: name, data set, arguments of both loaders."""

import collections
import collections.abc
import enum
import typing

import numpy as np

from loader_support import torch, torchvision, v1, v2

Pair = collections.namedtuple("Pair", "image label")


class Item(typing.NamedTuple):
    tokens: torch.Tensor
    length: int
    name: str


class Kind(enum.IntEnum):
    CAT = 0
    DOG = 1


class Rows(torch.utils.data.Dataset):
    """`count` samples that a function makes of their index."""

    def __init__(self, make, count=11):
        self.make, self.count = make, count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if not 0 <= index < self.count:
            raise IndexError(index)
        return self.make(index)


class Stream(torch.utils.data.IterableDataset):
    """As many samples as `counts` says, shared out by get_worker_info() if it is to be."""

    def __init__(self, make, count=11, shared=True):
        self.make, self.count, self.shared = make, count, shared

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        first, step = (info.id, info.num_workers) if info is not None and self.shared else (0, 1)
        for i in range(first, self.count, step):
            yield self.make(i)


class Frozen(collections.abc.Mapping):
    """A mapping that cannot be changed."""

    def __init__(self, values):
        self._values = dict(values)

    def __getitem__(self, key):
        return self._values[key]

    def __iter__(self):
        return iter(self._values)

    def __len__(self):
        return len(self._values)


def rng(i):
    return np.random.default_rng(i)


def array(i, *shape, dtype=np.float32):
    return (rng(i).random(shape) * 100).astype(dtype)


def tensor(i, *shape, dtype=torch.float32):
    return (torch.from_numpy(rng(i).random(shape)) * 100).to(dtype)


def fake(**options):
    return torchvision.datasets.FakeData(9, (3, 12, 10), 4, **options)


class CelebALike(torchvision.datasets.VisionDataset):
    """Several targets, of which some are asked for."""

    def __init__(self, target_type, transform):
        super().__init__("/", transform=transform)
        self.target_type = target_type

    def __len__(self):
        return 9

    def __getitem__(self, i):
        image = v1.functional.to_pil_image(array(i, 8, 9, 3, dtype=np.uint8))
        targets = {"attr": tensor(i, 40, dtype=torch.int64), "identity": torch.tensor(i), "bbox": tensor(i, 4)}
        target = tuple(targets[name] for name in self.target_type)
        return self.transform(image), target if len(target) > 1 else target[0]


class VocLike(torchvision.datasets.VisionDataset):
    """A picture and a mask, transformed together."""

    def __init__(self, transforms):
        super().__init__("/", transforms=transforms)

    def __len__(self):
        return 6

    def __getitem__(self, i):
        image = v1.functional.to_pil_image(array(i, 8, 9, 3, dtype=np.uint8))
        mask = v1.functional.to_pil_image(array(i, 8, 9, dtype=np.uint8))
        return self.transforms(image, mask)


def segmentation(image, mask):
    return v1.functional.to_tensor(image), torch.from_numpy(np.array(mask, np.int64))


class Fetched(Rows):
    """Fetches a batch at a time."""

    def __getitems__(self, indices):
        return [self.make(i) for i in indices]


class Lengths:
    """Batches of samples of one length."""

    def __iter__(self):
        yield from ([i for i in range(12) if i % 3 == length] for length in range(3))

    def __len__(self):
        return 3


class Repeated:
    """Every sample three times, as repeated augmentation has them."""

    def __iter__(self):
        return iter([i for i in range(0, 11, 2) for _ in range(3)])

    def __len__(self):
        return 18


def detection(i):
    count = i % 4
    return tensor(i, 3, 6, 7), {"boxes": tensor(i, count, 4), "labels": tensor(i, count, dtype=torch.int64), "image_id": i}


def separate(samples):
    return tuple(zip(*samples))


def padded(samples):
    tokens = torch.nn.utils.rnn.pad_sequence([torch.tensor(s["tokens"]) for s in samples], batch_first=True)
    return {"tokens": tokens, "label": torch.tensor([s["label"] for s in samples])}


def sets():
    """[(name, data set, options)]"""
    td = torch.utils.data
    float_image = v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])
    few = {"batch_size": 4}
    made = [
        # pairs
        ("pictures as tensors and classes", Rows(lambda i: (tensor(i, 3, 8, 8), i % 3))),
        ("float targets", Rows(lambda i: (tensor(i, 3, 8, 8), i / 7))),
        ("targets f32 of NumPy", Rows(lambda i: (array(i, 5), np.float32(i / 7)))),
        ("targets i32 of NumPy", Rows(lambda i: (array(i, 5), np.int32(i)))),
        ("targets u8 and bool of NumPy", Rows(lambda i: (np.uint8(i), np.bool_(i % 2)))),
        ("bools", Rows(lambda i: (array(i, 2), i % 2 == 0))),
        ("several labels as 0 and 1", Rows(lambda i: (tensor(i, 3, 4, 4), torch.tensor([i % 2, 1, 0])))),
        ("soft labels", Rows(lambda i: (array(i, 4, 4, 3, dtype=np.uint8), array(i, 10)))),
        ("texts and classes", Rows(lambda i: (f"review {i}", i % 2))),
        ("classes and texts", Rows(lambda i: (i % 2, f"review {i}" * i))),
        ("encoded pictures as bytes", Rows(lambda i: (b"\xff\xd8" + bytes(i), i))),
        ("paths and labels", Rows(lambda i: (f"/photos/{i}.jpg", i))),
        ("pixels u8 as they lie", Rows(lambda i: (array(i, 6, 5, 3, dtype=np.uint8), i))),
        # single values
        ("single tensors", Rows(lambda i: tensor(i, 3, 4))),
        ("single numbers", Rows(lambda i: i)),
        ("single floats", Rows(lambda i: i / 3)),
        ("single texts", Rows(lambda i: "x" * i)),
        ("a list of numbers as the data set", list(range(11))),
        ("a list of pairs as the data set", [(np.float64(i), "abc"[i % 3]) for i in range(11)]),
        ("an array as the data set", np.arange(44, dtype=np.int16).reshape(11, 4)),
        ("a tensor as the data set", torch.arange(44).reshape(11, 4)),
        # PyTorch's own
        ("TensorDataset", td.TensorDataset(torch.randn(11, 3), torch.arange(11), torch.rand(11) > 0.5)),
        ("Subset", td.Subset(td.TensorDataset(torch.randn(11, 3), torch.arange(11)), [4, 2, 2, 9])),
        ("ConcatDataset", td.ConcatDataset([Rows(lambda i: (i, str(i))), Rows(lambda i: (-i, "b"), 3)])),
        ("StackDataset", td.StackDataset(x=Rows(lambda i: i), y=Rows(lambda i: tensor(i, 2)))),
        ("ChainDataset", td.ChainDataset([Stream(lambda i: i, 5, False), Stream(lambda i: -i, 4, False)])),
        # dicts
        ("a dict of arrays", Rows(lambda i: {"x": array(i, 3), "y": np.int64(i), "z": array(i, 2, 2, dtype=np.float16)})),
        ("a dict in a dict", Rows(lambda i: {"in": {"ids": tensor(i, 5, dtype=torch.int64), "mask": [1, 0]}, "y": i})),
        ("a dict of tuples", Rows(lambda i: {"pair": (i, f"{i}"), "list": [i / 2, tensor(i, 1)]})),
        ("an OrderedDict", Rows(lambda i: collections.OrderedDict(b=i, a=str(i)))),
        ("a defaultdict", Rows(lambda i: collections.defaultdict(int, {"b": i, 3: i / 2}))),
        ("a mapping that cannot change", Rows(lambda i: Frozen({"x": i, "t": tensor(i, 2)}))),
        ("keys that are no texts", Rows(lambda i: {0: i, (1, 2): i / 2, None: "x"})),
        ("an empty dict beside a label", Rows(lambda i: ({}, i))),
        # tuples and named tuples
        ("three views and a label", Rows(lambda i: (tensor(i, 3, 4, 4), tensor(i + 1, 3, 4, 4), tensor(i, 3, 2, 2), i))),
        ("a named tuple", Rows(lambda i: Pair(tensor(i, 3, 4, 4), i))),
        ("a typed named tuple with a text", Rows(lambda i: Item(tensor(i, 5, dtype=torch.int32), i, f"n{i}"))),
        ("tuples in tuples", Rows(lambda i: ((tensor(i, 2), (i, i / 2)), [str(i), b"b"]))),
        ("lists of equal length", Rows(lambda i: [i, i + 1, i + 2])),
        ("an empty tuple", Rows(lambda i: ((), i))),
        # types
        ("bf16 and f16 tensors", Rows(lambda i: (tensor(i, 3, dtype=torch.bfloat16), tensor(i, 3, dtype=torch.float16)))),
        ("complex numbers", Rows(lambda i: (tensor(i, 3).to(torch.complex64), array(i, 2).astype(np.complex128)))),
        ("small and unsigned whole numbers", Rows(lambda i: tuple(array(i, 3, dtype=t) for t in (
            np.int8, np.int16, np.uint16, np.uint32, np.uint64)))),
        ("tensors that lie channels last", Rows(lambda i: tensor(i, 2, 3, 4, 5).to(memory_format=torch.channels_last))),
        ("views with gaps", Rows(lambda i: (tensor(i, 4, 6)[:, ::2], array(i, 6, 4)[::-1].copy().T))),
        ("arrays without rows", Rows(lambda i: (np.zeros((0, 4), np.float32), torch.zeros(2, 0)))),
        ("arrays of rank 0", Rows(lambda i: (np.array(i), torch.tensor(i / 2), np.array(True)))),
        ("an enumeration", Rows(lambda i: (Kind(i % 2), i))),
        ("not a number and infinity", Rows(lambda i: (float("nan"), float("inf"), np.float32("-inf")))),
        ("great whole numbers", Rows(lambda i: (2 ** 62 + i, -2 ** 63))),
        # torchvision
        ("FakeData", fake(transform=v1.ToTensor())),
        ("FakeData with float targets", fake(transform=v1.ToTensor(), target_transform=lambda y: y / 3)),
        ("FakeData as v2 images", fake(transform=float_image)),
        ("several targets", CelebALike(["attr", "identity", "bbox"], v1.ToTensor())),
        ("one of several targets", CelebALike(["bbox"], v1.ToTensor())),
        ("a picture and its mask", VocLike(segmentation)),
        ("bounding boxes of tv_tensors", Rows(lambda i: {"image": torchvision.tv_tensors.Image(tensor(i, 3, 4, 4)),
                                                         "boxes": torchvision.tv_tensors.BoundingBoxes(
                                                             tensor(i, 2, 4), format="XYXY", canvas_size=(4, 4))})),
        # collate functions
        ("detection, samples apart", Rows(detection), {"collate_fn": separate}),
        ("token lists that collate_fn pads", Rows(lambda i: {"tokens": list(range(i + 1)), "label": i}),
         {"collate_fn": padded}),
        ("samples of any kind", Rows(lambda i: (None, {i}, object, 3 + 4j)), {"collate_fn": list}),
        # orders
        ("a sampler of one's own", Rows(lambda i: (i, tensor(i, 2))), {"sampler": Repeated()}),
        ("a list of indices as the sampler", Rows(lambda i: i), {"sampler": [3, 3, 9, 0, 1]}),
        ("batches by length", Rows(lambda i: tensor(i, i % 3 + 1, 2), 12), {"batch_sampler": Lengths(), "batch_size": 1}),
        ("BatchSampler of PyTorch", Rows(lambda i: i), {"batch_sampler": td.BatchSampler(range(11), 3, True),
                                                        "batch_size": 1}),
        ("keys as indices", {"a": 1, "b": 2, "c": 3}, {"sampler": ["c", "a", "b"], "batch_size": 2}),
        ("a batch at a time", Fetched(lambda i: (i, str(i)))),
        ("the last batch left out", Rows(lambda i: i), {"drop_last": True}),
        ("samples alone", Rows(lambda i: {"x": array(i, 3), "y": (i, "a")}), {"batch_size": None}),
        # streams
        ("a stream", Stream(lambda i: (tensor(i, 3), i))),
        ("a stream that is not shared out", Stream(lambda i: {"x": i}, 7, False)),
        ("a stream without its last batch", Stream(lambda i: i, 13), {"drop_last": True}),
        ("a stream, samples alone", Stream(lambda i: (i, array(i, 2))), {"batch_size": None}),
        ("a stream that ends with full batches", Stream(lambda i: i, 16)),
        ("a stream that is shorter than the workers", Stream(lambda i: i, 1)),
    ]
    return [(name, data, {**few, **(rest[0] if rest else {})}) for name, data, *rest in made]
