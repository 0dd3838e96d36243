"""What a training calls and keeps: hooks written in Python, checkpoints, progress."""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TextIO

    from .._core import RunView as Run


class Callback:
    """A base for callbacks, which need none: any object with some of these methods is one, and so is a function, which
    is called behind steps.

    The hooks come in the order begin, epoch_begin, step_begin, step_end, epoch_end, end; failed instead of end where an
    exception ends the run. Those of steps are called at every step, or, with an attribute `every`, at its multiples and
    at the last step: between them steps run without Python. `next_stop(step)` in the place of `every` names the next
    step behind which the callback must be called, or None. Nothing that is computed depends on how often that is.
    """

    def begin(self, run: Run) -> None:
        """Before the first step of a call of train()."""

    def epoch_begin(self, run: Run) -> None:
        """Before the first step of an epoch."""

    def epoch_end(self, run: Run) -> None:
        """Behind the last step of an epoch."""

    def end(self, run: Run) -> None:
        """When the call of train() is over."""

    def failed(self, run: Run) -> None:
        """When an exception ends it. What is raised here is lost."""


class Checkpoint:
    """Where a training keeps its checkpoints, its log and its metrics, and how often: a program that is started again
    goes on from the newest checkpoint there. One a Model, given at the first call of train().

    directory: made where it is not there; nobody else may train into it at the same time
    steps: between checkpoints; 0: none by steps. One is always written at the end and where a run is interrupted.
    seconds: above 0: one is written so long after the last one instead
    keep: newest files that stay, beside that of the best evaluation
    """

    def __init__(self, directory: str | os.PathLike[str], steps: int = 1000, seconds: float = 0.0,
                 keep: int = 5) -> None:
        self.directory = os.fspath(directory)
        self.steps, self.seconds, self.keep = steps, seconds, keep

    def __repr__(self) -> str:
        return f"Checkpoint({self.directory!r}, steps={self.steps}, seconds={self.seconds}, keep={self.keep})"


class Progress(Callback):
    """Shows how far a training is: a line that moves on a terminal and in a notebook, elsewhere a line an epoch. Of
    several ranks that of rank 0 does.

    file: where to; None: standard error
    seconds: between two looks
    """

    def __init__(self, file: TextIO | None = None, seconds: float = 0.25) -> None:
        self._file = file
        self._seconds = seconds
        self._rate = 0.0  # steps a second
        self._display: Any = None

    def begin(self, run: Run) -> None:
        """Looks where to show it."""
        model: Any = run.model
        self._shows = model._core.rank == 0
        self._out = self._file or sys.stderr
        self._moves = self._file is None and _notebook() is not None or getattr(self._out, "isatty", bool)()
        self._since, self._from = time.monotonic(), run.step
        notebook = _notebook()
        if self._shows and notebook is not None and self._file is None:
            self._display = notebook.display({"text/plain": ""}, raw=True, display_id=True)

    def next_stop(self, step: int) -> int | None:
        """So that a line that moves is drawn every `seconds`."""
        if not (self._shows and self._moves):
            return None
        return step + max(1, int(self._rate * self._seconds))

    def step_end(self, run: Run) -> None:
        """Draws the line."""
        if run.loop_seconds > 0:
            self._rate = run.loop_steps / run.loop_seconds
        if self._shows and self._moves and run.has_outputs:
            self._draw(run)

    def epoch_end(self, run: Run) -> None:
        """Prints the line of the epoch, where no line moves."""
        if self._shows and not self._moves and run.has_outputs:
            print(self._line(run), file=self._out, flush=True)

    def end(self, run: Run) -> None:
        """Leaves the line."""
        if self._shows and self._moves and self._display is None:
            print(file=self._out, flush=True)

    failed = end

    def _line(self, run, with_bar=True):
        bar = f"[{'=' * int(20 * run.step / run.total_steps):<20}]  " if with_bar else ""
        passed = time.monotonic() - self._since
        done = run.step - self._from
        left = (run.total_steps - run.step) * passed / done if done else 0
        return (f"epoch {run.epoch}  step {run.step}/{run.total_steps}  {bar}loss {run.loss:.4f}  "
                f"lr {run.learning_rate:.3g}  {self._rate:.3g} steps/s  {left:.0f} s left")

    def _draw(self, run):
        if self._display is not None:
            bar = f'<progress value="{run.step}" max="{run.total_steps}"></progress> '
            told = f"{bar}<code>{self._line(run, with_bar=False)}</code>"
            self._display.update({"text/plain": self._line(run), "text/html": told}, raw=True)
        else:
            print("\r\x1b[K" + self._line(run), end="", file=self._out, flush=True)


def _notebook():
    """IPython's display where a notebook runs this; else None."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython import display

    return display
