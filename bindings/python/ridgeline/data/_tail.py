"""The end of the transforms on the device: pictures travel as bytes and are flipped and normalised there.

The engine's normalisation is a table of 256 values a channel, and so is this one: the bits are the same.
"""

from __future__ import annotations

import warnings

import numpy as np

from .._core import ArgumentError, Error

# Values that are looked up at a time: their places in the table, four bytes each, stay in a card's cache.
_AT_ONCE = 1 << 23


class Unfinished:
    """Pictures of a batch on their way: what travels, and `end`, which makes of it on the device what is delivered."""

    __slots__ = ("_end", "_tensors")

    def __init__(self, end, *tensors):
        self._end, self._tensors = end, tensors

    def pin_memory(self):
        return Unfinished(self._end, *(t if t is None or t.is_pinned() else t.pin_memory() for t in self._tensors))

    def finished(self, copy):
        """The pictures, where `copy(tensor)` is the tensor on the device."""
        return self._end(*(None if tensor is None else copy(tensor) for tensor in self._tensors))


class Cast:
    """Pictures in another type."""

    def __init__(self, dtype):
        self._dtype = dtype

    def __call__(self, pictures):
        return pictures.to(self._dtype)


class Normalized:
    """Pictures u8 [N,H,W,C], mirrored where `flip` (u8 [N], or None) says it, as (v - 255 mean) / (255 std): a tensor
    [N,C,H,W] in channels_last of the type f32, bf16 or f16."""

    def __init__(self, mean, std, dtype):
        import torch

        mean, std = np.asarray(mean, np.float64)[:, None], np.asarray(std, np.float64)[:, None]
        with np.errstate(over="ignore"):
            table = ((np.arange(256) - 255.0 * mean) / (255.0 * std)).astype(np.float32)
        self._table = torch.from_numpy(table.reshape(-1)).to(dtype)
        self._begins = torch.arange(len(mean), dtype=torch.int32, device="cpu") * 256  # of each channel in the table

    def __call__(self, pixels, flip):
        import torch

        if self._table.device != pixels.device:
            self._table, self._begins = self._table.to(pixels.device), self._begins.to(pixels.device)
        if flip is not None:
            pixels = torch.where(flip.view(-1, 1, 1, 1) != 0, pixels.flip(2), pixels)
        made = torch.empty(pixels.shape, dtype=self._table.dtype, device=pixels.device)
        rows = max(1, _AT_ONCE // max(1, pixels[:1].numel()))
        for some, out in zip(pixels.split(rows), made.split(rows)):
            torch.index_select(self._table, 0, torch.add(some, self._begins).view(-1), out=out.view(-1))
        return made.permute(0, 3, 1, 2)


class End:
    """What a DataLoader leaves to its device.

    normalize: whether Normalize, and a flip beside it, may run there; None: on a card, where the transforms end so
    """

    def __init__(self, device, dtype, normalize):
        if normalize and device is None:
            raise ArgumentError("normalize_on_device is for device=")
        self._device, self._dtype, self._normalize = device, dtype, normalize

    def of(self, graph, alone, of_bytes):
        """(whether bytes travel, whether they are flipped, what makes the pictures there or None) of a graph of batches.

        alone: why the engine has to finish the pictures itself; empty: it has not
        of_bytes: whether its pictures are u8
        """
        wants = self._device is not None and (self._device.type == "cuda" if self._normalize is None else self._normalize)
        tail = _tail_of(graph) if wants and not alone else None
        if tail is not None:
            mean, std, flips = tail
            import torch

            if self._normalize is None:
                what = "Normalize and the flip run" if flips else "Normalize runs"
                _say(f"pictures travel to {self._device} as bytes, {what} there with the same results "
                     "(normalize_on_device=False: in the engine)")
            return True, flips, Normalized(mean, std, self._dtype or torch.float32)
        if self._normalize:
            needs = alone or ("one picture a sample, whose transforms end in Normalize (RandomHorizontalFlip may stand beside "
                              "it)")
            raise ArgumentError(f"normalize_on_device=True needs {needs}")
        if self._dtype is None:
            return False, False, None
        if of_bytes:
            raise ArgumentError("dtype is for pictures that are floats, these are u8: end the transforms with Normalize, or "
                                "with ToTensor alone")
        return False, False, Cast(self._dtype)


def _tail_of(graph):
    """(mean, std, whether pictures are flipped) of the end of the pictures' transforms; None: they end otherwise."""
    try:
        normalizes, mean, std, flips = graph._core.image_tail()
    except Error:  # the graph ends otherwise, or does not run, which the run itself will say
        return None
    return (mean, std, flips) if normalizes else None


_said: set[str] = set()  # what has been told


def _say(text):
    if text not in _said:
        _said.add(text)
        warnings.warn(text, stacklevel=5)
