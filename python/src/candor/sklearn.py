"""For scikit-learn: recalibration of probabilities, alone and around a classifier, and metrics as scorers."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, TransformerMixin, clone
from sklearn.model_selection import cross_val_predict
from sklearn.utils import assert_all_finite, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, has_fit_parameter, validate_data

from ._arrays import Array
from ._evaluate import evaluate
from ._recalibrate import Map, recalibrate
from ._result import Metric
from .errors import UsageError

__all__ = ["CalibratedClassifier", "Recalibrator", "Scorer", "make_scorer"]


class Recalibrator(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A map over scores as a transformer: `fit` takes scores and labels, `transform` returns probabilities of the same shape.

    Args:
        method: as in `candor.recalibrate`.
        input: what the scores are: probs, logits or logprobs.
        options: flags of `candor recal fit`, with _ in place of -, as {"seed": 1}.

    Attributes:
        map_: the fitted `candor.Map`.
        classes_: the classes, in the order of the columns.
        n_features_in_: the number of columns.

    >>> import numpy as np
    >>> p = np.tile([[0.9, 0.1], [0.2, 0.8]], (50, 1))
    >>> y = np.tile([0, 1, 0, 1, 1, 1, 0, 0, 0, 1], 10)
    >>> Recalibrator("platt").fit(p, y).transform(p).shape
    (100, 2)
    """

    def __init__(self, method: str = "temperature", *, input: str = "probs", options: Optional[dict[str, Any]] = None) -> None:
        self.method = method
        self.input = input
        self.options = options

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Recalibrator:
        """Fit the map.

        Args:
            X: scores, shape (N, K), a column for each class in sorted order; (N, 1) is P(y = 1).
            y: the true classes, (N,), in any form that sorts: numbers or text.
            sample_weight: a weight for each row, (N,).
        """
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) != max(2, X.shape[1]):
            raise ValueError(f"y has {len(self.classes_)} class{'es' * (len(self.classes_) != 1)}, and X {X.shape[1]} columns: there is one for each class")
        given = {self.input: _scores(X), "labels": labels, "weights": sample_weight}
        self.map_: Map = recalibrate(self.method, **given, **(self.options or {}))
        return self

    def transform(self, X: Any) -> Array:
        """Return recalibrated probabilities, in the shape of X."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return self.map_.apply(**{self.input: _scores(X)}).reshape(X.shape)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _scores(X: Array) -> Array:
    return X[:, 0] if X.shape[1] == 1 else X


_KINDS = {"predict_proba": "probs", "decision_function": "logits"}
"""What methods of classifiers return."""


def _response(estimator: Any) -> str:
    for method in _KINDS:
        if hasattr(estimator, method):
            return method
    raise TypeError(f"{type(estimator).__name__} has neither predict_proba nor decision_function")


class CalibratedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier with recalibrated probabilities, as scikit-learn's CalibratedClassifierCV with ensemble=False.

    The map is fitted to predictions of rows that the classifier was not trained on, by cross-validation; the classifier is then fitted to all
    rows. A classifier that is fitted already goes into scikit-learn's FrozenEstimator: all rows are then for the map.

    Args:
        estimator: a classifier with predict_proba, or with decision_function, whose values are taken as logits.
        method: as in `candor.recalibrate`. The default is what scikit-learn calls sigmoid; it has a solution for any labels, which temperature
            and platt do not have where the classifier is always right, or where it says nothing.
        cv: folds, as cross_val_predict takes them.
        options: flags of `candor recal fit`, with _ in place of -.

    Attributes:
        estimator_: the classifier, fitted to all rows.
        map_: the fitted `candor.Map`; `map_.before` and `map_.after` tell what it does.
        classes_: the classes.
        n_features_in_: the number of features, where the classifier knows it.

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> CalibratedClassifier(GaussianNB()).fit(X, y).predict_proba(X).shape
    (150, 3)
    """

    def __init__(self, estimator: Any, *, method: str = "platt(smoothed)", cv: Any = None, options: Optional[dict[str, Any]] = None) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.options = options

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> CalibratedClassifier:
        """Fit the classifier and the map.

        Args:
            X: features, shape (N, F), as the classifier takes them.
            y: the true classes, (N,).
            sample_weight: a weight for each row, (N,), of the map, and of the classifier where it takes weights.
        """
        y = column_or_1d(y, warn=True)
        if y.dtype.kind == "f":
            assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("y has one class; a classifier needs two")
        method = _response(self.estimator)
        params = {}
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X)
            if has_fit_parameter(self.estimator, "sample_weight"):
                params["sample_weight"] = sample_weight
        scores = cross_val_predict(clone(self.estimator), X, y, cv=self.cv, method=method, params=params)
        self.map_: Map = recalibrate(self.method, **{_KINDS[method]: scores}, labels=labels, weights=sample_weight, **(self.options or {}))
        self.estimator_ = clone(self.estimator).fit(X, y, **params)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def predict_proba(self, X: Any) -> Array:
        """Return recalibrated probabilities, shape (N, K), a column for each of `classes_`."""
        check_is_fitted(self)
        method = _response(self.estimator_)
        p = self.map_.apply(**{_KINDS[method]: getattr(self.estimator_, method)(X)})
        return p if p.ndim == 2 else np.column_stack([1 - p, p])

    def predict(self, X: Any) -> Array:
        """Return the most probable class of each row, shape (N,)."""
        p = self.predict_proba(X)
        found: Array = self.classes_[np.argmax(p, axis=1)]
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self.estimator).input_tags.sparse
        return tags


