"""The models of the library, made from its own table: functions that give a net for `ridgeline.train.Model`.

Images are u8 pixels [N,H,W,3], which the step normalises by the model's own means and deviations, or f32 that are
normalised already. Names of parameters are torchvision's where the model is one of its.
"""

from .. import _core, _tables
from .._core import Net


def functions(core):
    """One for each model."""
    made = []
    for entry in core.model_table():
        doc = (f"{entry['description'] if 'description' in entry else entry['doc']}: {entry['parameters']:,} trained "
               f"numbers at {entry['image_size']} pixels and {entry['classes']} classes")
        made.append(_tables.Function(entry["name"], entry["name"], "model", doc, entry["args"], "Net"))
    return made


def _made(kind, name, args):
    return _core.model_net(name, args["num_classes"], args["init"], args.get("dropout_keep"), args.get("final_relu"),
                           args["image_size"])


__all__ = sorted([*_tables.define(functions(_core), globals()), "Net"])


def __getattr__(name):
    from .._instead import not_there

    raise not_there(__name__, name, __all__)


def __dir__():
    return __all__
