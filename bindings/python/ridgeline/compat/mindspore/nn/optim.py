"""Optimizers under MindSpore's names, and what they become in `ridgeline.optim`."""

from __future__ import annotations

import numpy as np

from .... import optim as here
from .._names import lookup, only
from .._parameter import Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# A learning rate that is given step by step is written as so many straight lines at most.
MOST_LINES = 512


class Optimizer:
    """Parameters, a learning rate and what an update needs.

    parameters: of a Cell (`trainable_params()`), or groups [{"params": [...], "weight_decay": ..., "lr": ...}, ...]
    learning_rate: a number; a list or Tensor of numbers, one a step; a schedule of `ridgeline.optim`
    loss_scale: that of a FixedLossScaleManager with drop_overflow_update=False; else 1
    """

    def __init__(self, learning_rate, parameters, weight_decay=0.0, loss_scale=1.0):
        self.learning_rate, self.weight_decay, self.loss_scale = learning_rate, float(weight_decay), float(loss_scale)
        if weight_decay < 0:
            raise ValueError(f"The argument 'weight_decay' must be >= 0, but got {weight_decay}")
        if loss_scale <= 0:
            raise ValueError(f"The argument 'loss_scale' must be > 0, but got {loss_scale}")
        given = list(parameters)
        if not given:
            raise ValueError("Optimizer got an empty parameter list")
        self.is_group = isinstance(given[0], dict)
        self._groups: list[dict[str, Any]] = given if self.is_group else [{"params": given}]
        self.parameters = []
        for group in self._groups:
            if "order_params" in group:
                continue  # the order of updates changes no number
            unknown = set(group) - {"params", "lr", "weight_decay"}
            if unknown:
                raise ValueError(f"a group of parameters has params, lr and weight_decay; not {', '.join(map(repr, unknown))}")
            group["params"] = list(group["params"])
            for parameter in group["params"]:
                if not isinstance(parameter, Parameter):
                    raise TypeError(f"an optimizer takes Parameters, not {parameter!r}")
                if any(parameter is other for other in self.parameters):
                    raise ValueError(f"the parameter {parameter.name} is in two groups")
            self.parameters += group["params"]
        self._rate = rate_of(learning_rate)

    def _own(self):
        """(name in ridgeline.optim, its arguments)."""
        raise NotImplementedError

    def _optimizer(self, network):
        """For the net whose parameters it trains."""
        name, args = self._own()
        groups = []
        trained = {id(p) for p in self.parameters}
        for parameter in network.get_parameters():
            if parameter._called in ("running_mean", "running_var"):
                continue  # statistics, which no optimizer moves
            if not parameter.requires_grad or id(parameter) not in trained:
                groups.append(here.ParameterGroup(parameter._engine_name, frozen=True))
        inside = {id(p) for p in network.get_parameters()}
        for group in self._groups:
            for parameter in group.get("params", ()):
                if id(parameter) not in inside:
                    raise ValueError(f"the optimizer has the parameter {parameter.name}, which is none of the network's")
                decay = group.get("weight_decay", self.weight_decay)
                if not self.is_group and ("gamma" in parameter.name or "beta" in parameter.name):
                    decay = 0.0  # MindSpore's filter, where parameters are not grouped
                factor = self._factor(group["lr"]) if "lr" in group else 1.0
                if parameter.requires_grad and (decay != self.weight_decay or factor != 1.0):
                    groups.append(here.ParameterGroup(parameter._engine_name, rate_factor=factor, weight_decay=float(decay)))
        return getattr(here, name)(lr=self._rate, weight_decay=self.weight_decay, decay_vectors=True,
                                   groups=groups, **args)

    def _factor(self, rate):
        if not all(isinstance(r, (int, float)) for r in (rate, self.learning_rate)) or self.learning_rate == 0:
            raise ValueError("a group's lr is a number where the optimizer's learning_rate is one; other groups follow "
                             "from it by ridgeline.optim.ParameterGroup(rate_factor=...)")
        return rate / self.learning_rate

    def __repr__(self):
        return f"{type(self).__name__}<{len(self.parameters)} parameters>"


class Momentum(Optimizer):
    """v = momentum * v + g; w -= lr * v, with Nesterov's look ahead where `use_nesterov`."""

    def __init__(self, params, learning_rate, momentum, weight_decay=0.0, loss_scale=1.0, use_nesterov=False):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if not 0 <= momentum < 1:
            raise ValueError(f"The argument 'momentum' must lie in [0, 1), but got {momentum}")
        self.momentum, self.use_nesterov = momentum, use_nesterov

    def _own(self):
        return "Momentum", {"momentum": self.momentum, "nesterov": self.use_nesterov}


