"""Conformal prediction: sets and intervals that hold the truth as often as promised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Optional

import numpy as np

from . import _arrays
from ._arrays import Array, Data
from ._command import Input, Output, Word, run
from ._evaluate import beside, one
from ._mapfile import MapFile
from ._options import flags
from ._result import Document, read
from .errors import ProgramError, UsageError

_NUMBERS = ("split", "normalized", "normalised", "cqr")
"""Methods for forecasts of numbers."""


class Coverage(Document):
    """How often sets or intervals hold the truth, and how large they are: a mapping of the keys of candor-conformal/1."""

    @property
    def verdict(self) -> str:
        """What it says, for people."""
        return str(self["verdict"])

    def __repr__(self) -> str:
        return f"<candor.Coverage: {' '.join(self.verdict.split())}>"


class ConformalMap(MapFile):
    """A conformal map. It makes sets or intervals of other predictions of the same kind, and never changes.

    `bytes(m)` are the file that `candor conformal fit` writes, in JSON. Maps are equal where their bytes are, and they pickle.
    """

    __slots__ = ()

    def apply(
        self,
        probs: Any = None,
        *,
        logits: Any = None,
        logprobs: Any = None,
        mean: Any = None,
        std: Any = None,
        quantiles: Any = None,
        levels: Optional[Sequence[float]] = None,
        **options: Any,
    ) -> Array:
        """Return which classes each set holds, (N, K) of bool, or the ends of the intervals, (N, 2) of float64.

        Args:
            probs: probabilities, shape (N, K), or P(y = 1), (N,), whose sets are of two classes.
            logits: logits instead.
            logprobs: natural logarithms of probabilities instead.
            mean: means of forecasts instead, (N,), for split and with `std` for normalized.
            std: standard deviations, (N,).
            quantiles: quantiles of forecasts instead, (N, L), for cqr, which takes the first and the last.
            levels: their levels, between 0 and 1, rising.
            **options: flags of `candor conformal apply`, with _ in place of -.

        Raises:
            DataError: the predictions cannot be used, or are not of the kind or the number of classes that the map was fitted to.
        """
        words: list[Word] = ["conformal", "apply", Input("the map", self._data)]
        more, _, _ = _predictions(self.method, probs, logits, logprobs, mean, std, quantiles, levels, None)
        words += [*more, "--output", "-", *flags(options)]
        with ExitStack() as stack:
            done = run(words, stack)
            try:
                out: Array = np.load(done.out, allow_pickle=False)
            except (EOFError, ValueError) as e:
                raise ProgramError(f"the command candor printed no array ({e}); is CANDOR_BINARY another program?") from e
        return out if _of_numbers(self.method) else out != 0

    def evaluate(
        self,
        probs: Any = None,
        *,
        logits: Any = None,
        logprobs: Any = None,
        mean: Any = None,
        std: Any = None,
        quantiles: Any = None,
        levels: Optional[Sequence[float]] = None,
        labels: Any = None,
        observed: Any = None,
        groups: Any = None,
        classes: Optional[Sequence[Any]] = None,
        **options: Any,
    ) -> Coverage:
        """Tell how often the sets or intervals of labelled rows hold the truth, beside what the calibration rows promise.

        Args:
            probs: predictions, as for `apply`, and so are the other kinds.
            logits: logits instead.
            logprobs: natural logarithms of probabilities instead.
            mean: means of forecasts instead.
            std: standard deviations.
            quantiles: quantiles of forecasts instead.
            levels: their levels.
            labels: the true classes, (N,), as in `evaluate`.
            observed: what was observed, (N,), for forecasts.
            groups: values that rows are grouped by, as in `evaluate`: the coverage is also given for each group.
            classes: the classes in the order of the columns, as in `evaluate`.
            **options: flags of `candor conformal eval`, with _ in place of -.
        """
        words: list[Word] = ["conformal", "eval", "--map", Input("the map", self._data)]
        more, a, beside_them = _predictions(self.method, probs, logits, logprobs, mean, std, quantiles, levels, _truth(self.method, labels, observed))
        words += more
        return _coverage(words, a, labels, beside_them, groups, classes, options)

    @property
    def coverage(self) -> float:
        """The promised coverage."""
        return float(self.document["coverage"])

    @property
    def report(self) -> Coverage:
        """What the fit told, as candor-conformal/1; empty for a map that was read from a file."""
        return Coverage(self._report or {})

    def __repr__(self) -> str:
        return f"<candor.ConformalMap: {self.method}, coverage {self.coverage}>"


def conformalize(
    method: str,
    probs: Any = None,
    *,
    logits: Any = None,
    logprobs: Any = None,
    mean: Any = None,
    std: Any = None,
    quantiles: Any = None,
    levels: Optional[Sequence[float]] = None,
    labels: Any = None,
    observed: Any = None,
    coverage: float = 0.9,
    classes: Optional[Sequence[Any]] = None,
    **options: Any,
) -> ConformalMap:
    """Find the threshold of sets or intervals that hold the truth with a probability, from rows that the model was not trained on.

    Args:
        method: lac, aps or raps for classes; split, normalized or cqr for numbers; with options, as "aps(randomized)". docs/conformal.md says
            which to use.
        probs: probabilities, shape (N, K), or P(y = 1), (N,).
        logits: logits instead.
        logprobs: natural logarithms of probabilities instead.
        mean: means of forecasts instead, (N,), for split and with `std` for normalized.
        std: standard deviations, (N,).
        quantiles: quantiles of forecasts instead, (N, L), for cqr, which takes the first and the last.
        levels: their levels, between 0 and 1, rising.
        labels: the true classes, (N,), as in `evaluate`.
        observed: what was observed, (N,), for forecasts.
        coverage: the share of later rows whose set or interval is to hold the truth.
        classes: the classes in the order of the columns, as in `evaluate`.
        **options: flags of `candor conformal fit`, with _ in place of -: seed=1.

    >>> import numpy as np
    >>> p = np.tile([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]], (40, 1))
    >>> m = conformalize("lac", p, labels=np.tile([0, 1, 2, 0, 2, 2], 20), coverage=0.8)
    >>> m.apply([[0.9, 0.05, 0.05], [0.4, 0.5, 0.1]])
    array([[ True, False, False],
           [False,  True, False]])
    >>> m.evaluate(p, labels=np.tile([0, 1, 2], 40))["all"]["covered"]
    1
    """
    words: list[Word] = ["conformal", "fit", method, "--coverage", repr(float(coverage))]
    more, a, beside_them = _predictions(method, probs, logits, logprobs, mean, std, quantiles, levels, _truth(method, labels, observed))
    fitted = Output()
    words += [*more, "--output", fitted]
    report = _coverage(words, a, labels, beside_them, None, classes, options)
    return ConformalMap(fitted.data, dict(report))


def evaluate_sets(
    sets: Any,
    *,
    labels: Any,
    coverage: Optional[float] = None,
    groups: Any = None,
    classes: Optional[Sequence[Any]] = None,
    **options: Any,
) -> Coverage:
    """Tell how often sets of classes hold the truth, and how large they are.

    Args:
        sets: which classes each set holds, (N, K): bool, or 0 and 1.
        labels: the true classes, (N,), as in `evaluate`.
        coverage: the share that the sets are meant to cover.
        groups: values that rows are grouped by, as in `evaluate`.
        classes: the classes in the order of the columns, as in `evaluate`.
        **options: flags of `candor conformal eval`, with _ in place of -.

    >>> evaluate_sets([[True, False], [True, True], [False, False]], labels=[0, 1, 1])["sets"]["empty"]
    0.3333333333333333
    """
    a = _arrays.as_array("sets", sets)
    if a.dtype.kind in "biu":
        a = a.astype(np.float32)
    scores = _arrays.scores("sets", a)
    words: list[Word] = ["conformal", "eval", Input("sets", scores, once=True)]
    return _coverage(words, scores, labels, None, groups, classes, {"coverage": coverage, **options}, "sets")


def evaluate_intervals(intervals: Any, *, observed: Any, coverage: Optional[float] = None, groups: Any = None, **options: Any) -> Coverage:
    """Tell how often intervals of numbers hold what was observed, and how wide they are.

    Args:
        intervals: their ends, (N, 2).
        observed: what was observed, (N,).
        coverage: the share that the intervals are meant to cover; the interval score needs it.
        groups: values that rows are grouped by, as in `evaluate`.
        **options: flags of `candor conformal eval`, with _ in place of -.

    >>> evaluate_intervals([[0, 1], [0, 2], [1, 3]], observed=[0.5, 3, 2])["intervals"]["mean_width"]
    1.6666666666666667
    """
    a = _arrays.as_array("intervals", intervals)
    scores = _arrays.scores("intervals", a.astype(float) if a.dtype.kind in "iu" else a)
    words: list[Word] = ["conformal", "eval", Input("intervals", scores, once=True), "--intervals"]
    return _coverage(words, scores, None, observed, groups, None, {"coverage": coverage, **options}, "intervals")


def _of_numbers(method: str) -> bool:
    return method.split("(")[0].strip() in _NUMBERS


def _truth(method: str, labels: Any, observed: Any) -> Any:
    """Return what was observed, for methods for numbers."""
    name, given, other = ("observed", observed, labels) if _of_numbers(method) else ("labels", labels, observed)
    if given is None or other is not None:
        raise UsageError(f"{method} takes {name}=" + (" and no " + ("labels=" if name == "observed" else "observed=") if other is not None else ""))
    return observed


def _predictions(
    method: str, probs: Any, logits: Any, logprobs: Any, mean: Any, std: Any, quantiles: Any, levels: Optional[Sequence[float]], observed: Any
) -> tuple[list[Word], Data, Any]:
    """Return the words for predictions, the predictions, and what was observed unless it is in them."""
    kind, value = one(probs=probs, logits=logits, logprobs=logprobs, mean=mean, quantiles=quantiles)
    if std is not None and kind != "mean":
        raise UsageError(f"std= goes with mean=, and {kind}= is given")
    if (levels is None) == (kind == "quantiles"):
        raise UsageError("levels= says which quantiles these are, as [0.05, 0.95]" if levels is None else "levels= goes with quantiles=")
    if kind != "mean":
        a = _arrays.scores(kind, value)
        words: list[Word] = [Input(kind, a, once=True)]
        if kind in ("logits", "logprobs"):
            words += ["--input", kind]
        if _arrays.is_bfloat16(value):
            words.append("--bfloat16")
        if levels is not None:
            words += ["--levels", ",".join(map(repr, map(float, levels)))]
        return words, a, observed
    m = np.asarray(_arrays.as_array("mean", mean), dtype=float)
    if std is None:
        return [Input("mean", m, once=True)], m, observed
    columns = [m]
    for name, x in (("std", std), ("observed", observed)):
        if x is not None:
            column = np.asarray(_arrays.as_array(name, x), dtype=float)
            _arrays.same_length("mean", len(m), **{name: column})
            columns.append(column)
    a = np.stack(columns, axis=1)
    return [Input("mean", a, once=True)], a, None


def _coverage(
    words: list[Word],
    a: Data,
    labels: Any,
    observed: Any,
    groups: Any,
    classes: Optional[Sequence[Any]],
    options: Mapping[str, Any],
    first: str = "predictions",
) -> Coverage:
    """Return the document of a fit or an evaluation."""
    truth = labels if observed is None else _arrays.numbers("observed", observed)
    if observed is not None:
        _arrays.same_length(first, len(a), observed=truth)
    words += beside(first, len(a), labels=truth, groups=groups, classes=classes, options=dict(options), once=True)
    words += flags(options)
    with ExitStack() as stack:
        return Coverage(read(run([*words, "--json"], stack).out))
