"""Estimators of scikit-learn: recalibration of probabilities, alone and around a classifier."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, TransformerMixin, clone
from sklearn.model_selection import cross_val_predict
from sklearn.utils import assert_all_finite, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, has_fit_parameter, validate_data

from ._arrays import Array
from ._recalibrate import Map, recalibrate

__all__ = ["CalibratedClassifier", "Recalibrator"]


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
        method = self._response(self.estimator)
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
        method = self._response(self.estimator_)
        p = self.map_.apply(**{_KINDS[method]: getattr(self.estimator_, method)(X)})
        return p if p.ndim == 2 else np.column_stack([1 - p, p])

    def predict(self, X: Any) -> Array:
        """Return the most probable class of each row, shape (N,)."""
        p = self.predict_proba(X)
        found: Array = self.classes_[np.argmax(p, axis=1)]
        return found

    @staticmethod
    def _response(estimator: Any) -> str:
        for method in _KINDS:
            if hasattr(estimator, method):
                return method
        raise TypeError(f"{type(estimator).__name__} has neither predict_proba nor decision_function")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self.estimator).input_tags.sparse
        return tags
