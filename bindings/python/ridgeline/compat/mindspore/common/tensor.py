"""MindSpore's place of Tensor."""

from .._tensor import Tensor

__all__ = ["Tensor"]