class Scorer:
    """A metric as a scorer: what `make_scorer` returns. It pickles."""

    def __init__(self, metric: str, options: dict[str, Any]) -> None:
        self.metric = metric
        self.options = options

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the score of a fitted classifier: the more, the better.

        Args:
            estimator: a classifier with predict_proba, or with decision_function, whose values are taken as logits.
            X: features, as the classifier takes them.
            y: the true classes, (N,), numbers or text.
            sample_weight: a weight for each row, (N,).
        """
        method = _response(estimator)
        scores = {_KINDS[method]: getattr(estimator, method)(X)}
        return _signed(_value(self.metric, self.options, labels=y, classes=estimator.classes_, weights=sample_weight, **scores))

    def __repr__(self) -> str:
        return f"make_scorer({', '.join([repr(self.metric), *(f'{k}={v!r}' for k, v in self.options.items())])})"


def make_scorer(metric: str, **options: Any) -> Scorer:
    """Return a metric as `scoring=` of cross_val_score, GridSearchCV and their like.

    The sign is such that more is better: a metric of which less is better is negated, and of one that is best at 0 it is the absolute value.

    Args:
        metric: its name, with options, as "ece(bins=30)".
        **options: flags of `candor eval`, with _ in place of -, as in `candor.evaluate`.

    Raises:
        UsageError: there is no such metric, or it has no better or worse.

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> cross_val_score(GaussianNB(), X, y, scoring=make_scorer("brier")).round(2)
    array([-0.13, -0.06, -0.12, -0.08, -0.  ])
    """
    # The searches of scikit-learn make warnings of errors, so what is wrong is said here, of two rows that any task has.
    _signed(_value(metric, options, probs=[[0.9, 0.1], [0.2, 0.8]], labels=[0, 1]))
    return Scorer(metric, options)


def _value(metric: str, options: dict[str, Any], **given: Any) -> Metric:
    found = list(evaluate(**given, metrics=metric, state=False, **options).metrics.values())
    if len(found) != 1:
        raise UsageError(f"{metric!r} are {len(found)} metrics; a scorer has one")
    return found[0]


def _signed(m: Metric) -> float:
    if m.better == "none":
        raise UsageError(f"{m.name} has no better or worse, so it makes no scorer; which metrics have, `candor metrics` says")
    return {"higher": float(m), "lower": -float(m), "zero": -abs(m)}[m.better]
