"""DataLoader: what a PyTorch user writes today, on the engine."""

from __future__ import annotations

import multiprocessing
import os
import types
import warnings
from collections.abc import Mapping

from .._core import ArgumentError, RunError
from ._arguments import is_default_collate, one_of, refuse, usual_output
from ._device import can_pin, device_of, dtype_of, page_lock
from ._inputs import check_kind, input_of, transform_of
from ._orders import ranks, shown
from ._samples import is_stream, of_package, turns_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._graph import Dataset
    from ._types import *  # noqa: F403


# What PyTorch's DataLoader does not let change either.
_SETTLED = ("dataset", "batch_size", "sampler", "batch_sampler", "drop_last")


class DataLoader:
    """Batches of a folder or data set as PyTorch tensors: pictures by the engine's threads, all else as in PyTorch.

        train = torchvision.datasets.ImageFolder("train", transform)
        for images, labels in ridgeline.data.DataLoader(train, batch_size=128, shuffle=True, drop_last=True):
            ...

    Arguments that PyTorch's DataLoader has, too:

    dataset: a folder of class folders, Parquet files, a dataset of ridgeline.data; torchvision's ImageFolder, CIFAR10 and
        the like, Subset and ConcatDataset of them; Hugging Face's `datasets`, whose images are left encoded; any map-style
        data set, and any iterable one, with samples of any schema
    batch_size: samples of a batch; None: the dataset is batched already, or samples are delivered one by one
    shuffle: a new random order in every epoch
    sampler: torch's DistributedSampler, RandomSampler, SequentialSampler, SubsetRandomSampler or WeightedRandomSampler,
        which the engine's stand for; a sampler of ridgeline.data; or any iterable of indices, which is asked in every
        epoch. Absent: loader.sampler is PyTorch's for such an order, for trainers that look at it
    batch_sampler: any iterable of lists of indices
    num_workers: where the engine makes the batches, threads; 0: one per core. Where Python does, processes; 0: none, the
        thread that asks makes them
    collate_fn: gets the list of a batch's samples; its result is delivered
    pin_memory: tensors in pinned memory, for .to("cuda", non_blocking=True). The engine writes images into memory that is
        pinned already, so they are not copied
    drop_last: leave out a last batch that is not full
    timeout: seconds to wait for a batch; 0: for ever
    worker_init_fn: called with its number in every worker process
    multiprocessing_context: of worker processes: 'fork', 'spawn', 'forkserver' or a context; absent: Python's own choice.
        Where the engine makes the batches of a data set with __getitem__, its samples are then made by num_workers
        processes, and pictures go on in as many threads; absent: those threads ask for the samples, too
    generator: its initial_seed() is the seed
    prefetch_factor: batches that are prepared ahead, a worker; absent: 2 a process; of the engine's 8 in all, of large
        ones as many as 512 MiB hold, or 6 if memory allows
    persistent_workers: whether workers live from epoch to epoch; absent: the engine's threads do, and keep what makes
        later epochs fast, and where there are processes they do not, so that each epoch sees the data set as it then is
    pin_memory_device: PyTorch's accelerator, which pin_memory is for anyway: others are refused
    in_order: False allows batches in any order; they come in order all the same

    And of the engine:

    transform: torchvision's (v1, v2 or a Compose of them, translated) or transforms of ridgeline.data, such as Decode() for
        pixels alone; the pictures of a map-style data set's samples then go to the engine. Absent: the data set's own
    untranslatable: what happens to a transform that has no equal: 'error', or 'python': it and those after it run as a
        Python function on the finished sample, one sample at a time. Absent: 'error' for transform=; but 'python', which a
        warning says, for albumentations and for the data set's own, whose samples Python makes if all of it has no equal
    seed: of the order and of all random transforms, and of Python's, NumPy's and PyTorch's random numbers in samples.
        Absent: 0, whatever torch.manual_seed() says
    rank, world_size: this process's part of the data; distributed=True takes them from torch.distributed
    output: 'torch' or 'numpy'; absent: 'torch' where PyTorch is installed
    device: 'cuda', 'cuda:1', 'cpu' or a torch.device: where tensors are delivered, wherever in a batch they are. On a card
        they are copied by a stream of its own, two batches ahead; absent: they stay where they are made
    dtype: of pictures on the device: 'f32', 'bf16', 'f16' or PyTorch's; absent: as the transforms leave them
    normalize_on_device: whether pictures travel as bytes, and Normalize at the end of their transforms, with a
        RandomHorizontalFlip beside it, runs on the device, with the same results; absent: on a card where they end so
    memory_format: 'channels_last' ([N,C,H,W] as a view of [N,H,W,C], no copy) or 'contiguous'
    image: column, key, place or field of the picture in a sample, a tuple to go deeper, a list of these for several
    label: column, key or place of what is delivered beside one image; absent: all of a sample is
    as_list: keys or places, tuples to go deeper, whose values differ in length: delivered as a list, one a sample
    pad: {key or place: value}: arrays and lists of numbers that are filled up with the value to the longest of the batch
    thread_safe: whether several threads may ask a map-style data set for samples at a time; else they take turns
    bad_samples: 'raise', 'skip' (the batch is shorter) or 'replace' (another sample stands in)
    bad_sample_budget, quarantine: bad samples that end the run; a file that lists them
    memory_limit: bytes of prepared batches
    jpeg_index_memory: bytes for indices that make later epochs fast; -1: a sixteenth of memory; 0: none
    jpeg_index_directory: folder that keeps these indices for later runs; '': none; None: the user's cache folder
    jpeg_index_disk: bytes that all of them may take in that folder

    Every `for` over the loader is the next epoch; one that was left early counts. Pictures come as f32 or u8 [N,C,H,W],
    all else as PyTorch's default_collate makes it, checked by the first sample. What a batch would not hold exactly is an
    error that names sample, key and type. `len(loader)` is the batches of an epoch. A last batch that is not full is
    shorter.
    """

    def __init__(self, dataset: Any, batch_size: int | None = 1, shuffle: bool | None = None, sampler: Any = None,
                 batch_sampler: Iterable[Sequence[int]] | None = None, num_workers: int = 0,
                 collate_fn: Callable[[list[Any]], Any] | None = None, pin_memory: bool = False, drop_last: bool = False,
                 timeout: float = 0, worker_init_fn: Callable[[int], Any] | None = None,
                 multiprocessing_context: Any = None, generator: Any = None, *, prefetch_factor: int | None = None,
                 persistent_workers: bool | None = None, pin_memory_device: str = '', in_order: bool = True,
                 transform: Any = None,
                 untranslatable: Literal['error', 'python'] | None = None, seed: int | None = None,
                 rank: int | None = None, world_size: int | None = None, distributed: bool = False,
                 output: Literal['torch', 'numpy'] | None = None, device: Any = None, dtype: Any = None,
                 normalize_on_device: bool | None = None,
                 memory_format: Literal['channels_last', 'contiguous'] = 'channels_last',
                 image: str | int | tuple[Any, ...] | list[Any] | None = None, label: str | int | None = None,
                 as_list: Sequence[str | int | tuple[Any, ...]] = (),
                 pad: Mapping[Any, Any] | None = None,
                 thread_safe: bool = False, bad_samples: Literal['raise', 'skip', 'replace'] = 'raise',
                 bad_sample_budget: int = 1000, quarantine: str | os.PathLike[str] = '', memory_limit: int = 0,
                 jpeg_index_memory: int = -1, jpeg_index_directory: str | os.PathLike[str] | None = None,
                 jpeg_index_disk: int = 4 << 30) -> None:
        self._given = {name: value for name, value in locals().items() if name != "self"}  # for pickle
        from ._collate import Options
        from ._joint import InPython, prepared
        from ._own_transform import NotOnePicture, say, settled
        from ._pictures import Pictures
        from ._sample_processes import RowProcesses
        from ._steps import flatten, steered_by_boxes
        from ._tail import End
        from ._works import Bad, Order, Workers, by_engine, by_engine_of_stream, by_python

        output = usual_output() if output is None else output
        one_of("output", output, ("torch", "numpy"))
        one_of("memory_format", memory_format, ("channels_last", "contiguous"))
        one_of("bad_samples", bad_samples, ("raise", "skip", "replace"))
        check_kind(dataset, sampler is not None or batch_sampler is not None)
        if num_workers < 0:
            raise ArgumentError(f"num_workers is {num_workers}, it must be 0 or more")
        if timeout < 0:
            raise ArgumentError(f"timeout is {timeout}, it must be 0 or more seconds")
        if output == "numpy" and pin_memory:
            raise ArgumentError("pin_memory is for output='torch'")
        if pin_memory_device and pin_memory_device.partition(":")[0] != "cuda":
            raise ArgumentError(f"pin_memory_device is {pin_memory_device!r} (allowed: '', 'cuda')")
        if generator is not None:
            if seed is not None:
                raise ArgumentError("give one of seed and generator")
            seed = generator.initial_seed()
            self._given.update(seed=seed, generator=None)
        if isinstance(multiprocessing_context, str):
            one_of("multiprocessing_context", multiprocessing_context, multiprocessing.get_all_start_methods())
        if prefetch_factor is not None and prefetch_factor < 1:
            raise ArgumentError(f"prefetch_factor is {prefetch_factor}, it must be at least 1")
        self.dataset = dataset
        self.batch_size = None if batch_sampler is not None else batch_size
        self.drop_last = drop_last
        self.sampler, self.batch_sampler = sampler, batch_sampler
        self.num_workers, self.prefetch_factor, self.timeout = num_workers, prefetch_factor, timeout
        self.worker_init_fn, self.multiprocessing_context = worker_init_fn, multiprocessing_context
        self.generator, self.pin_memory_device, self.in_order = generator, pin_memory_device, in_order
        self.collate_fn = None if is_default_collate(collate_fn) else collate_fn
        self.device = device_of(device)
        if self.device is not None and output == "numpy":
            raise ArgumentError("device is for output='torch'")
        dtype = dtype_of(dtype, self.device)
        on_card = self.device is not None and self.device.type == "cuda"
        self.pin_memory = on_card or pin_memory and can_pin()
        self._lane = None  # to the device
        self._followed = None  # the sampler whose set_epoch counts, and the epoch that was seen last
        self._brought = None  # the steps of the data set's own transform that the engine has taken over

        options = Options(output == "torch", as_list, pad, self.collate_fn is None)
        dataset, transform = prepared(dataset, transform, image, untranslatable)
        if isinstance(dataset, InPython):  # the transform is the data set's from here on
            image, untranslatable = None, None
        processes = None if multiprocessing_context is None else \
            RowProcesses(num_workers, multiprocessing_context, worker_init_fn, options.torch)
        source = input_of(dataset, image, label, thread_safe, transform is not None, options,
                          steered_by_boxes(transform), processes)
        self.classes: list[Any] | None = None if source is None else source.classes
        if batch_size is None and batch_sampler is None and transform is None and image is None and \
                any(of_package(dataset, package) for package in ("torch", "torchvision", "timm")):
            source = None  # its samples one by one are Python's
        order = Order(sampler, batch_sampler, shuffle, batch_size, drop_last, *ranks(rank, world_size, distributed))
        if sampler is None and batch_sampler is None and order.world_size == 1 and output == "torch":
            self.sampler = shown(self.dataset, shuffle)
        streams = source is None and is_stream(dataset) and (transform is not None or image is not None)
        asked = untranslatable  # by the user
        if source is not None or streams:
            own, channels = (None, 3) if source is None else (source.transform, source.channels)
            untranslatable, in_engine = settled(own, transform, channels, asked)
            source = source if in_engine else None
            if source is not None and own is not None:
                self._brought = list(flatten(own))

        def of_python():
            given = dict(label=label, memory_limit=memory_limit or None, untranslatable=asked, dtype=dtype,
                         normalize_on_device=normalize_on_device or None)
            workers = Workers(num_workers, prefetch_factor, multiprocessing_context, worker_init_fn, timeout)
            bad = Bad(bad_samples, bad_sample_budget, quarantine)
            return by_python(dataset, order, options, self.collate_fn, turns_of(dataset, thread_safe), given, workers, seed,
                             bad)

        self._processes = None  # that make the samples of which the engine makes batches
        if source is None and not streams:
            self._work, self._followed = of_python()
        else:
            if source is not None and processes is not None and processes.used:
                if num_workers == 0:
                    refuse("multiprocessing_context", multiprocessing_context,
                           "with num_workers=0 there are no worker processes")
                self._processes = processes
            for name, value in (("worker_init_fn", worker_init_fn), ("multiprocessing_context", multiprocessing_context)):
                if value is not None and self._processes is None:
                    warnings.warn(f"{name} has no effect: workers are threads of the engine, not processes, and draw by "
                                  "seed, epoch and sample", stacklevel=2)
            slots = 0 if prefetch_factor is None else \
                prefetch_factor * (num_workers or len(os.sched_getaffinity(0))) + 1
            run = dict(epochs=-1, workers=num_workers, slots=slots, memory_limit=memory_limit,
                       bad_samples=bad_samples, bad_sample_budget=bad_sample_budget, quarantine=quarantine,
                       jpeg_index_memory=jpeg_index_memory, jpeg_index_directory=jpeg_index_directory,
                       jpeg_index_disk=jpeg_index_disk, seed=seed,
                       page_lock=page_lock(self.device if on_card else None) if self.pin_memory else None)
            of_pictures = transform, untranslatable, memory_format, End(self.device, dtype, normalize_on_device)
            if streams:
                self._work = by_engine_of_stream(dataset, order, options, self.collate_fn, image, label, of_pictures, seed,
                                                 run)
            else:
                pictures = Pictures(source, *of_pictures, options, self.collate_fn)
                try:
                    self._work, self._followed = by_engine(source, order, pictures, transform, seed, run)
                except NotOnePicture as error:
                    if asked is not None or transform is not None:
                        raise
                    say(error, "the data set's transform runs in Python")
                    source, self._brought, self._processes = None, None, None
                    self._work, self._followed = of_python()
        self.persistent_workers = source is not None and self._processes is None if persistent_workers is None else \
            persistent_workers
        self._open = False
        self._process = os.getpid()  # whose the run is
        self._state: State | None = None  # after the last batch that was delivered
        self._loaded = False  # the state was set from outside and has not been gone on from
        self._pass = 0
        self._size: int | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _SETTLED and "_pass" in self.__dict__:
            raise ArgumentError(f"{name} is settled when a DataLoader is made: make another one")
        super().__setattr__(name, value)

    # ---- iteration

    def __bool__(self) -> bool:
        return True

    def __class_getitem__(cls: Any, item: Any) -> Any:
        """DataLoader[...] in annotations, as PyTorch's."""
        return types.GenericAlias(cls, item)

    def __len__(self) -> int:
        if self._size is None:
            self._size = len(self._work)
        return self._size

    @property
    def graph(self) -> Dataset | None:
        """The engine's graph: of the pictures, or of indices alone where Python makes the batches. None where a sampler or
        data set of the user's own has the order."""
        return self._work.graph

    def __iter__(self) -> Generator[Any, None, None]:
        self._pass += 1
        mine = self._pass
        if self.drop_last and self.graph is not None and len(self) == 0:
            warnings.warn("an epoch has no batch: its samples are fewer than batch_size, and drop_last leaves them out")
            return
        self._begin()
        batches = self._batches()
        try:
            for value, state, last in batches:
                self._state = state
                self._loaded = False
                if last and not self.persistent_workers:
                    self.close()
                    self._open = True
                yield value if self.device is not None else self._pinned(value)
                del value
                if mine != self._pass:
                    raise RuntimeError("another iteration over this DataLoader has begun: it goes on, this one cannot")
                if not self._open:
                    raise RuntimeError("this DataLoader was closed in the middle of an epoch: begin another `for`")
            state = self._state
            if mine == self._pass and state and state["delivered"] and state.get("order"):
                self._state = {**state, "epoch": state["epoch"] + 1, "delivered": 0}  # a stream that is at its end
                self._loaded = False
        except RunError:
            if mine == self._pass and self._processes is not None and self._processes.lost:
                self.close()
            raise
        finally:
            if self.device is not None:
                batches.close()  # waits for the copies that are under way
            if mine == self._pass and not self.persistent_workers and self._open:
                self.close()

    def _batches(self):
        batches = self._work.batches(self._state, self.timeout)
        if self.device is None:
            return batches
        from ._ahead import ahead, lane_of

        self._lane = self._lane or lane_of(self.device)
        return ahead(batches, self._lane, self._pinned)

    def _begin(self):
        """Brings the work to where the next epoch, or the rest of a restored one, begins."""
        if self._brought is not None:
            from ._steps import flatten

            now = list(flatten(transform_of(self.dataset)))
            if len(now) != len(self._brought) or any(a is not b for a, b in zip(now, self._brought)):
                raise ArgumentError("the data set has got another transform since this DataLoader was made of it: make "
                                    "another DataLoader")
        if self._followed and self._followed[0].epoch != self._followed[1]:
            self._followed[1] = self._followed[0].epoch
            self.set_epoch(self._followed[1])
        state = self._state
        if state is not None and state["delivered"] > 0 and not self._loaded:  # the last pass was left early
            state = {**state, "epoch": state["epoch"] + 1, "delivered": 0}
        self._go_to(state)
        self._open = True

    def _go_to(self, state: State | None) -> State:
        if os.getpid() != self._process:  # of a fork: threads, processes and sockets are the other one's
            self._process = os.getpid()
            self._work.forget()
            if self._processes is not None:
                self._processes.forget()
        if self._processes is not None:
            known = {"seed": self._given["seed"] or 0, "epoch": 0, **(state or {})}
            seed, epoch = known["seed"], known["epoch"]
            if not self.persistent_workers and self._processes.epoch not in (None, epoch):
                self.close()
            self._processes.begin(seed, epoch)
        now: State = self._work.go_to(state)
        self._state = now
        return now

    def set_epoch(self, epoch: int) -> None:
        """The epoch that the next `for` runs: of the order and of all random draws. A restored position in the middle
        of that epoch stays."""
        state = self._position()
        if state["epoch"] == epoch and (self._loaded or state["delivered"] == 0):
            return
        self._state = {**state, "epoch": epoch, "delivered": 0}
        self._loaded = True

    def _position(self) -> State:
        return self._go_to(None) if self._state is None else self._state

    # ---- state

    def state_dict(self) -> State:
        """Where the consumer stands, after the batches that it got; small, and good for JSON."""
        return dict(self._position())

    def load_state_dict(self, state: State) -> None:
        """Goes on from a state, in the middle of an epoch, too: with any number of workers, and with any number of
        ranks whose batches together are as large. An Error if it belongs to another graph or other data."""
        if not isinstance(state, Mapping):
            raise ArgumentError(f"a state is the dict that state_dict() gives, not {type(state).__name__}")
        self._pass += 1
        self._go_to(dict(state))
        self._loaded = True

    def _pinned(self, value):
        if not self.pin_memory:
            return value
        from ._values import pinned

        return pinned(value)

    def __reduce__(self) -> Any:
        """Another loader of the same arguments, at the same place."""
        return _again, (type(self), self._given, self._state, self._loaded)

    # ---- the run

    def stats(self) -> dict[str, Any]:
        """Where the time of the run went; empty before it has begun, and where Python makes the batches."""
        return self._work.stats()

    def bad_samples(self) -> int:
        """Bad samples met so far."""
        return self._work.bad_samples()

    def close(self) -> None:
        """Ends threads and processes; batches stay valid, and the next `for` starts new ones."""
        self._open = False
        self._work.close()
        if self._processes is not None:
            self._processes.close()

    def __enter__(self) -> DataLoader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _again(kind, given, state, loaded):
    loader = kind.__new__(kind)
    DataLoader.__init__(loader, **given)
    loader._state, loader._loaded = state, loaded
    return loader
