"""Metrics with the names, arguments and shapes of torchmetrics, for loops that are written for it.

Change the import, and leave the loop as it is:

    from candor.torchmetrics import MulticlassCalibrationError

`update` keeps a batch in memory, and folds what has gathered into a state of whole numbers now and then; `compute` evaluates all rows, of all
processes where torch.distributed runs. Unlike torchmetrics, sums are exact, so a value does not depend on batches, processes or the number of rows.

`Evaluation` is the metric that torchmetrics does not have: its `compute` returns the whole `candor.Result`.
"""

from __future__ import annotations

import warnings
from typing import Any, Optional

import torch
from torch import Tensor

from ._evaluate import evaluate
from ._result import Result
from ._state import State

__all__ = [
    "AUROC",
    "Accuracy",
    "BinaryAUROC",
    "BinaryAccuracy",
    "BinaryCalibrationError",
    "CalibrationError",
    "Evaluation",
    "MulticlassAUROC",
    "MulticlassAccuracy",
    "MulticlassCalibrationError",
]

FOLD = 64 << 20
"""Bytes of scores that are kept before they become a state."""


class Evaluation:
    """Everything that `candor.evaluate` says of the rows of all batches.

    Args:
        num_classes: the number of classes, or None for one score a row, of a binary task.
        metrics: as in `candor.evaluate`.
        ignore_index: a label whose rows are left out.
        sync_on_compute: merge the states of all processes, where torch.distributed is initialised.
        **options: as in `candor.evaluate`.

    >>> metric = Evaluation(num_classes=3)
    >>> metric.update(torch.tensor([[2.0, 0.5, 0.1], [0.3, 0.2, 1.5]]), torch.tensor([0, 2]))
    >>> metric.compute().input["rows"]
    2
    """

    def __init__(
        self,
        num_classes: Optional[int] = None,
        *,
        metrics: Any = None,
        ignore_index: Optional[int] = None,
        sync_on_compute: bool = True,
        **options: Any,
    ) -> None:
        if num_classes is not None and num_classes < 2:
            raise ValueError(f"num_classes is {num_classes}; there are two or more")
        self.num_classes, self.ignore_index, self.sync_on_compute = num_classes, ignore_index, sync_on_compute
        self._options = {"metrics": metrics, **options}
        if num_classes == 2:
            self._options["task"] = "classification"
        self.device = torch.device("cpu")
        self.reset()

    def reset(self) -> None:
        """Forget all rows."""
        self._scores: list[Tensor] = []
        self._labels: list[Tensor] = []
        self._bytes = 0
        self._folded: Optional[State] = None

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Add a batch.

        Args:
            preds: probabilities, or logits where any is outside of [0, 1]: shape (N, C, ...), or (N, ...) of a binary task.
            target: the true classes, shape (N, ...).
        """
        scores, labels = self._batch(preds, target)
        self._scores.append(scores)
        self._labels.append(labels)
        self._bytes += scores.numel() * scores.element_size()
        if self._bytes >= FOLD:
            self._fold()

    def _batch(self, preds: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        if not preds.is_floating_point():
            raise ValueError(f"preds holds {preds.dtype}; it takes probabilities or logits, not classes")
        if target.is_floating_point():
            raise ValueError(f"target holds {target.dtype}; it takes numbers of classes")
        self.device = preds.device
        scores = preds.detach()
        if self.num_classes is None:
            if scores.shape != target.shape:
                raise ValueError(f"preds is {tuple(scores.shape)} and target {tuple(target.shape)}; of a binary task they are alike")
            scores = scores.reshape(-1)
        else:
            if scores.ndim != target.ndim + 1 or scores.shape[0] != target.shape[0] or scores.shape[2:] != target.shape[1:]:
                raise ValueError(f"preds is {tuple(scores.shape)} and target {tuple(target.shape)}; they are (N, C, ...) and (N, ...)")
            if scores.shape[1] != self.num_classes:
                raise ValueError(f"preds has {scores.shape[1]} classes, and num_classes is {self.num_classes}")
            if scores.ndim > 2:
                scores = scores.movedim(1, -1).reshape(-1, self.num_classes)
        labels = target.detach().reshape(-1)
        if self.ignore_index is not None:
            kept = labels != self.ignore_index
            scores, labels = scores[kept], labels[kept]
        copied = scores.to("cpu", dtype=torch.float32 if scores.element_size() < 4 else scores.dtype, copy=True)
        if copied.numel():
            low, high = torch.aminmax(copied)
            if low.item() < 0 or high.item() > 1:
                copied = copied.sigmoid_() if self.num_classes is None else copied.softmax(1)
        return copied, labels.to("cpu", copy=True)

    def _evaluated(self, scores: Tensor, labels: Tensor) -> Result:
        return evaluate(scores, labels=labels, progress=False, **self._options)

    def _fold(self) -> None:
        scores, labels = torch.cat(self._scores), torch.cat(self._labels)
        self._scores, self._labels, self._bytes = [], [], 0
        if len(labels):
            state = self._evaluated(scores, labels).state
            self._folded = state if self._folded is None else self._folded + state

    def _all(self) -> Optional[State]:
        if self._scores:
            self._fold()
        dist = torch.distributed
        if not (self.sync_on_compute and dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1):
            return self._folded
        # Every process takes part, one without rows too.
        states: list[Optional[State]] = [None] * dist.get_world_size()
        dist.all_gather_object(states, self._folded)
        parts = [s for s in states if s is not None]
        return State.merge(parts) if parts else None

    def compute(self) -> Any:
        """Return the result of all rows since the last reset."""
        state = self._all()
        if state is None:
            warnings.warn(f"compute of {type(self).__name__} was called before update", stacklevel=2)
            return self._answer(None)
        return self._answer(state.evaluate())

    def _answer(self, result: Optional[Result]) -> Any:
        return result

    def forward(self, preds: Tensor, target: Tensor) -> Any:
        """Add a batch, and return the result of this batch alone."""
        self.update(preds, target)
        scores, labels = self._batch(preds, target)
        return self._answer(self._evaluated(scores, labels) if len(labels) else None)

    __call__ = forward

    def merge_state(self, incoming_state: Evaluation) -> None:
        """Add the rows of another metric of the same kind."""
        if type(incoming_state) is not type(self) or incoming_state._options != self._options:
            raise ValueError("incoming_state is a metric of another kind or with other options")
        if incoming_state._scores:
            incoming_state._fold()
        other = incoming_state._folded
        if other is not None:
            self._folded = other if self._folded is None else self._folded + other

    def to(self, *_: Any, **__: Any) -> Evaluation:
        """Return the metric. Its rows are in the memory of the host, wherever tensors come from."""
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _One(Evaluation):
    """A metric whose value is a tensor, on the device of the last batch."""

    def __init__(self, name: str, num_classes: Optional[int], ignore_index: Optional[int], options: dict[str, Any]) -> None:
        sync = options.pop("sync_on_compute", True)
        super().__init__(num_classes, metrics=name, ignore_index=ignore_index, sync_on_compute=sync, **options)
        self._name = name

    def _answer(self, result: Optional[Result]) -> Tensor:
        value = float("nan") if result is None else float(next(iter(result.metrics.values())))
        return torch.tensor(value, device=self.device)


_NORMS = {"l1": "ece", "l2": "rmsce", "max": "mce"}


def _norm(norm: str) -> str:
    if norm not in _NORMS:
        raise ValueError(f"norm is {norm!r}; it is l1, l2 or max")
    return _NORMS[norm]


class BinaryCalibrationError(_One):
    """Calibration error of a binary task: `ece`, `rmsce` or `mce`, by norm l1, l2 or max, over bins as torchmetrics has them."""

    def __init__(self, n_bins: int = 15, norm: str = "l1", ignore_index: Optional[int] = None, validate_args: bool = True, **options: Any) -> None:
        super().__init__(_norm(norm), None, ignore_index, {"bins": n_bins, "like": "torchmetrics", **options})


class MulticlassCalibrationError(_One):
    """Calibration error of the most probable class: `ece`, `rmsce` or `mce`, by norm l1, l2 or max, over bins as torchmetrics has them."""

    def __init__(
        self, num_classes: int, n_bins: int = 15, norm: str = "l1", ignore_index: Optional[int] = None, validate_args: bool = True, **options: Any
    ) -> None:
        super().__init__(_norm(norm), num_classes, ignore_index, {"bins": n_bins, "like": "torchmetrics", **options})


class BinaryAccuracy(_One):
    """Share of rows that are right: class 1 where the probability is above 1/2."""

    def __init__(self, threshold: float = 0.5, ignore_index: Optional[int] = None, validate_args: bool = True, **options: Any) -> None:
        if threshold != 0.5:
            raise ValueError("threshold is 0.5 here")
        super().__init__("accuracy", None, ignore_index, options)


class MulticlassAccuracy(_One):
    """Share of rows that are right (average="micro"), or the mean of these shares over the classes (macro)."""

    def __init__(
        self,
        num_classes: int,
        top_k: int = 1,
        average: str = "macro",
        ignore_index: Optional[int] = None,
        validate_args: bool = True,
        **options: Any,
    ) -> None:
        if average not in ("micro", "macro") or (average == "macro" and top_k != 1):
            raise ValueError("average is micro, or macro with top_k=1")
        name = "balanced_accuracy" if average == "macro" else "accuracy" if top_k == 1 else f"topk_accuracy(k={top_k})"
        super().__init__(name, num_classes, ignore_index, options)


class BinaryAUROC(_One):
    """Area under the ROC curve, exact: with thresholds=None, as torchmetrics computes it."""

    def __init__(self, thresholds: None = None, ignore_index: Optional[int] = None, validate_args: bool = True, **options: Any) -> None:
        if thresholds is not None:
            raise ValueError("thresholds is None here: the area is exact")
        super().__init__("auroc", None, ignore_index, options)


class MulticlassAUROC(_One):
    """Mean area under the ROC curves of each class against the rest, exact: average="macro" or "weighted", thresholds=None."""

    def __init__(
        self,
        num_classes: int,
        average: str = "macro",
        thresholds: None = None,
        ignore_index: Optional[int] = None,
        validate_args: bool = True,
        **options: Any,
    ) -> None:
        if thresholds is not None or average not in ("macro", "weighted"):
            raise ValueError("average is macro or weighted, and thresholds None: the areas are exact")
        super().__init__(f"auroc(average={average})", num_classes, ignore_index, options)


def _by_task(name: str, binary: type[_One], multiclass: type[_One]) -> Any:
    def make(task: str, num_classes: Optional[int] = None, **options: Any) -> _One:
        if task == "binary":
            return binary(**options)
        if task == "multiclass" and num_classes is not None:
            return multiclass(num_classes=num_classes, **options)
        raise ValueError(f"task is {task!r}; it is binary, or multiclass with num_classes")

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"Return {binary.__name__} or {multiclass.__name__}, by the task: binary, or multiclass with num_classes."
    return make


CalibrationError = _by_task("CalibrationError", BinaryCalibrationError, MulticlassCalibrationError)
Accuracy = _by_task("Accuracy", BinaryAccuracy, MulticlassAccuracy)
AUROC = _by_task("AUROC", BinaryAUROC, MulticlassAUROC)
