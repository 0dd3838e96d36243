"""DataLoader: what a PyTorch user writes today, on the engine."""

from __future__ import annotations

import os
import warnings

from .._core import ArgumentError, Tokens, make_transform
from ._callables import Function
from ._inputs import input_of
from ._names import NUMPY
from ._run import Iterator, replay
from ._torchvision import translate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import *  # noqa: F403


class DataLoader:
    """Batches of a folder or data set as PyTorch tensors, by threads instead of processes.

        train = torchvision.datasets.ImageFolder("train", transform)
        for images, labels in ridgeline.data.DataLoader(train, batch_size=128, shuffle=True, drop_last=True):
            ...

    Arguments that PyTorch's DataLoader has, too:

    dataset: a folder of class folders; a dataset of ridgeline.data; torchvision's ImageFolder, CIFAR10 and the like,
        Subset and ConcatDataset of them; any map-style data set whose samples are (image, label) or dicts, the image as
        bytes, a path, a PIL image or pixels u8; Hugging Face's `datasets`, whose images are left encoded
    batch_size: samples of a batch; None: the dataset is batched already
    shuffle: a new random order in every epoch
    sampler: torch's DistributedSampler, RandomSampler, SequentialSampler, SubsetRandomSampler or WeightedRandomSampler,
        or a sampler of ridgeline.data
    num_workers: threads; 0: one per core
    collate_fn: gets the list of a batch's (image, label) tensors; its result is delivered
    pin_memory: images and labels in pinned memory, for .to("cuda", non_blocking=True). The engine writes images into
        memory that is pinned already, so they are not copied
    drop_last: leave out a last batch that is not full
    timeout: seconds to wait for a batch; 0: for ever
    generator: its initial_seed() is the seed
    prefetch_factor: batches that are prepared ahead, a worker; absent: 8 in all, of large ones as many as 512 MiB hold, or 6 if memory allows
    persistent_workers: False ends the threads after every epoch. What makes later epochs fast is lost then.

    And of the engine:

    transform: torchvision's (v1, v2 or a Compose of them, translated) or transforms of ridgeline.data; absent: the data
        set's own
    untranslatable: what happens to a transform that has no equal: 'error', or 'python': it and those after it run as a
        Python function on the finished sample, one sample at a time
    seed: of the order and of all random transforms
    rank, world_size: this process's part of the data; distributed=True takes them from torch.distributed
    output: 'torch' or 'numpy'
    memory_format: 'channels_last' ([N,C,H,W] as a view of [N,H,W,C], no copy) or 'contiguous'
    image, label: columns, keys of samples that are dicts, or places in samples that are tuples
    thread_safe: whether several threads may ask a map-style data set for samples at a time; else they take turns
    bad_samples: 'raise', 'skip' (the batch is shorter) or 'replace' (another sample stands in)
    bad_sample_budget, quarantine: bad samples that end the run; a file that lists them
    memory_limit: bytes of prepared batches
    jpeg_index_memory: bytes for indices that make later epochs fast; -1: a sixteenth of memory; 0: none
    jpeg_index_directory: folder that keeps these indices for later runs; '': none; None: the user's cache folder
    jpeg_index_disk: bytes that all of them may take in that folder

    Every `for` over the loader is the next epoch; one that was left early counts. Images come as f32 or u8 [N,C,H,W],
    whole labels as int64 [N], others as the data set gives them (a Python float as f32; arrays and tensors by their
    type and shape). What a column would not hold exactly is an error that names the sample. `len(loader)` is the
    batches of an epoch. A last batch that is not full is shorter.
    """

    def __init__(self, dataset: Any, batch_size: int | None = 1, shuffle: bool | None = None, sampler: Any = None,
                 batch_sampler: None = None, num_workers: int = 0, collate_fn: Callable[[list], Any] | None = None,
                 pin_memory: bool = False, drop_last: bool = False, timeout: float = 0, worker_init_fn: None = None,
                 multiprocessing_context: None = None, generator: Any = None, *, prefetch_factor: int | None = None,
                 persistent_workers: bool = True, transform: Any = None,
                 untranslatable: Literal['error', 'python'] = 'error', seed: int | None = None, rank: int | None = None,
                 world_size: int | None = None, distributed: bool = False, output: Literal['torch', 'numpy'] = 'torch',
                 memory_format: Literal['channels_last', 'contiguous'] = 'channels_last', image: str | int | None = None,
                 label: str | int | None = None, thread_safe: bool = False, bad_samples: Literal['raise', 'skip', 'replace'] = 'raise',
                 bad_sample_budget: int = 1000, quarantine: str | os.PathLike = '', memory_limit: int = 0,
                 jpeg_index_memory: int = -1, jpeg_index_directory: str | os.PathLike | None = None,
                 jpeg_index_disk: int = 4 << 30) -> None:
        _refuse("batch_sampler", batch_sampler, "batches are the engine's: see Dataset.bucket for batches by length")
        _refuse("worker_init_fn", worker_init_fn, "workers are threads of the engine, not processes")
        _refuse("multiprocessing_context", multiprocessing_context, "workers are threads of the engine, not processes")
        _one_of("output", output, ("torch", "numpy"))
        _one_of("memory_format", memory_format, ("channels_last", "contiguous"))
        if timeout < 0:
            raise ArgumentError(f"timeout is {timeout}, it must be 0 or more seconds")
        if output == "numpy" and pin_memory:
            raise ArgumentError("pin_memory is for output='torch'")
        if generator is not None:
            if seed is not None:
                raise ArgumentError("give one of seed and generator")
            seed = generator.initial_seed()
        self.dataset = dataset
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.collate_fn = None if _is_default_collate(collate_fn) else collate_fn
        self.pin_memory = pin_memory and _can_pin()
        self._timeout = timeout
        self._output = output
        self._persistent = persistent_workers

        source = input_of(dataset, image, label, thread_safe)
        self.classes = source.classes
        self._columns, self._form, self._keys = source.columns, source.form, source.keys
        self._channels_first = memory_format == "channels_last"
        self._followed = None  # the sampler whose set_epoch counts, and the epoch that was seen last
        if batch_size is None:
            self.graph = _batched(source.dataset, transform, shuffle, sampler, drop_last)
        else:
            rank, world_size = _ranks(rank, world_size, distributed)
            ordered, followed = _ordered(source.dataset, shuffle, sampler, rank, world_size)
            self._followed = followed and [followed, followed.epoch]
            graph = self._transformed(ordered, source, transform, untranslatable, memory_format)
            self.graph = graph.batch(batch_size, drop_remainder=drop_last)
        # The seed of a state counts unless one is given here.
        self.graph = self.graph if seed is None else self.graph.with_seed(seed)
        slots = 0
        if prefetch_factor is not None:
            if prefetch_factor < 1:
                raise ArgumentError(f"prefetch_factor is {prefetch_factor}, it must be at least 1")
            slots = prefetch_factor * (num_workers or len(os.sched_getaffinity(0))) + 1
        self._options = dict(epochs=-1, workers=num_workers, slots=slots, memory_limit=memory_limit,
                             bad_samples=bad_samples, bad_sample_budget=bad_sample_budget, quarantine=quarantine,
                             jpeg_index_memory=jpeg_index_memory, jpeg_index_directory=jpeg_index_directory,
                             jpeg_index_disk=jpeg_index_disk, seed=seed,
                             page_lock=_page_lock() if self.pin_memory else None)
        self._iterator = None
        self._state = None  # after the last batch that was delivered
        self._loaded = False  # the state was set from outside and has not been gone on from
        self._pass = 0
        self._size = None

    def _transformed(self, dataset, source, transform, untranslatable, memory_format):
        if transform is not None and source.transform is not None:
            raise ArgumentError("the data set has a transform of its own: leave out transform=, or take it off")
        image = self._columns[0]
        chosen = source.transform if transform is None else transform
        translation = translate(chosen, source.channels, untranslatable)
        made = list(translation.transforms)
        cast = [made.pop()] if made and made[-1].op == "type_cast" and not translation.python else []
        if made:
            dataset = dataset.map_columns([image], *made)
        if _type_of(dataset, image) == "bytes":  # nothing has asked for pixels yet
            dataset = dataset.map_columns([image], make_transform("decode", {}, [], Tokens()))
        if translation.python:
            result = translation.call_python(replay(dataset, 0, 0)[image])  # its type and shape are those of all
            name = "torchvision." + "_".join(type(t).__name__ for t in translation.python)
            if str(result.dtype) not in _TYPES:
                raise ArgumentError(f"{name} gives {result.dtype} (allowed: {', '.join(_TYPES)})")
            run = Function(translation.call_python, _TYPES[str(result.dtype)], result.shape, name)
            dataset = dataset.map_columns([image], run)
        if memory_format == "contiguous":
            dataset = dataset.map_columns([image], make_transform("hwc_to_chw", {}, [], Tokens()))
        return dataset.map_columns([image], *cast) if cast else dataset

    # ---- iteration

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        if self._size is None:
            self._size = len(self.graph)
        return self._size

    def __iter__(self) -> Generator[Any, None, None]:
        self._pass += 1
        mine = self._pass
        self._begin()
        while True:
            if mine != self._pass:
                raise RuntimeError("another iteration over this DataLoader has begun: it goes on, this one cannot")
            if self._iterator is None:
                raise RuntimeError("this DataLoader was closed in the middle of an epoch: begin another `for`")
            batch = self._iterator.next(self._timeout)
            last = batch.last_of_epoch
            value = self._delivered(batch)  # where collate_fn raises, the batch was not delivered
            self._state = batch.state_after()
            self._loaded = False
            del batch
            if last and not self._persistent:
                self.close()
            yield value
            del value
            if last:
                return

    def _begin(self):
        """Brings the iterator to where the next epoch, or the rest of a restored one, begins."""
        if self._followed and self._followed[0].epoch != self._followed[1]:
            self._followed[1] = self._followed[0].epoch
            self.set_epoch(self._followed[1])
        state = self._state
        if state is not None and state["delivered"] > 0 and not self._loaded:  # the last pass was left early
            state = {**state, "epoch": state["epoch"] + 1, "delivered": 0}
        self._go_to(state)

    def _go_to(self, state):
        if self._iterator is None:
            self._iterator = Iterator(self.graph, start=state, **self._options)
        elif state is not None and self._iterator.state() != state:
            self._iterator.restore(state)
        self._state = self._iterator.state()

    def set_epoch(self, epoch: int) -> None:
        """The epoch that the next `for` runs: of the order and of all random draws. A restored position in the middle
        of that epoch stays."""
        state = self._position()
        if state["epoch"] == epoch and (self._loaded or state["delivered"] == 0):
            return
        self._state = {**state, "epoch": epoch, "delivered": 0}
        self._loaded = True

    def _position(self):
        if self._state is None:
            self._go_to(None)
        return self._state

    # ---- state

    def state_dict(self) -> State:
        """Where the consumer stands, after the batches that it got; small, and good for JSON."""
        return dict(self._position())

    def load_state_dict(self, state: State) -> None:
        """Goes on from a state, in the middle of an epoch, too: with any number of workers, and with any number of
        ranks whose batches together are as large. An Error if it belongs to another graph or other data."""
        self._pass += 1
        self._go_to(dict(state))
        self._loaded = True

    # ---- what is delivered

    def _delivered(self, batch):
        names = self._columns if self._form == "tuple" else [name for name in batch.keys() if name != "mask"]
        values = {self._keys.get(name, name): self._column(batch, name) for name in names}
        if self.collate_fn is not None:
            columns = list(values.values())
            samples = [tuple(column[i] for column in columns) for i in range(len(columns[0]))]
            if self._form == "dict":
                samples = [dict(zip(values, sample)) for sample in samples]
            return self.collate_fn(samples)
        return values if self._form == "dict" else list(values.values())

    def _column(self, batch, name):
        dtype = _type_of(batch, name)
        if self._output == "numpy" or dtype == "bytes":
            return batch[name]
        first = self._channels_first and name == self._columns[0] and len(batch.shape(name)) == 4
        tensor = batch.torch(name, channels_first=first)
        if dtype == "i32":
            tensor = tensor.long()  # as PyTorch's losses want labels
        return tensor.pin_memory() if self.pin_memory and not tensor.is_pinned() else tensor

    # ---- the run

    def stats(self) -> dict[str, Any]:
        """Where the time of the run went; empty before it has begun."""
        return self._iterator.stats() if self._iterator else {}

    def bad_samples(self) -> int:
        """Bad samples met so far."""
        return self._iterator.bad_samples() if self._iterator else 0

    def close(self) -> None:
        """Ends the threads; batches stay valid, and the next `for` starts new threads."""
        if self._iterator is not None:
            self._iterator.close()
            self._iterator = None

    def __enter__(self) -> DataLoader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_TYPES = {numpy: dtype for dtype, numpy in NUMPY.items() if dtype != "bf16"}


