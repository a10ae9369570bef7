"""Metrics as scorers of scikit-learn."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import candor

sklearn = pytest.importorskip("sklearn")

from sklearn.datasets import load_breast_cancer, load_iris  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.metrics import make_scorer as theirs  # noqa: E402
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate  # noqa: E402
from sklearn.naive_bayes import GaussianNB  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.svm import LinearSVC  # noqa: E402

X, Y = load_iris(return_X_y=True)
TEXT = np.array(["setosa", "versicolor", "virginica"])[Y]
BX, BY = load_breast_cancer(return_X_y=True)
LINEAR = make_pipeline(StandardScaler(), LogisticRegression())


@pytest.mark.parametrize("labels", [Y, TEXT, Y * 10 - 5], ids=["numbers", "text", "others"])
def test_is_their_score(labels: np.ndarray) -> None:
    ours = cross_val_score(GaussianNB(), X, labels, scoring=candor.make_scorer("nll"))
    want = cross_val_score(GaussianNB(), X, labels, scoring=theirs(log_loss, greater_is_better=False, response_method="predict_proba"))
    np.testing.assert_allclose(ours, want, rtol=1e-9)


def test_several_of_a_binary_task() -> None:
    scoring = {"brier": candor.make_scorer("brier"), "auroc": candor.make_scorer("auroc"), "ece": candor.make_scorer("ece", bins=10)}
    found = cross_validate(LINEAR, BX, BY, scoring=scoring)
    for name, score in (("brier", theirs(brier_score_loss, greater_is_better=False, response_method="predict_proba")), ("auroc", theirs(roc_auc_score, response_method="predict_proba"))):
        np.testing.assert_allclose(found[f"test_{name}"], cross_val_score(LINEAR, BX, BY, scoring=score), rtol=1e-9)
    assert (found["test_ece"] < 0).all()


def test_sign_of_what_is_best_at_zero() -> None:
    clf = GaussianNB().fit(BX, BY)
    bias = candor.evaluate(clf.predict_proba(BX), labels=BY, metrics="bias").bias
    assert candor.make_scorer("bias")(clf, BX, BY) == -abs(bias) < 0


def test_search_of_two_processes() -> None:
    """Workers of joblib load the scorer by pickle; the parameter with the least loss is refitted."""
    search = GridSearchCV(LogisticRegression(max_iter=2000), {"C": [1e-4, 1.0]}, scoring=candor.make_scorer("nll"), n_jobs=2, cv=3)
    search.fit(X, TEXT)
    assert search.best_params_ == {"C": 1.0}
    assert search.score(X, TEXT) == -candor.evaluate(search.predict_proba(X), labels=TEXT, classes=search.classes_).nll


def test_margins_are_logits() -> None:
    clf = LinearSVC().fit(BX, BY)
    assert candor.make_scorer("nll")(clf, BX, BY) == -candor.evaluate(logits=clf.decision_function(BX), labels=BY).nll


def test_weights_and_pickle() -> None:
    clf, weights = GaussianNB().fit(X, TEXT), np.arange(1.0, len(X) + 1)
    scorer = pickle.loads(pickle.dumps(candor.make_scorer("brier", confidence=0.9)))
    assert scorer(clf, X, TEXT, sample_weight=weights) == -candor.evaluate(clf.predict_proba(X), labels=Y, weights=weights).brier
    assert repr(scorer) == "make_scorer('brier', confidence=0.9)"


@pytest.mark.parametrize(
    "metric, options, says",
    [
        ("bier", {}, "there is no metric"),
        ("default", {}, "a scorer has one"),
        ("confidence", {}, "no better or worse"),
        ("nll", {"bin": 3}, "bin= "),
    ],
)
def test_faults_are_said_at_once(metric: str, options: dict[str, int], says: str) -> None:
    with pytest.raises(candor.UsageError, match=says):
        candor.make_scorer(metric, **options)


def test_needs_probabilities() -> None:
    class Says:
        classes_ = np.array([0, 1])

    with pytest.raises(TypeError, match="neither predict_proba nor decision_function"):
        candor.make_scorer("nll")(Says(), X, Y)
