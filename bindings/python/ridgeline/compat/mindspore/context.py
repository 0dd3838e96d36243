"""MindSpore's context: mode, device, dumps of graphs. One for the process."""

from __future__ import annotations

import os
import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

GRAPH_MODE, PYNATIVE_MODE = 0, 1


class ParallelMode:
    """How several ranks share the work: each trains by itself (STAND_ALONE), or its part of the rows (DATA_PARALLEL)."""

    STAND_ALONE = "stand_alone"
    DATA_PARALLEL = "data_parallel"
    HYBRID_PARALLEL = "hybrid_parallel"
    SEMI_AUTO_PARALLEL = "semi_auto_parallel"
    AUTO_PARALLEL = "auto_parallel"
    MODE_LIST = [STAND_ALONE, DATA_PARALLEL, HYBRID_PARALLEL, SEMI_AUTO_PARALLEL, AUTO_PARALLEL]


_DEVICES = {"CPU": "cpu", "GPU": "cuda"}
_RANKS = "ranks of a Python program share out the rows; models are divided by ridgeline train"
_LAUNCHED = "the launcher says it: python -m ridgeline launch --ranks N -- train.py"
# Of set_auto_parallel_context(): why another value is refused; _RANKS of all others.
_WHY = {"device_num": _LAUNCHED, "global_rank": _LAUNCHED, "gradients_mean": "several ranks average their gradients"}
# What has no effect here, and why.
WITHOUT_EFFECT = {
    "enable_graph_kernel": "ops are always fused where that pays",
    "graph_kernel_flags": "ops are always fused where that pays",
    "max_device_memory": "memory is planned before the first step",
    "mempool_block_size": "memory is planned before the first step",
    "variable_memory_max_size": "memory is planned before the first step",
    "enable_reduce_precision": "amp_level of the Model says it",
    "enable_sparse": "gradients are dense",
    "max_call_depth": "functions are inlined",
    "check_bprop": "gradients come from the engine's own table",
    "reserve_class_name_in_scope": "ops have the names of their layers",
    "auto_tune_mode": "kernels are chosen from measured tables",
    "env_config_path": "there is no recorder",
    "enable_compile_cache": "no step is compiled by another program",
    "compile_cache_path": "no step is compiled by another program",
    "runtime_num_threads": "threads= of ridgeline.train.Model says it",
}
# What would change a run and is not there.
REFUSED = {
    "enable_dump": "per-op dumps are flags of the command line: --dump_path",
    "save_dump_path": "per-op dumps are flags of the command line: --dump_path",
    "enable_profiling": "ridgeline train --trace writes a trace",
    "profiling_options": "ridgeline train --trace writes a trace",
    "pynative_synchronize": "models train as graphs",
    "print_file_path": "callbacks print",
}
_context = {"mode": GRAPH_MODE, "device_target": "CPU", "device_id": None, "save_graphs": False, "save_graphs_path": "."}
_parallel = {"gradients_mean": True, "parallel_mode": ParallelMode.STAND_ALONE}
_warned: set[str] = set()


def warn_once(text):
    """One line for a process."""
    if text not in _warned:
        _warned.add(text)
        warnings.warn(text, stacklevel=3)


def set_context(**kwargs):
    """Sets `mode`, `device_target` ("CPU", "GPU", or a device of `ridgeline.train.devices()`), `device_id` (the number of a
    card; by default the process's own: of ranks that train together each has one), `save_graphs` and `save_graphs_path`
    (the training step in the form of MindSpore's dumps)."""
    if "device_id" in kwargs:
        _check_device_id(kwargs["device_id"], kwargs.get("device_target", _context["device_target"]))
    for key, value in kwargs.items():
        if key in WITHOUT_EFFECT:
            warn_once(f"set_context({key}=...) has no effect: {WITHOUT_EFFECT[key]}")
        elif key in REFUSED and value not in (False, None, ""):
            raise ValueError(f"set_context({key}={value!r}): {REFUSED[key]}")
        elif key in REFUSED:
            pass
        elif key not in _context:
            raise ValueError(f"set_context() has no key '{key}' (allowed: {', '.join([*_context, *WITHOUT_EFFECT])})")
        else:
            _context[key] = _checked(key, value)
            if key == "mode":  # of functions; nets are graphs in both
                from ... import graph

                graph.set_mode("graph" if value == GRAPH_MODE else "eager")


