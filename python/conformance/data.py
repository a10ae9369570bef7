"""The data that candor and its peers are compared on: real predictions from the repository's samples, and made ones that are like them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Union

import numpy as np

import candor

TESTDATA = Path(__file__).resolve().parents[2] / "testdata"


@dataclass(frozen=True)
class Scores:
    """Probabilities: p is (N,) for the event, or (N, K); y is the class; w are weights, if there are any."""

    name: str
    p: Any
    y: Any
    w: Any = None

    @property
    def two(self) -> Any:
        """Both columns of a binary set."""
        return np.stack([1 - self.p, self.p], axis=1)

    def evaluate(self, spec: str, **options: Any) -> candor.Result:
        return candor.evaluate(self.p, labels=self.y, weights=self.w, metrics=spec, state=False, **options)


@dataclass(frozen=True)
class Normals:
    """Normal forecasts."""

    name: str
    mean: Any
    std: Any
    y: Any

    @property
    def triple(self) -> tuple[Any, Any, Any]:
        return self.mean, self.std, self.y

    def evaluate(self, spec: str, **options: Any) -> candor.Result:
        spread = {"scale": self.std} if "distribution" in options else {"std": self.std}
        return candor.evaluate_forecast(mean=self.mean, **spread, observed=self.y, metrics=spec, state=False, **options)


@dataclass(frozen=True)
class Quantiles:
    """Quantiles at levels, symmetric about the median."""

    name: str
    q: Any
    levels: Any
    y: Any

    def evaluate(self, spec: str, **options: Any) -> candor.Result:
        return candor.evaluate_forecast(quantiles=self.q, levels=self.levels, observed=self.y, metrics=spec, state=False, **options)


@dataclass(frozen=True)
class Samples:
    """Samples of a forecast, (N, S)."""

    name: str
    x: Any
    y: Any

    def evaluate(self, spec: str, **options: Any) -> candor.Result:
        return candor.evaluate_forecast(samples=self.x, observed=self.y, metrics=spec, state=False, **options)


@dataclass(frozen=True)
class LogLikelihoods:
    """Log-likelihoods of each row under each draw of a posterior, (N, M)."""

    name: str
    l: Any

    def evaluate(self, spec: str, **options: Any) -> candor.Result:
        return candor.evaluate_files(str(TESTDATA / "examples" / "loglik.npy"), task="loglik", metrics=spec, state=False, **options)


Set = Union[Scores, Normals, Quantiles, Samples, LogLikelihoods]


def _softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def _happens(r: np.random.Generator, p: Any) -> Any:
    return (r.random(len(p)) < p).astype(np.int64)


def _load(name: str) -> Any:
    return np.load(TESTDATA / name)


_r = np.random.default_rng(20261126)

# Of real models: 18 scores are exactly 1, and one is 0.
CANCER = Scores("cancer", _load("sample/breast_cancer_probs.npy").astype(np.float64), _load("sample/breast_cancer_labels.npy").astype(np.int64))
DIGITS = Scores("digits", _softmax(_load("sample/digits_logits.npy").astype(np.float64)), _load("sample/digits_labels.npy").astype(np.int64))

_p = _r.random(5000)
PLAIN = Scores("plain", _p, _happens(_r, _p**1.3))
_p = np.round(_r.random(5000), 2)
TIES = Scores("ties", _p, _happens(_r, _p**1.3))
_p = _r.beta(0.4, 30, 20000)
RARE = Scores("rare", _p, _happens(_r, np.minimum(1, 1.2 * _p)))
WEIGHTED = Scores("weighted", PLAIN.p, PLAIN.y, np.round(_r.exponential(1, 5000), 3))
_x = _r.normal(0, 1.5, (20000, 5))
MADE = Scores("five classes", _softmax(1.4 * _x), np.argmax(_x + _r.gumbel(size=_x.shape), axis=1))

_f = _load("sample/diabetes_gaussian.npz")
DIABETES = Normals("diabetes", _f["mean"], _f["std"], _f["observed"])
_mean, _std = _r.normal(0, 1, 5000), _r.gamma(3, 0.4, 5000)
NORMALS = Normals("normals", _mean, _std, _mean + 1.2 * _std * _r.standard_normal(5000))

DRAWS = Samples("draws", _load("examples/draws.npy").astype(np.float64), _load("examples/observed.npy").astype(np.float64))
_centre = _r.normal(0, 1, 2000)
SAMPLES = Samples("samples", _centre[:, None] + _r.standard_normal((2000, 20)), _centre + 1.3 * _r.standard_normal(2000))

LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
QUANTILES = Quantiles("quantiles", np.quantile(DRAWS.x, LEVELS, axis=1).T.copy(), LEVELS, DRAWS.y)
LOGLIK = LogLikelihoods("log-likelihoods", _load("examples/loglik.npy").astype(np.float64))

BINARY = (CANCER, PLAIN, TIES, RARE)
CLASSES = (DIGITS, MADE)

LEGEND = """\
- `cancer`: 569 rows of a network on scikit-learn's breast cancer data; 18 scores are exactly 1, and one is 0.
- `digits`: 1,797 rows of a network on scikit-learn's digits, 10 classes. Both are the samples of [testdata](../testdata/sample/README.md).
- `plain`: 5,000 rows with scores that are even between 0 and 1; `weighted`: the same with weights; `ties`: scores of two decimals;
  `rare`: 20,000 rows, of which 1.5% are events.
- `five classes`: 20,000 rows of a model that is too sure of itself.
- `diabetes`: 442 normal forecasts of a network; `draws`: 51 samples of each; `quantiles`: five quantiles of these. `normals`: 5,000 forecasts with
  standard deviations that are too small; `samples`: 2,000 forecasts of 20 samples.
- `log-likelihoods`: 442 rows under 200 draws of the posterior of a linear regression."""