def _refuse(name, value, why):
    if value is not None:
        raise ArgumentError(f"{name} is not supported: {why}")


def _one_of(name, value, allowed):
    if value not in allowed:
        raise ArgumentError(f"{name} is {value!r} (allowed: {', '.join(map(repr, allowed))})")


def _is_default_collate(function):
    return function is None or getattr(function, "__module__", "").endswith("_utils.collate") and \
        function.__name__ == "default_collate"


def _can_pin():
    import torch

    if torch.cuda.is_available():
        return True
    warnings.warn("pin_memory=True has no effect: PyTorch finds no accelerator", stacklevel=3)
    return False


def _page_lock():
    """How PyTorch makes memory known to the accelerator; None where it has no call for it: batches are copied then."""
    import torch

    if not torch.cuda.is_available():
        return None
    runtime = torch.cuda.cudart()

    def register(address, size):
        torch.cuda.check_error(runtime.cudaHostRegister(address, size, 0))

    def unregister(address):
        torch.cuda.check_error(runtime.cudaHostUnregister(address))

    return register, unregister


def _type_of(columns, name):
    """Of a dataset or a batch."""
    return next(dtype for column, dtype, _ in columns.columns() if column == name)


def _batched(dataset, transform, shuffle, sampler, drop_last):
    given = {"transform": transform, "shuffle": shuffle, "sampler": sampler, "drop_last": drop_last or None}
    for name, value in given.items():
        if value is not None:
            raise ArgumentError(f"batch_size=None takes the batches of the dataset: {name} belongs into it")
    if not dataset._core.batched():
        raise ArgumentError("batch_size=None needs a dataset that ends in batches: call batch() on it")
    return dataset


