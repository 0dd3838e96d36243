"""How parameters begin, under MindSpore's names: rules of `ridgeline.nn`."""

from ...._core import Init, init_constant, init_normal


class Initializer:
    """A rule: one of `ridgeline.nn.inits()`, or an Init."""

    def __init__(self, rule):
        self.rule = rule

    def __repr__(self):
        return f"Initializer({self.rule!r})"


def Normal(sigma=0.01, mean=0.0):
    """Numbers of N(0, sigma)."""
    if mean != 0:
        raise ValueError(f"Normal(mean={mean!r}): numbers begin around 0; add a constant in construct()")
    return Initializer(init_normal(float(sigma)))


def Constant(value):
    """One number."""
    return Initializer(init_constant(float(value)))


def Zero():
    """0."""
    return Constant(0)


def One():
    """1."""
    return Constant(1)


def HeUniform(negative_slope=0, mode="fan_in", nonlinearity="leaky_relu"):
    """U(+-sqrt(6 / ((1 + negative_slope^2) fan_in))), for the slopes 0 and sqrt(5)."""
    if mode != "fan_in" or nonlinearity != "leaky_relu":
        raise ValueError(f"HeUniform(mode={mode!r}, nonlinearity={nonlinearity!r}): fan_in and leaky_relu are there")
    if negative_slope == 0:
        return Initializer("he_uniform")
    if abs(negative_slope ** 2 - 5) < 1e-9:
        return Initializer("scaled_uniform")
    raise ValueError(f"HeUniform(negative_slope={negative_slope!r}): 0 and sqrt(5) are there")


def HeNormal(negative_slope=0, mode="fan_in", nonlinearity="leaky_relu"):
    """N(0, sqrt(2 / fan))."""
    if negative_slope != 0 or nonlinearity not in ("leaky_relu", "relu") or mode not in ("fan_in", "fan_out"):
        raise ValueError("HeNormal: the slope 0 and the modes fan_in and fan_out are there")
    return Initializer("he_normal_" + mode)


def XavierUniform(gain=1):
    """U(+-sqrt(6 / (fan_in + fan_out)))."""
    if gain != 1:
        raise ValueError(f"XavierUniform(gain={gain!r}): 1 is there")
    return Initializer("glorot_uniform")


_NAMED = {"normal": Normal, "zeros": Zero, "zero": Zero, "ones": One, "one": One, "he_uniform": HeUniform,
          "heuniform": HeUniform, "he_normal": HeNormal, "xavier_uniform": XavierUniform,
          "xavieruniform": XavierUniform}
_REFUSED = {name: "Normal, HeUniform, HeNormal, XavierUniform, Constant are there"
            for name in ("TruncatedNormal", "Uniform", "VarianceScaling", "Orthogonal", "Sparse", "Identity", "Dirac")}


def rule_of(init):
    """What `ridgeline.nn` takes for a name, an Initializer or a number; None: U(+-sqrt(1 / fan_in))."""
    if init is None:
        return "scaled_uniform"
    if isinstance(init, Initializer):
        return init.rule
    if isinstance(init, Init):
        return init
    if isinstance(init, (int, float)) and not isinstance(init, bool):
        return init_constant(float(init))
    if isinstance(init, str):
        if init.lower() in _NAMED:
            return _NAMED[init.lower()]().rule
        raise ValueError(f"unknown initializer {init!r} (allowed: {', '.join(sorted(_NAMED))})")
    raise TypeError(f"an initializer is a name, a number or one of common.initializer, not {init!r}")


def initializer(init, shape=None, dtype=None):
    """How a Parameter of that shape begins."""
    from .._parameter import Begin

    if shape is None:
        return Initializer(rule_of(init))
    return Begin([shape] if isinstance(shape, int) else shape, init)


def __getattr__(name):
    from .._names import lookup

    return lookup(__name__, name, {}, _REFUSED)
