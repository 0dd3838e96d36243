"""Where a DataLoader delivers its tensors: what device= and dtype= say, and memory that a card may copy from."""

from __future__ import annotations

import warnings

from .._core import ArgumentError

_DTYPES = {"f32": "float32", "bf16": "bfloat16", "f16": "float16"}


def device_of(device):
    """The torch.device that the user named, a card with its number. None: none was named."""
    if device is None:
        return None
    try:
        import torch
    except ImportError:
        raise ArgumentError(f"device={str(device)!r} needs PyTorch, which is not installed") from None
    try:
        named = torch.device(device)
    except (RuntimeError, TypeError):
        raise ArgumentError(f"device is {device!r} (allowed: 'cpu', 'cuda', 'cuda:N', a torch.device)") from None
    if named.type == "cpu":
        return torch.device("cpu")
    if named.type != "cuda":
        raise ArgumentError(f"device is {str(named)!r} (allowed: 'cpu', 'cuda', 'cuda:N')")
    if not torch.backends.cuda.is_built():
        raise ArgumentError(f"device={str(named)!r} needs a PyTorch with CUDA, PyTorch {torch.__version__} was built "
                            "without")
    if not torch.cuda.is_available():
        raise ArgumentError(f"device={str(named)!r} needs a card, PyTorch finds none: {_why_no_card(torch)}")
    index, count = named.index, torch.cuda.device_count()
    if index is None:
        index = torch.cuda.current_device()
    if index >= count:
        raise ArgumentError(f"device is {str(named)!r}, PyTorch finds {count} card{'s' if count > 1 else ''} (allowed: "
                            + ", ".join(f"'cuda:{i}'" for i in range(count)) + ")")
    return torch.device("cuda", index)


def _why_no_card(torch):
    try:
        torch.cuda.init()
    except (RuntimeError, AssertionError) as error:
        return str(error).partition(". ")[0].partition("\n")[0].rstrip(".")
    return "torch.cuda.is_available() is False"


def dtype_of(dtype, device):
    """The torch.dtype of pictures on the device. None: as the transforms leave them."""
    if dtype is None:
        return None
    if device is None:
        raise ArgumentError("dtype is for device=: without it, end the transforms with ToDtype or TypeCast")
    import torch

    allowed = {name: getattr(torch, of_torch) for name, of_torch in _DTYPES.items()}
    named = allowed.get(dtype, dtype) if isinstance(dtype, str) else dtype
    if named not in allowed.values():
        raise ArgumentError(f"dtype is {dtype!r} (allowed: {', '.join(map(repr, allowed))}, "
                            f"{', '.join(map(str, allowed.values()))})")
    return named


def can_pin():
    """Whether pin_memory=True has an effect; a warning says that it has none."""
    import torch

    if torch.cuda.is_available():
        return True
    warnings.warn("pin_memory=True has no effect: PyTorch finds no accelerator", stacklevel=3)
    return False


def page_lock(device=None):
    """How PyTorch makes memory known to an accelerator; None where it has no call for it: batches are copied then.

    device: the card; absent: the current one of the thread that asks
    """
    import torch

    runtime = torch.cuda.cudart() if torch.cuda.is_available() else None
    if runtime is None:
        return None

    def register(address, size):
        with torch.cuda.device(device):
            torch.cuda.check_error(runtime.cudaHostRegister(address, size, 0))

    def unregister(address):
        with torch.cuda.device(device):
            torch.cuda.check_error(runtime.cudaHostUnregister(address))

    return register, unregister
