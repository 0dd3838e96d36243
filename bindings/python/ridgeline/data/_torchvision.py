"""A chain of torchvision's or albumentations' transforms for the engine, and what of it remains theirs."""

from __future__ import annotations

from .._core import ArgumentError
from ._chain import Chain
from ._steps import Untranslatable, flatten, is_albumentations, is_timm

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import *  # noqa: F403


class Translation:
    """What became of a chain: `transforms` for Dataset.map, then `python`, those that stay as they were.

    `takes` says what the first of `python` gets: 'pil', 'tensor u8' or 'tensor f32', or, of albumentations, 'array'.
    `beside`: what is done to the rest of a sample, by the numbers of the notes among the transforms; None where there is
    no rest. `why`: of the first of `python`, as an error would say it.
    """

    why = ""

    def __init__(self, transforms: list[Transform], python: list, takes: str | None,
                 beside: list | None = None) -> None:
        self.transforms, self.python, self.takes, self.beside = transforms, python, takes, beside

    def call_python(self, value: Any) -> Any:
        """Runs the Python part on pixels [height, width, channels]; gives an array, channels last for images."""
        if self.takes == "pil":
            from PIL import Image

            value = Image.fromarray(value[:, :, 0] if value.shape[2] == 1 else value)
        elif self.takes != "array":
            import torch

            value = torch.from_numpy(value).permute(2, 0, 1)
        for transform in self.python:
            value = transform(image=value)["image"] if is_albumentations(transform) else transform(value)
        return _channels_last(value, self.takes != "array" or is_timm(self.python[-1]))  # ToNumpy's are channels first

    def __repr__(self) -> str:
        steps = [repr(t) for t in self.transforms] + [f"Python: {type(t).__name__}" for t in self.python]
        return "\n".join(steps)


def _channels_last(value, first):
    """A picture as an array. first: whether the axes of an array stay in their places in the batch, as a tensor's do;
    else channels are last, as in albumentations."""
    import numpy as np

    if hasattr(value, "detach"):  # a tensor
        value, first = value.detach().numpy(), True
    elif not isinstance(value, np.ndarray) and not hasattr(value, "__array_interface__"):  # neither PIL's
        from ._own_transform import NotOnePicture

        raise NotOnePicture(f"a transform gives a {type(value).__name__}, which is no picture")
    if not isinstance(value, np.ndarray):
        value, first = np.asarray(value), False  # of PIL
    if value.ndim == 3 and first:
        return np.ascontiguousarray(np.moveaxis(value, 0, -1))
    return value[:, :, None] if value.ndim == 2 and not first else value


def from_torchvision(transform: Any, channels: int = 3) -> list[Transform]:
    """The engine's transforms for one of torchvision.transforms or its v2, or of albumentations, or a Compose of them.

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
    chain = list(flatten(transform))
    of_albumentations = any(map(is_albumentations, chain))
    state = _albumentations(transform, channels, moved) if of_albumentations else Chain(channels, set(moved))
    for i, step in enumerate(chain):
        try:
            state.add(step, chain[i + 1:])
        except Untranslatable as error:
            if untranslatable == "error":
                raise
            takes = {"pixels": "tensor u8" if state.tensor else "pil"}.get(state.stage, "tensor f32")
            rest = Translation(state.finished(), chain[i:], "array" if of_albumentations else takes)
            rest.why = error.why
            return rest
    return Translation(state.finished(), [], None, state.beside)


def _albumentations(transform, channels, moved):
    from ._albumentations import AlbumentationsChain
    from ._delegates import unwrapped

    compose = unwrapped(transform)
    beside = sorted(getattr(compose, "processors", {}))
    if beside or moved:
        what = " and ".join(beside or sorted(moved))
        raise ArgumentError(f"albumentations moves {what} with the picture as its own call says: let the data set call "
                            "it, and leave out transform=")
    return AlbumentationsChain(channels)
