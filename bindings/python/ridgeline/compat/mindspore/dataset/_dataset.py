"""Datasets under MindSpore's names: each is one of `ridgeline.data`, which methods make longer."""

import json

import numpy as np

from .... import data as here
from ...._core import minddata_transforms
from .._names import only
from .._tensor import Tensor
from ..common import engine_seed, get_seed
from . import config

_MASK = "mask"
_TUNING = {"num_parallel_workers", "python_multiprocessing", "max_rowsize", "offload", "cache", "callbacks"}


def transforms_of(operations):
    """What `ridgeline.data` maps, of operations of `vision` and `transforms`, and of Python functions."""
    made, written = [], []

    def flush():
        if written:
            made.extend(minddata_transforms(json.dumps({"operations": list(written)})))
            written.clear()

    for operation in operations if isinstance(operations, (list, tuple)) else [operations]:
        if hasattr(operation, "tensor_op_name"):
            written.append({"tensor_op_name": operation.tensor_op_name, "tensor_op_params": operation.params})
            continue
        flush()
        if isinstance(operation, here.Transform):
            made.append(operation)
        elif callable(operation):
            made.append(here.Function(operation))
        else:
            raise TypeError(f"an operation of map() is one of dataset.vision or dataset.transforms, a transform of "
                            f"ridgeline.data, or a function, not {operation!r}")
    flush()
    return made


class Dataset:
    """Samples, or batches; made by the functions of `mindspore.dataset`."""

    def __init__(self, made):
        self._made = made
        self._model = None  # the Model that was trained on it

    # ---- longer ones

    def map(self, operations, input_columns=None, output_columns=None, column_order=None, num_parallel_workers=None,
            **tuning):
        """Operations of columns, one after the other."""
        for name in tuning:
            if name not in _TUNING:
                raise TypeError(f"map() has no argument '{name}' here")
        if tuning.get("cache") is not None or tuning.get("callbacks"):
            raise ValueError("map(cache=..., callbacks=...): ridgeline.data has Dataset.cache() and with_callbacks()")
        columns = [input_columns] if isinstance(input_columns, str) else list(input_columns or self.get_col_names()[:1])
        output = [output_columns] if isinstance(output_columns, str) else list(output_columns or columns)
        if len(output) != len(columns):
            raise ValueError(f"map(): {len(columns)} columns stay as many, and output_columns names {len(output)}")
        made = self._made.map_columns(columns, *transforms_of(operations))
        if output != columns:
            made = made.rename({a: b for a, b in zip(columns, output) if a != b})
        if column_order is not None:
            made = made.project(list(column_order))
        return Dataset(made)

    def batch(self, batch_size, drop_remainder=False, num_parallel_workers=None, per_batch_map=None, input_columns=None,
              output_columns=None, column_order=None, pad_info=None, **tuning):
        """Samples side by side."""
        only("batch", {name: ((None,), "ridgeline.data.Function maps samples") for name in (
            "per_batch_map", "input_columns", "output_columns", "column_order")} | {
                "pad_info": ((None, {}), "ridgeline.data.Dataset.batch(pad=True)")},
             {"per_batch_map": per_batch_map, "input_columns": input_columns, "output_columns": output_columns,
              "column_order": column_order, "pad_info": pad_info})
        return Dataset(self._made.batch(batch_size, drop_remainder=drop_remainder))

    def shuffle(self, buffer_size):
        """An order as a buffer of that many samples makes it."""
        if isinstance(buffer_size, bool) or not isinstance(buffer_size, int) or buffer_size < 2:
            raise ValueError(f"Input buffer_size is not within the required interval of [2, 2147483647]: {buffer_size!r}")
        return Dataset(self._made.shuffle(buffer=buffer_size))

    def repeat(self, count=None):
        """The samples so many times; None: for ever."""
        if count in (None, -1):
            return Dataset(self._made.repeat(-1))
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise ValueError(f"Input count is not within the required interval of [1, 2147483647], or -1: {count!r}")
        return Dataset(self._made.repeat(count)) if count != 1 else Dataset(self._made)

    def skip(self, count):
        """All but the first ones."""
        return Dataset(self._made.skip(count))

    def take(self, count=-1):
        """The first ones; -1: all."""
        return Dataset(self._made.take(count))

    def project(self, columns):
        """These columns, in this order."""
        return Dataset(self._made.project([columns] if isinstance(columns, str) else list(columns)))

    def rename(self, input_columns, output_columns):
        """Other names for columns."""
        pairs = [[x] if isinstance(x, str) else list(x) for x in (input_columns, output_columns)]
        return Dataset(self._made.rename(*pairs))

    def zip(self, datasets):
        """Columns of several side by side."""
        others = [datasets] if isinstance(datasets, Dataset) else list(datasets)
        return Dataset(here.zip([self._made, *(d._made for d in others)]))

    def concat(self, datasets):
        """The samples of one behind those of the other."""
        others = [datasets] if isinstance(datasets, Dataset) else list(datasets)
        return Dataset(here.concat([self._made, *(d._made for d in others)]))

    def __add__(self, other):
        return self.concat(other)

    def apply(self, apply_func):
        """What the function makes of it."""
        made = apply_func(self)
        if not isinstance(made, Dataset):
            raise TypeError("apply_func does not return a dataset.")
        return made

    def use_sampler(self, new_sampler):
        """Rows that a sampler chooses."""
        return Dataset(new_sampler._over(self._made))

    # ---- what is known

    def _batched(self):
        """As Models read it, with the seed of set_seed() and the workers of config."""
        made = self._made if self._made.batch_size() > 1 or self._is_batched() else self._made.batch(1)
        seed = config.get_seed() if config.get_seed() is not None else get_seed()
        if seed is not None and made.seed == 0:
            made = made.with_seed(engine_seed(seed))
        return made.with_hints(workers=config._workers()) if config._workers() else made

    def _is_batched(self):
        return any(name == _MASK for name, _, _ in self._made.columns())

    def get_dataset_size(self):
        """Batches of an epoch, samples before batch()."""
        return len(self._made)

    def get_batch_size(self):
        return self._made.batch_size()

    def get_repeat_count(self):
        return self._made.repeat_count()

    def num_classes(self):
        return self._made.num_classes()

    def get_class_indexing(self):
        return self._made.class_indexing()

    def _columns(self):
        return [(n, d, s) for n, d, s in self._made.columns() if n != _MASK]

    def get_col_names(self):
        """The names of the columns."""
        return [name for name, _, _ in self._columns()]

    def output_shapes(self):
        """[extents] by column; -1 where samples differ."""
        return [list(shape) for _, _, shape in self._columns()]

    def output_types(self):
        """NumPy's types by column."""
        return [np.dtype(_NUMPY.get(dtype, "S")) for _, dtype, _ in self._columns()]

    def to_json(self, filename=""):
        """The tree as MindData serialises it; also into a file."""
        tree = self._made.to_minddata_json(2)
        if filename:
            with open(filename, "w", encoding="utf-8") as file:
                file.write(tree)
        return json.loads(tree)

    # ---- one by one

    def create_dict_iterator(self, num_epochs=-1, output_numpy=False, do_copy=True):
        """{column: Tensor} by batch or sample; each `for` over it is an epoch."""
        return _Iterator(self, num_epochs, output_numpy, False)

    def create_tuple_iterator(self, columns=None, num_epochs=-1, output_numpy=False, do_copy=True):
        """The same as lists in the order of the columns."""
        return _Iterator(self.project(columns) if columns else self, num_epochs, output_numpy, True)

    def __iter__(self):
        return self.create_tuple_iterator(num_epochs=1).__iter__()

    def __repr__(self):
        return repr(self._made)

    def _refused(self, *_, **__):
        raise NotImplementedError("this method of a dataset is one of ridgeline.data's: filter(), bucket(), save(), "
                                  "mix() there; several devices and queues are the Model's own")

    filter = bucket_batch_by_length = padded_batch = flat_map = split = save = device_que = to_device = _refused
    sync_wait = sync_update = add_sampler = _refused


