"""Metrics by MindSpore's names: those of `ridgeline.train.metrics()`, and objects with clear(), update() and eval()."""

from .._names import lookup


class Metric:
    """A metric of one's own: clear(), update(outputs, labels) with NumPy arrays, eval()."""

    def clear(self):
        raise NotImplementedError

    def update(self, *inputs):
        raise NotImplementedError

    def eval(self):
        raise NotImplementedError


class _Counted:
    """One that an evaluation counts."""

    key = ""

    def __init__(self, eval_type=None):
        if eval_type not in (None, "classification"):
            raise ValueError(f"{type(self).__name__}({eval_type!r}): 'classification' is there")


def _counted(name, key):
    return type(name, (_Counted,), {"key": key, "__module__": __name__, "__doc__": f"`{key}` of an evaluation."})


Accuracy = _counted("Accuracy", "top_1")
Loss = _counted("Loss", "loss")
Top1CategoricalAccuracy = _counted("Top1CategoricalAccuracy", "top_1")
Top5CategoricalAccuracy = _counted("Top5CategoricalAccuracy", "top_5")
Precision = _counted("Precision", "precision")
Recall = _counted("Recall", "recall")
ConfusionMatrix = _counted("ConfusionMatrix", "confusion_matrix")

# What Model(metrics={...}) takes as text.
NAMED = {"accuracy": "top_1", "acc": "top_1", "loss": "loss", "top_1_accuracy": "top_1", "top_5_accuracy": "top_5",
         "precision": "precision", "recall": "recall", "confusion_matrix": "confusion_matrix"}
# Those that every evaluation tells.
ALWAYS = ("loss", "top_1", "top_5")


def metrics_of(given):
    """{name that eval() gives: key of an evaluation, or a Metric} of what a Model was told."""
    if given is None:
        return {}
    if isinstance(given, dict):
        named = given
    elif isinstance(given, (set, list, tuple)):
        named = {name: name for name in given}
    else:
        raise TypeError(f"metrics of a Model are a dict or a set of names, not {given!r}")
    made = {}
    for name, metric in named.items():
        if isinstance(metric, str):
            if metric not in NAMED:
                raise ValueError(f"unknown metric {metric!r} (allowed: {', '.join(NAMED)})")
            made[name] = NAMED[metric]
        elif isinstance(metric, _Counted):
            made[name] = metric.key
        elif all(hasattr(metric, method) for method in ("clear", "update", "eval")):
            made[name] = metric
        else:
            raise TypeError(f"the metric {name!r} is {metric!r}: a name, one of nn.metrics, or an object with clear(), "
                            "update() and eval() is meant")
    return made


def __getattr__(name):
    return lookup(__name__, name, {}, {n: "Accuracy, Loss, Top1CategoricalAccuracy, Top5CategoricalAccuracy, Precision, "
                                          "Recall, ConfusionMatrix are there, or a Metric of one's own"
                                       for n in ("TopKCategoricalAccuracy", "F1", "MAE", "MSE", "Fbeta", "Perplexity")})
