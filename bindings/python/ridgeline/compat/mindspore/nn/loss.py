"""Losses: Cells of outputs and labels."""

from __future__ import annotations

from .... import graph
from .... import nn as here
from ...._core import Loss
from .._cell import Cell
from .._values import GraphTensor, operand, tensor


TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class LossBase(Cell):
    """Losses of one's own: construct(logits, labels) ends in get_loss(x).

    reduction: "mean", "sum" or "none" of the numbers
    """

    def __init__(self, reduction="mean"):
        super().__init__()
        if reduction is None:
            reduction = "none"
        if reduction not in ("mean", "sum", "none"):
            raise ValueError(f"reduction is {reduction!r} (allowed: mean, sum, none)")
        self.reduction = reduction

    def get_loss(self, x, weights=1.0):
        x = tensor(x) * weights
        if self.reduction == "mean":
            return x.mean()
        return x.sum() if self.reduction == "sum" else x


class SoftmaxCrossEntropyWithLogits(LossBase):
    """The cross-entropy of the softmax of logits [N,C].

    sparse: labels are numbers i32 [N]; False: shares f32 [N,C]
    reduction: a Model trains by "mean" or "sum"
    """

    def __init__(self, sparse=False, reduction="none"):
        super().__init__(reduction)
        self.sparse = sparse

    def construct(self, logits, labels):
        x, labels = tensor(logits), tensor(labels)
        if x.ndim != 2 or labels.ndim != (1 if self.sparse else 2):
            raise ValueError(f"SoftmaxCrossEntropyWithLogits(sparse={self.sparse}) takes logits [N,C] and labels "
                             f"{'[N]' if self.sparse else '[N,C]'}, not {list(x.shape)} and {list(labels.shape)}")
        return self.get_loss(GraphTensor(graph.softmax_cross_entropy(x.lies, labels.lies)[0]))

    def _loss(self):
        """The engine's own, by which evaluations also count hits."""
        return here.SoftmaxCrossEntropy() if self.reduction == "mean" else None


class MSELoss(LossBase):
    """The squared differences."""

    def construct(self, logits, labels):
        x = tensor(logits) - labels
        return self.get_loss(x * x)


class L1Loss(LossBase):
    """The absolute differences."""

    def construct(self, logits, labels):
        x = tensor(logits) - labels
        return self.get_loss(GraphTensor(graph.abs(x.lies), x.images))


def loss_of(loss):
    """What `ridgeline.train.Model` takes for a loss Cell, or for a function of two values."""
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, LossBase) and loss.reduction == "none":
        raise ValueError(f"{type(loss).__name__}(reduction='none'): a Model trains by one number, reduction='mean' or "
                         "'sum'")
    own = loss._loss() if isinstance(loss, SoftmaxCrossEntropyWithLogits) else None
    if own is not None:
        return own

    def of_values(outputs, labels) -> Any:
        result = operand(loss(GraphTensor(outputs), GraphTensor(labels) if labels is not None else None))
        return result.plain() if isinstance(result, GraphTensor) else result

    return of_values
