"""Names of other systems, for scripts that were written for them: `ridgeline.compat.mindspore`.

Thin layers over `ridgeline.nn`, `optim`, `train` and `data`. What a system has and this package has not is refused by
name, with what to use.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import mindspore

__all__ = ["mindspore"]


def __getattr__(name):
    if name == "mindspore":
        import importlib

        return importlib.import_module(".mindspore", __name__)
    raise AttributeError(f"module 'ridgeline.compat' has no attribute {name!r}")


def __dir__():
    return __all__
