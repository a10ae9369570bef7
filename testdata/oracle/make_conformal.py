# SPDX-License-Identifier: BSD-3-Clause
"""Writes ../golden/conformal.json.gz: sets and intervals by MAPIE 1.6.0 and crepes 0.9.0, and what MAPIE measures of them.

Run with numpy 2.4.6, scikit-learn 1.9.1, mapie 1.6.0 and crepes 0.9.0. Rows are random, of a seed, without ties. Random numbers that MAPIE draws are
in the file (calibration_u, u), since candor draws others.
"""

import gzip
import json
import pathlib
import warnings

import numpy as np
from crepes import ConformalClassifier, ConformalRegressor
from crepes.extras import hinge
from mapie.classification import SplitConformalClassifier
from mapie.conformity_scores import APSConformityScore, RAPSConformityScore, ResidualNormalisedScore
from mapie.metrics.classification import (classification_coverage_score, classification_mean_width_score, classification_ssc)
from mapie.metrics.regression import (regression_coverage_score, regression_mean_width_score, regression_mwi_score, regression_ssc)
from mapie.regression import ConformalizedQuantileRegressor, SplitConformalRegressor
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

warnings.simplefilter("ignore")
rng = np.random.default_rng(20261126)


class Given(ClassifierMixin, BaseEstimator):
    """Its probabilities are the first columns of X; the last numbers the rows."""

    def __init__(self, k):
        self.k = k
        self.classes_ = np.arange(k)

    def fit(self, X, y):
        return self

    def predict_proba(self, X):
        return np.asarray(X)[:, : self.k]

    def predict(self, X):
        return self.predict_proba(X).argmax(1)

    def __sklearn_is_fitted__(self):
        return True


class Column(RegressorMixin, BaseEstimator):
    def __init__(self, at):
        self.at = at

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.asarray(X)[:, self.at]

    def __sklearn_is_fitted__(self):
        return True


def rows(n, k):
    p = rng.dirichlet(np.full(k, 0.6), n)
    p = np.maximum(p, 1e-4)
    p /= p.sum(1, keepdims=True)
    q = p ** 0.7
    q /= q.sum(1, keepdims=True)
    y = np.array([rng.choice(k, p=r) for r in q])
    return p, y


def sets(s):
    return ["".join("1" if v else "0" for v in r) for r in s]


classes = []
for k, n, m in ((2, 119, 60), (5, 203, 80), (20, 411, 60)):
    p, y = rows(n, k)
    q, z = rows(m, k)
    case = {"k": k, "p": p.tolist(), "y": y.tolist(), "q": q.tolist(), "z": z.tolist(), "sets": []}
    X, T = np.c_[p, np.arange(n)], np.c_[q, np.arange(m)]

    def put(peer, method, coverage, s, **more):
        case["sets"].append({"peer": peer, "method": method, "coverage": coverage, "sets": sets(s)} | more)

    for coverage in (0.8, 0.9, 0.95):
        c = SplitConformalClassifier(Given(k), confidence_level=coverage, conformity_score="lac", prefit=True).conformalize(X, y)
        s = c.predict_set(T)[1][:, :, 0]
        put("mapie", "lac", coverage, s, threshold=float(c._mapie_classifier.conformity_score_function_.quantiles_[0]),
            mean=float(classification_mean_width_score(s[:, :, None])[0]), covered=float(classification_coverage_score(z, s)[0]),
            ssc=[None if np.isnan(v) else float(v) for v in classification_ssc(z, s)[0]])
        if k > 2:  # MAPIE refuses APS for two classes
            for last, method in ((True, "aps(keep_last)"), ("randomized", "aps(randomized)")):
                c = SplitConformalClassifier(Given(k), confidence_level=coverage, conformity_score=APSConformityScore(), prefit=True, random_state=7).conformalize(X, y)
                s = c.predict_set(T, conformity_score_params={"include_last_label": last})[1][:, :, 0]
                f = c._mapie_classifier.conformity_score_function_
                put("mapie", method, coverage, s, threshold=float(f.quantiles_[0]), calibration_u=np.random.RandomState(7).uniform(size=n).tolist(),
                    u=np.random.RandomState(7).uniform(size=m).tolist())
            c = SplitConformalClassifier(Given(k), confidence_level=coverage, conformity_score=RAPSConformityScore(size_raps=0.2), prefit=True, random_state=7).conformalize(X, y)
            s = c.predict_set(T, conformity_score_params={"include_last_label": True})[1][:, :, 0]
            f = c._mapie_classifier.conformity_score_function_
            held = set(np.asarray(f.X_raps)[:, -1].astype(int).tolist())
            kept = np.asarray([i for i in range(n) if i not in held])
            # Its calibration rows are in the order of the split.
            scores = np.asarray(f.conformity_scores_ if hasattr(f, "conformity_scores_") else c._mapie_classifier.conformity_scores_).ravel()
            put("mapie", f"raps(lambda={float(np.ravel(f.lambda_star)[0])!r},k={int(np.ravel(f.k_star)[0])},keep_last)", coverage, s, threshold=float(f.quantiles_[0]), kept=kept.tolist(),
                scores=scores.tolist())
        a, t = hinge(p, np.arange(k), y), hinge(q)
        c = ConformalClassifier().fit(a)
        put("crepes", "lac", coverage, c.predict_set(t, confidence=coverage, smoothing=False))
        c = ConformalClassifier().fit(a, bins=y)
        # Each class is a category of its own, as WrapClassifier does with class_cond.
        s = np.array([c.predict_set(t, bins=np.full(m, j), confidence=coverage, smoothing=False)[:, j] for j in range(k)]).T
        put("crepes", "lac(by_class)", coverage, s)
    classes.append(case)

