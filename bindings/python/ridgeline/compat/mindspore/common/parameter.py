"""MindSpore's place of Parameter."""

from .._parameter import Parameter

__all__ = ["Parameter"]
