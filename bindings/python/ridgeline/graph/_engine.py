"""The sessions in which functions run: one a device and a process, made when it is first needed."""

import os
import threading

from .. import _core

_lock = threading.RLock()
_sessions: dict = {}
_idle: dict = {}  # eager runs by device


def lock():
    """Held while functions are traced and compiled."""
    return _lock


def session(device):
    with _lock:
        if device not in _sessions:
            _sessions[device] = _core.FunctionSession(device, 0)
        return _sessions[device]


class eager_run:
    """An eager run for one call; the next call finds its programs compiled."""

    def __init__(self, device, code):
        self.device, self.code = device, code

    def __enter__(self):
        with _lock:
            idle = _idle.setdefault(self.device, [])
            self.run = idle.pop() if idle else _core.EagerRun(session(self.device))
        self.run.begin(self.code)
        self.run.enter()
        return self.run

    def __exit__(self, *error):
        self.run.leave()
        self.run.begin(None)
        with _lock:
            _idle.setdefault(self.device, []).append(self.run)


def _forked():
    # The threads of the parent are not there: what it made is left as it lies.
    global _lock
    _lock = threading.RLock()
    _sessions.clear()
    _idle.clear()


os.register_at_fork(after_in_child=_forked)
