"""Sources, transforms and samplers, made from the engine's own tables.

Every entry of a table becomes one function with a real signature and a docstring: a new transform or source of the
engine needs nothing here. `functions()` tells the entries, `source_of()` writes one as Python; the package executes
that text, and `stubs.py` writes the same signatures as type stubs.
"""

# Names that are not simply the op in capitals.
SPELLED = {
    "autocontrast": "AutoContrast",
    "cutmix": "CutMix",
    "cutout": "CutOut",
    "example": "Examples",
    "hwc_to_chw": "HWC2CHW",
    "mixup": "MixUp",
    "named": "NamedSet",
    "pk_sampler": "PKSampler",
    "random_autocontrast": "RandomAutoContrast",
    "random_iou_crop": "RandomIoUCrop",
    "tfrecord": "TFRecord",
    "weighted_sampler": "WeightedRandomSampler",
}
# Written by hand: they take Python functions (_callables.py).
BY_HAND = {"generator", "function"}

TYPES = {
    "boolean": "bool",
    "integer": "int",
    "real": "float",
    "text": "str | bytes | os.PathLike[str]",
    "list of integers": "int | Sequence[int]",
    "list of reals": "float | Sequence[float]",
    "list of texts": "str | bytes | os.PathLike[str] | Sequence[str | bytes | os.PathLike[str]]",
    "tensors": "Mapping[str, ArrayLike]",
}


class Function:
    """One function: `kind` is source, sampler, transform or batch operation; `args` as the tables have them."""

    def __init__(self, name, kind, op, doc, args, nests):
        self.name, self.kind, self.op, self.doc, self.args, self.nests = name, kind, op, doc, args, nests


def camel(op):
    return SPELLED.get(op) or "".join(part.capitalize() for part in op.split("_"))


def functions(core):
    """All functions, in the order of the tables."""
    made = []
    for node in core.node_table():
        kind = "sampler" if node["op"].endswith("_sampler") else node["kind"]
        if kind in ("source", "sampler") and node["op"] not in BY_HAND:
            made.append(Function(camel(node["op"]), kind, node["op"], node["doc"], node["args"], False))
    for entry in core.transform_table():
        if entry["op"] not in BY_HAND:
            kind = "batch operation" if entry["whole_batch"] else "transform"
            made.append(Function(camel(entry["op"]), kind, entry["op"], entry["doc"], entry["args"], entry["nests"]))
    return made


def default_of(spec):
    if spec["name"] == "seed" and spec["default"] == -1:
        return None  # the graph's
    default = spec["default"]
    return tuple(default) if isinstance(default, list) else default


def ordered(args):
    """Required arguments first, as a signature needs them."""
    return [a for a in args if a["required"]] + [a for a in args if not a["required"]]


def doc_of(f):
    lines = [f.doc[0].upper() + f.doc[1:] + ".", ""]
    if f.kind == "source":
        lines += ["A dataset; files are opened when something asks for their content.", ""]
    elif f.kind == "sampler":
        lines += ["A sampler for Dataset.sample.", ""]
    elif f.kind == "batch operation":
        lines += ["An operation of whole batches, for Dataset.batch: image [N,H,W,C], label f32 [N,classes].", ""]
    else:
        lines += ["A transform for Dataset.map: of pixels u8 [height, width, channels] unless said otherwise.", ""]
    if f.nests:
        lines.append("operations: the transforms that it is made of")
    for spec in ordered(f.args):
        text = f"{spec['name']}: {spec['doc']}"
        if spec["allowed"]:
            text += " (one of " + ", ".join(repr(a) for a in spec["allowed"]) + ")"
        lines.append(text)
    return "\n".join(lines).rstrip()


def source_of(f):
    """The function as Python text."""
    given = ["operations"] if f.nests else []
    for spec in ordered(f.args):
        given.append(spec["name"] if spec["required"] else f"{spec['name']}={default_of(spec)!r}")
    args = "{" + ", ".join(f"{spec['name']!r}: {spec['name']}" for spec in f.args) + "}"
    make = {"source": "_source", "sampler": "_sampler"}.get(f.kind, "_transform")
    operations = ", operations" if f.nests else ""
    return (
        f"def {f.name}({', '.join(given)}):\n    return {make}({f.op!r}, {args}{operations})\n"
        f"{f.name}.__doc__ = {doc_of(f)!r}\n"
    )


def define(core, namespace):
    """Puts all functions into the namespace, which holds _source, _sampler and _transform. Their names."""
    made = functions(core)
    exec("\n".join(source_of(f) for f in made), namespace)
    return [f.name for f in made]
