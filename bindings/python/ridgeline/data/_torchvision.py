"""A chain of torchvision's transforms for the engine, and what of it remains torchvision's."""

from __future__ import annotations

from .._core import ArgumentError
from ._chain import Chain, Untranslatable, flatten, is_timm

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import *  # noqa: F403


class Translation:
    """What became of a chain: `transforms` for Dataset.map, then `python`, those that stay torchvision's.

    `takes` says what the first of `python` gets: 'pil', 'tensor u8' or 'tensor f32'. `beside`: what is done to the rest
    of a sample, by the numbers of the notes among the transforms; None where there is no rest.
    """

    def __init__(self, transforms: list[Transform], python: list, takes: str | None,
                 beside: list | None = None) -> None:
        self.transforms, self.python, self.takes, self.beside = transforms, python, takes, beside

    def call_python(self, value: Any) -> Any:
        """Runs the Python part on pixels [height, width, channels]; gives an array, channels last for images."""
        import numpy as np
        import torch

        if self.takes == "pil":
            from PIL import Image

            value = Image.fromarray(value[:, :, 0] if value.shape[2] == 1 else value)
        else:
            value = torch.from_numpy(value).permute(2, 0, 1)
        for transform in self.python:
            value = transform(value)
        if isinstance(value, np.ndarray) and value.ndim == 3 and is_timm(self.python[-1]):  # ToNumpy's, channels first
            return np.ascontiguousarray(np.moveaxis(value, 0, -1))
        if isinstance(value, torch.Tensor):
            value = value.detach().numpy()
            return np.ascontiguousarray(np.moveaxis(value, 0, -1)) if value.ndim == 3 else value
        value = np.asarray(value)
        return value[:, :, None] if value.ndim == 2 else value

    def __repr__(self) -> str:
        steps = [repr(t) for t in self.transforms] + [f"Python: {type(t).__name__}" for t in self.python]
        return "\n".join(steps)


def from_torchvision(transform: Any, channels: int = 3) -> list[Transform]:
    """The engine's transforms for one of torchvision.transforms or its v2, or a Compose of them.

    channels: of the images, 1 or 3
    Raises Untranslatable for the first that has no equal.
    """
    return translate(transform, channels).transforms


def translate(transform: Any, channels: int = 3, untranslatable: Literal['error', 'python'] = 'error',
              moved: Iterable[str] = ()) -> Translation:
    """The Translation of a transform. untranslatable: 'error' or 'python'.

    moved: types of tv_tensors that lie beside the picture and follow it: their part of the chain is in `beside`
    """
    if untranslatable not in ("error", "python"):
        raise ArgumentError(f"untranslatable is {untranslatable!r} (allowed: 'error', 'python')")
    state = Chain(channels, set(moved))
    chain = list(flatten(transform))
    for i, step in enumerate(chain):
        try:
            state.add(step, chain[i + 1:])
        except Untranslatable:
            if untranslatable == "error":
                raise
            takes = {"pixels": "tensor u8" if state.tensor else "pil"}.get(state.stage, "tensor f32")
            return Translation(state.finished(), chain[i:], takes)
    return Translation(state.finished(), [], None, state.beside)