def _checked(key, value):
    if key == "mode" and value not in (GRAPH_MODE, PYNATIVE_MODE):
        raise ValueError(f"The argument 'mode' must be GRAPH_MODE (0) or PYNATIVE_MODE (1), but got {value!r}")
    if key == "device_target":
        _device_of(value)
    return value


def _own_number():
    """The number of this process's device: of a rank its own, as the launcher says it."""
    number = os.environ.get("DEVICE_ID", "")
    return int(number) if number.isdecimal() else 0


def _check_device_id(number, target):
    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
        raise ValueError(f"The argument 'device_id' must be a number from 0 on, but got {number!r}")
    if number != _own_number() and _device_of(target) != "cuda":
        raise ValueError(f"set_context(device_id={number}): device_target {target!r} is one device, with the number of its rank "
                         f"(allowed: {_own_number()}); cards are chosen by number with device_target='GPU'")


def _device_of(target):
    from ...train import devices

    if target == "Ascend":
        raise ValueError("set_context(device_target='Ascend'): there is no such device here (allowed: CPU, GPU)")
    name = _DEVICES.get(target, target)
    if name not in devices():
        raise ValueError(f"The argument 'device_target' is {target!r} (allowed: CPU, GPU, {', '.join(devices())})")
    return name


def device():
    """The name of the device for `ridgeline.train.Model`: the process's own card, or the one that was chosen by number."""
    name, number = _device_of(_context["device_target"]), _context["device_id"]
    return name if name != "cuda" or number in (None, _own_number()) else f"{name}:{number}"


def get_context(attr_key):
    """One of the values of set_context()."""
    if attr_key not in _context:
        raise ValueError(f"get_context() has no key '{attr_key}' (allowed: {', '.join(_context)})")
    if attr_key == "device_id" and _context[attr_key] is None:
        return _own_number()
    return _context[attr_key]


def set_auto_parallel_context(**kwargs):
    """`parallel_mode` DATA_PARALLEL: the Models made from here on train together over all ranks, each on its part of the
    rows; STAND_ALONE: each by itself. `device_num` and `global_rank` are what the launcher has said."""
    from ...train import rank, ranks

    # What is accepted; of None any value.
    accepted = {"device_num": (ranks(),), "global_rank": (rank(),), "gradients_mean": (True, False) if ranks() == 1 else (True,),
                "parameter_broadcast": None, "parallel_mode": (ParallelMode.STAND_ALONE, ParallelMode.DATA_PARALLEL),
                "full_batch": (False,), "gradient_fp32_sync": None, "pipeline_stages": (1,),
                "enable_parallel_optimizer": (False,), "auto_parallel_search_mode": None, "all_reduce_fusion_config": None,
                "strategy_ckpt_load_file": ("",), "strategy_ckpt_save_file": ("",)}
    for key, value in kwargs.items():
        if key not in accepted:
            raise ValueError(f"set_auto_parallel_context() has no key '{key}' (allowed: {', '.join(accepted)})")
        if key == "parallel_mode" and value not in ParallelMode.MODE_LIST:
            raise ValueError(f"The argument 'parallel_mode' is {value!r} (allowed: {', '.join(ParallelMode.MODE_LIST)})")
        if accepted[key] is not None and value not in accepted[key]:
            allowed = ", ".join(repr(v) for v in accepted[key])
            raise ValueError(f"set_auto_parallel_context({key}={value!r}): {_WHY.get(key, _RANKS)} (allowed: {allowed})")
    _parallel.update(kwargs)


def get_auto_parallel_context(attr_key) -> Any:
    """One of the values of set_auto_parallel_context()."""
    from ...train import rank, ranks

    if attr_key in ("device_num", "global_rank"):
        return ranks() if attr_key == "device_num" else rank()
    if attr_key not in _parallel:
        raise ValueError(f"get_auto_parallel_context() has no key '{attr_key}' (allowed: {', '.join(_parallel)})")
    return _parallel[attr_key]


def reset_auto_parallel_context():
    """As at the beginning."""
    _parallel.clear()
    _parallel.update(gradients_mean=True, parallel_mode=ParallelMode.STAND_ALONE)


def mode_is_said():
    """In PYNATIVE_MODE, once: how nets run."""
    if _context["mode"] == PYNATIVE_MODE:
        warn_once("PYNATIVE_MODE: nets are compiled as graphs, as in GRAPH_MODE, with the same numbers; "
                  "dataset_sink_mode falls back to one step at a time")
