"""By what a loss is multiplied before it is differentiated: settings of `ridgeline.train.Model`."""


class LossScaleManager:
    """The base of both."""

    def _setting(self) -> str | tuple[float, bool]:
        """As `ridgeline.train.Model` takes it."""
        raise NotImplementedError(f"{type(self).__name__}: Fixed- or DynamicLossScaleManager is meant")


class FixedLossScaleManager(LossScaleManager):
    """One number.

    loss_scale: 1 or more
    drop_overflow_update: whether a step whose gradients overflow is left out
    """

    def __init__(self, loss_scale=128.0, drop_overflow_update=True):
        if loss_scale < 1:
            raise ValueError(f"loss scale must be at least 1. The argument 'loss_scale' is {loss_scale}")
        self._loss_scale, self._drop = float(loss_scale), bool(drop_overflow_update)

    def get_loss_scale(self):
        return self._loss_scale

    def get_drop_overflow_update(self):
        return self._drop

    def update_loss_scale(self, overflow):
        """It stays."""

    def _setting(self):
        return (self._loss_scale, self._drop)


class DynamicLossScaleManager(LossScaleManager):
    """A number that follows overflows: divided by the factor at one, and the step is left out; times the factor behind
    `scale_window` steps without."""

    def __init__(self, init_loss_scale=2 ** 24, scale_factor=2, scale_window=2000):
        if init_loss_scale < 1:
            raise ValueError(f"Loss scale value should be >= 1, but got {init_loss_scale}")
        for name, value in (("scale_factor", scale_factor), ("scale_window", scale_window)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"The argument '{name}' must be a positive int, but got {value!r}")
        self.loss_scale, self.scale_factor, self.scale_window = init_loss_scale, scale_factor, scale_window

    def get_loss_scale(self):
        """That it begins with; the running one is the step's `loss_scale`."""
        return self.loss_scale

    def get_drop_overflow_update(self):
        return True

    def _setting(self):
        return f"dynamic,{self.loss_scale},{self.scale_factor},{self.scale_window}"