def _ranks(rank, world_size, distributed):
    if (rank is None) != (world_size is None):
        raise ArgumentError("give rank and world_size together")
    if not distributed:
        return (0, 1) if rank is None else (rank, world_size)
    if rank is not None:
        raise ArgumentError("give distributed=True, or rank and world_size")
    import torch.distributed as dist

    if not dist.is_available() or not dist.is_initialized():
        raise ArgumentError("distributed=True needs torch.distributed.init_process_group before")
    return dist.get_rank(), dist.get_world_size()


def _seed_of(sampler):
    """Of a sampler that was given a generator of its own; None: the loader's."""
    return None if sampler.generator is None else sampler.generator.initial_seed()


def _ordered(dataset, shuffle, sampler, rank, world_size):
    """The dataset in the order that was asked for, this rank's part of it; and a sampler whose epoch is followed."""
    from .. import data

    if dataset._core.batched():
        raise ArgumentError("the dataset is batched already: give batch_size=None")
    followed = None
    if sampler is not None:
        if shuffle:
            raise ArgumentError("give one of sampler and shuffle")
        kind = type(sampler).__name__
        if isinstance(sampler, data.Sampler):
            dataset = dataset.sample(sampler)
        elif not type(sampler).__module__.startswith("torch.utils.data"):
            raise ArgumentError(f"the sampler {kind} cannot be translated: it is none of torch.utils.data's, or give "
                                "one of ridgeline.data")
        elif kind == "DistributedSampler":
            if world_size != 1:
                raise ArgumentError("give one of DistributedSampler, rank and distributed")
            followed, shuffle, rank, world_size = sampler, sampler.shuffle, sampler.rank, sampler.num_replicas
            if shuffle:
                dataset = dataset.shuffle(seed=sampler.seed)
            shuffle = False
        elif kind == "RandomSampler":
            dataset = dataset.sample(data.RandomSampler(replacement=sampler.replacement, count=sampler.num_samples,
                                                        seed=_seed_of(sampler)))
        elif kind == "SubsetRandomSampler":
            dataset = dataset.sample(data.SubsetRandomSampler(list(sampler.indices), seed=_seed_of(sampler)))
        elif kind == "WeightedRandomSampler":
            weights = [float(w) for w in sampler.weights]
            dataset = dataset.sample(data.WeightedRandomSampler(weights, replacement=sampler.replacement,
                                                                count=sampler.num_samples, seed=_seed_of(sampler)))
        elif kind != "SequentialSampler":
            raise ArgumentError(f"the sampler {kind} cannot be translated (known: DistributedSampler, RandomSampler, "
                                "SequentialSampler, SubsetRandomSampler, WeightedRandomSampler)")
    if shuffle:
        dataset = dataset.shuffle()
    if world_size != 1:
        dataset = dataset.shard(world_size, rank)
    return dataset, followed