numbers = []
for n, m in ((99, 50), (317, 101)):
    def forecasts(n):
        mean, sd = rng.normal(size=n) * 3, rng.gamma(4, 0.3, n)
        y = mean + sd * rng.standard_t(5, n) + 0.2
        return np.c_[mean, sd, mean - 1.3 * sd, mean + 1.1 * sd], y

    X, y = forecasts(n)
    T, z = forecasts(m)
    case = {"x": X.tolist(), "y": y.tolist(), "t": T.tolist(), "z": z.tolist(), "intervals": []}
    for coverage in (0.7, 0.85, 0.9):
        def put(peer, method, i):
            e = {"peer": peer, "method": method, "coverage": coverage, "intervals": np.asarray(i).tolist()}
            j = np.asarray(i)[:, :, None]
            e |= {"covered": float(regression_coverage_score(z, j)[0]), "width": float(regression_mean_width_score(j)[0]), "winkler": float(regression_mwi_score(z, j, coverage))}
            if method != "split":
                e["ssc"] = regression_ssc(z, j, num_bins=3)[0].tolist()
            case["intervals"].append(e)

        c = SplitConformalRegressor(Column(0), confidence_level=coverage, prefit=True).conformalize(X, y)
        put("mapie", "split", c.predict_interval(T)[1][:, :, 0])
        score = ResidualNormalisedScore(residual_estimator=Column(1), prefit=True)
        c = SplitConformalRegressor(Column(0), confidence_level=coverage, conformity_score=score, prefit=True).conformalize(X, y)
        try:
            put("mapie", "normalized", c.predict_interval(T)[1][:, :, 0])
        except Exception as e:
            print("normalized:", e)
        c = ConformalizedQuantileRegressor([Column(2), Column(3), Column(0)], confidence_level=coverage, prefit=True).conformalize(X, y)
        put("mapie", "cqr", c.predict_interval(T, symmetric_correction=True)[1][:, :, 0])
        put("crepes", "split", ConformalRegressor().fit(y - X[:, 0]).predict_int(T[:, 0], confidence=coverage))
        put("crepes", "normalized", ConformalRegressor().fit(y - X[:, 0], sigmas=X[:, 1]).predict_int(T[:, 0], sigmas=T[:, 1], confidence=coverage))
    numbers.append(case)

out = pathlib.Path(__file__).parent.parent / "golden" / "conformal.json.gz"
with open(out, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as f:
    f.write(json.dumps({"classes": classes, "numbers": numbers}, separators=(",", ":")).encode())
print(out.stat().st_size)
