"""MindSpore's third place of `ops`."""

from . import *  # noqa: F401,F403
from . import __getattr__  # noqa: F401
