"""The ranks that train together, as a program finds itself among them."""

from __future__ import annotations

from .. import _core


def rank() -> int:
    """Which of the ranks this process is, from 0 on, as the launcher says it (`python -m ridgeline launch --ranks N --
    train.py`, or mpirun); 0 where there is one. The others need not be there yet. Rank 0 is the one that writes: what
    a program prints or keeps by itself belongs behind `if rl.train.rank() == 0:`."""
    return _core.own_rank()


def ranks() -> int:
    """How many ranks train together; 1 without a launcher."""
    return _core.own_ranks()
