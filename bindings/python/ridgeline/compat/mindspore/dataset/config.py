"""MindSpore's settings of data: a seed, and how many workers make batches."""

_settings = {"seed": None, "workers": 0, "prefetch": 16}


def set_seed(seed):
    """The seed of data made from here on, in the place of that of mindspore.set_seed()."""
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ValueError(f"seed must be an int of 0 or more, but got {seed!r}")
    _settings["seed"] = seed


def get_seed():
    return _settings["seed"]


def set_num_parallel_workers(num):
    """Threads that make batches."""
    if isinstance(num, bool) or not isinstance(num, int) or num < 1:
        raise ValueError(f"num_parallel_workers must be an int of 1 or more, but got {num!r}")
    _settings["workers"] = num


def get_num_parallel_workers():
    return _settings["workers"]


def _workers():
    return _settings["workers"]


def set_prefetch_size(size):
    """Batches are limited in bytes here: nothing depends on it."""
    _settings["prefetch"] = size


def get_prefetch_size():
    return _settings["prefetch"]


def set_auto_num_workers(enable):
    """They are chosen unless set_num_parallel_workers() says how many."""


def set_enable_shared_mem(enable):
    """Workers are threads."""


def __getattr__(name):
    from .._names import lookup

    own = "ridgeline.data.Iterator has the settings of reading: memory_limit, workers, autotune"
    return lookup(__name__, name, {}, {n: own for n in ("set_enable_autotune", "set_auto_offload", "set_callback_timeout",
                                                        "set_monitor_sampling_interval", "load", "set_numa_enable")})