_NUMPY = {"f64": "f8", "f32": "f4", "f16": "f2", "u8": "u1", "i32": "i4", "i64": "i8", "bool": "?"}


class _Iterator:
    """Rows one after the other; `for` and next() stop behind the last one of each epoch, and go on with the next epoch."""

    def __init__(self, dataset, num_epochs, output_numpy, as_list):
        if num_epochs != -1 and (isinstance(num_epochs, bool) or not isinstance(num_epochs, int) or num_epochs < 1):
            raise ValueError(f"num_epochs must be -1 or a positive int, but got {num_epochs!r}")
        self._names, self._numpy, self._as_list = dataset.get_col_names(), output_numpy, as_list
        self._single = not dataset._is_batched()
        self._left, self._ended = num_epochs, False
        self._iterator = here.Iterator(dataset._batched(), epochs=num_epochs if num_epochs > 0 else here.kForever)

    def __iter__(self):
        return self

    def __next__(self):
        if self._ended:
            self._ended = False
            raise StopIteration
        if self._left == 0:
            raise RuntimeError("EOF buffer encountered. User tries to fetch data beyond the specified number of epochs.")
        batch = next(self._iterator)
        values = [batch[name] for name in self._names]
        if self._single:
            values = [v[0] for v in values]
        values = [v if isinstance(v, (bytes, list)) else np.array(v) for v in values]
        if not self._numpy:
            values = [Tensor(v) if isinstance(v, np.ndarray) else v for v in values]
        self._ended = batch.last_of_epoch
        self._left -= self._ended and self._left > 0
        return values if self._as_list else dict(zip(self._names, values))

    get_next = __next__
