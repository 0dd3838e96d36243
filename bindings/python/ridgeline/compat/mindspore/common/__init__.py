"""MindSpore's `common`: seeds, types, tensors, parameters."""

from .._names import lookup

_seed = None


def set_seed(seed):
    """The seed of Models, nets and data made from here on: the same seed, the same bits.

    seed: 0 or more
    """
    global _seed
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise TypeError(f"The argument 'seed' must be type of int, but got {type(seed).__name__}")
    if seed < 0:
        raise ValueError(f"The argument 'seed' must be >= 0, but got {seed}")
    import random

    import numpy as np

    _seed = seed
    np.random.seed(seed % 2 ** 32)
    random.seed(seed)


def get_seed():
    """What set_seed() was told; None: nothing."""
    return _seed


def engine_seed(seed):
    """The same for the engine, where 0 stands for none."""
    return 2 ** 32 if seed == 0 else seed


def __getattr__(name):
    return lookup(__name__, name, {"Tensor": ".._tensor", "Parameter": ".._parameter", "dtype": ".dtype",
                                   "initializer": ".initializer", "api": ".api", "ms_function": ".api", "jit": ".api", "parameter": ".parameter",
                                   "tensor": ".tensor"}, {})
