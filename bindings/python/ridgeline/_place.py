"""Where in the user's code an exception came from."""

from __future__ import annotations

import os
import sysconfig
import traceback

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep
_PYTHONS = tuple({sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib")})


def place_of(at: TracebackType | None) -> str:
    """" (FILE:LINE)" of the innermost frame of the user's own code. Where there is none, of the innermost one of another
    library; empty where all are of this package."""
    own = other = None
    while at is not None:
        file = _file(at)
        if not _is_ours(file):
            other = f" ({file}:{at.tb_lineno})"
            if not _is_installed(file):
                own = other
        at = at.tb_next
    return own or other or ""


def at_length(error: BaseException) -> str:
    """What Python prints of an exception, without the frames of this package that called the user's code."""
    begin = error.__traceback__
    while begin is not None and _is_ours(_file(begin)):
        begin = begin.tb_next
    return "".join(traceback.format_exception(type(error), error, begin)).rstrip()


def _file(at):
    return at.tb_frame.f_code.co_filename


def _is_ours(file):
    return os.path.abspath(file).startswith(_OURS)


def _is_installed(file):
    return (file.startswith(("<frozen ", *_PYTHONS)) or f"{os.sep}site-packages{os.sep}" in file
            or f"{os.sep}dist-packages{os.sep}" in file)