class SGD(Optimizer):
    """w -= lr * g, or with momentum."""

    def __init__(self, params, learning_rate=0.1, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False,
                 loss_scale=1.0):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        only("SGD", {"dampening": ((0.0, 0), "0 is there")}, {"dampening": dampening})
        if nesterov and momentum <= 0:
            raise ValueError("SGD(nesterov=True): momentum must be positive")
        self.momentum, self.nesterov = momentum, nesterov

    def _own(self):
        if self.momentum == 0:
            return "Sgd", {}
        return "Momentum", {"momentum": self.momentum, "nesterov": self.nesterov}


class Adam(Optimizer):
    """Adam; weight decay is added to gradients."""

    def __init__(self, params, learning_rate=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, use_locking=False,
                 use_nesterov=False, weight_decay=0.0, loss_scale=1.0):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        only("Adam", {"use_nesterov": ((False,), "Adam without it is there")}, {"use_nesterov": use_nesterov})
        self._args = {"beta1": beta1, "beta2": beta2, "epsilon": eps}

    def _own(self):
        return "Adam", self._args


class RMSProp(Optimizer):
    """RMSProp, not centred."""

    def __init__(self, params, learning_rate=0.1, decay=0.9, momentum=0.0, epsilon=1e-10, use_locking=False,
                 centered=False, loss_scale=1.0, weight_decay=0.0):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        only("RMSProp", {"centered": ((False,), "RMSProp that is not centred is there")}, {"centered": centered})
        self._args = {"rho": decay, "momentum": momentum, "epsilon": epsilon}

    def _own(self):
        return "RmsProp", self._args


def rate_of(rate):
    """What `ridgeline.optim` takes for a learning rate."""
    if isinstance(rate, (int, float)) and not isinstance(rate, bool):
        if not 0 <= rate < np.inf:
            raise ValueError(f"The argument 'learning_rate' must be >= 0, but got {rate}")
        return float(rate)
    if isinstance(rate, here.Schedule):
        return rate
    if not hasattr(rate, "__array__") and not isinstance(rate, (list, tuple)):
        raise TypeError(f"learning_rate is {rate!r}; a number, numbers of steps, or a schedule of ridgeline.optim is meant")
    values = np.asarray(rate, dtype=np.float64)
    if values.ndim == 0:
        return rate_of(float(values))
    if values.ndim != 1 or len(values) == 0 or not np.isfinite(values).all() or (values < 0).any():
        raise ValueError("a learning rate of steps is a list of numbers of 0 or more")
    lines = lines_of(values)
    if len(lines) > MOST_LINES:
        raise ValueError(f"the learning rate of {len(values)} steps is made of {len(lines)} straight lines, more than "
                         f"{MOST_LINES}: give it as a formula, learning_rate=ridgeline.optim.Cosine(...) and the like")
    if len(lines) == 1 and lines[0][2] == 0:
        return float(lines[0][1])
    return _formula(lines, len(values) - 1)


def lines_of(values):
    """[(first step, rate there, slope)]: straight lines that give every rate to within a millionth of the greatest."""
    far = 1e-6 * float(values.max(initial=0))
    lines, start = [], 0
    while start < len(values):
        low, high, end = -np.inf, np.inf, start + 1
        while end < len(values):
            steps = end - start
            least, most = (values[end] - values[start] - far) / steps, (values[end] - values[start] + far) / steps
            if max(low, least) > min(high, most):
                break
            low, high, end = max(low, least), min(high, most), end + 1
        slope = 0.0 if end == start + 1 or low <= 0 <= high else (low + high) / 2
        lines.append((start, float(values[start]), float(slope)))
        start = end
    return lines


def _formula(lines, last):
    def rate(i):
        at = here.minimum(i, float(last))

        def among(low, high):
            if high - low == 1:
                start, value, slope = lines[low]
                return value + slope * (at - float(start)) if slope else value
            middle = (low + high) // 2
            return here.where(at < float(lines[middle][0]), among(low, middle), among(middle, high))

        return among(0, len(lines))

    return here_schedule(rate)


def here_schedule(function):
    from ...._core import schedule_of

    return schedule_of(function)


def __getattr__(name):
    return lookup(__name__, name, {}, {n: "Momentum, SGD, Adam, RMSProp are there; others are in ridgeline.optim"
                                       for n in ("AdamWeightDecay", "LARS", "Lamb", "LazyAdam", "FTRL", "Adagrad",
                                                 "ProximalAdagrad", "Rprop", "ASGD", "AdaMax", "thor", "Adadelta")})
