"""Recalibration: maps from what a model says to what it should say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Optional, Union

import numpy as np

from . import _arrays
from ._arrays import Array
from ._command import Input, Output, Word, run
from ._evaluate import beside, one
from ._mapfile import MapFile
from ._options import flags
from ._result import Document, Evaluation, read
from .errors import ProgramError


class Map(MapFile):
    """A map that was fitted to scores. It applies to others of the same kind, and never changes.

    `bytes(m)` are the file that `candor recal fit` writes, in JSON. Maps are equal where their bytes are, and they pickle.
    """

    __slots__ = ()

    def apply(self, probs: Any = None, *, logits: Any = None, logprobs: Any = None, **options: Any) -> Array:
        """Return recalibrated probabilities in the shape of the scores, float64 for float64 and else float32.

        Args:
            probs: probabilities, shape (N, K) or (N,).
            logits: logits instead.
            logprobs: natural logarithms of probabilities instead.
            **options: flags of `candor recal apply`, with _ in place of -: as_="logits" returns logits; bounds=True returns p0 and p1 of
                venn_abers behind the probabilities, (N, 3) or (N, 3 K).

        Raises:
            DataError: the scores cannot be used, or are not of the kind or the number of classes that the map was fitted to.
        """
        kind, value = one(probs=probs, logits=logits, logprobs=logprobs)
        a = _arrays.scores(kind, value)
        words: list[Word] = ["recal", "apply", Input("the map", self._data), Input(kind, a, once=True), "--output", "-"]
        if kind != "probs":
            words += ["--input", kind]
        if _arrays.is_bfloat16(value):
            words.append("--bfloat16")
        words += flags({"as" if k == "as_" else k: v for k, v in options.items()})
        with ExitStack() as stack:
            done = run(words, stack)
            try:
                out: Array = np.load(done.out, allow_pickle=False)
            except (EOFError, ValueError) as e:
                raise ProgramError(f"the command candor printed no array ({e}); is CANDOR_BINARY another program?") from e
        # Where a probability would round to 1, a single column becomes two.
        return out[:, 1] if out.ndim > a.ndim and not options.get("bounds") else out

    @property
    def report(self) -> Mapping[str, Any]:
        """What the fit told, as candor-recal/1; empty for a map that was read from a file."""
        return Document(self._report or {})

    @property
    def before(self) -> Evaluation:
        """The evaluation of the scores that the map was fitted to."""
        return Evaluation(self.report["before"])

    @property
    def after(self) -> Evaluation:
        """Their evaluation after recalibration, each row by a map that was fitted to the other folds."""
        return Evaluation(self.report["after"])

    def __repr__(self) -> str:
        says = (self._report or {}).get("says")
        return f"<candor.Map: {says or self.method}>"


class Choice(Document):
    """A choice among methods of recalibration: a mapping of the keys of candor-recal-best/1, as docs/json.md describes them."""

    def __init__(self, document: Mapping[str, Any], fitted: Map) -> None:
        super().__init__(document)
        self._map = fitted

    @property
    def map(self) -> Map:
        """The map of the chosen method, fitted to all rows; one that changes nothing if none is chosen."""
        return self._map

    @property
    def method(self) -> str:
        """The chosen method, with its options; "none" if none is shown to help."""
        return str(self["chosen"])

    @property
    def verdict(self) -> str:
        """What is chosen and why, in one sentence."""
        return str(self["says"])

    def __repr__(self) -> str:
        return f"<candor.Choice: {self.verdict}>"


def recalibrate_best(
    probs: Any = None,
    *,
    logits: Any = None,
    logprobs: Any = None,
    labels: Any,
    methods: Union[str, Sequence[str], None] = None,
    loss: str = "nll",
    weights: Any = None,
    clusters: Any = None,
    classes: Optional[Sequence[Any]] = None,
    **options: Any,
) -> Choice:
    """Compare methods of recalibration by cross-fitting, and choose the simplest one that is within noise of the best.

    Args:
        probs: probabilities, shape (N, K), or P(y = 1), (N,), of rows that the model was not trained on.
        logits: logits instead.
        logprobs: natural logarithms of probabilities instead.
        labels: the true classes, (N,), as in `evaluate`.
        methods: what is tried, as in `recalibrate`; "none" takes part in any case. `candor recal best --help` says what is tried by default.
        loss: "nll" or "brier", by which methods are compared.
        weights: a weight for each row, (N,).
        clusters: values, (N,): rows with the same one stay in one fold.
        classes: the classes in the order of the columns, as in `evaluate`.
        **options: flags of `candor recal best`, with _ in place of -: folds=5, seed=1, confidence=0.9.

    >>> import numpy as np
    >>> p = np.repeat([0.05, 0.3, 0.7, 0.95], 50)
    >>> y = np.tile([1, 0, 0, 0, 0], 10).tolist() * 2 + np.tile([0, 1, 1, 1, 1], 10).tolist() * 2
    >>> choice = recalibrate_best(p, labels=y, methods=["temperature", "platt"])
    >>> choice.method
    'none'
    >>> choice.map.apply([0.05, 0.95]).shape
    (2,)
    """
    kind, value = one(probs=probs, logits=logits, logprobs=logprobs)
    a = _arrays.scores(kind, value)
    fitted = Output()
    words: list[Word] = ["recal", "best", Input(kind, a)]
    if kind != "probs":
        words += ["--input", kind]
    if _arrays.is_bfloat16(value):
        words.append("--bfloat16")
    words += beside(kind, len(a), labels=labels, weights=weights, clusters=clusters, classes=classes, options=options)
    words += flags({"methods": methods, "loss": loss, **options})
    with ExitStack() as stack:
        report = read(run([*words, "--json", "--output", fitted], stack).out)
    return Choice(report, Map(fitted.data))


def recalibrate(
    method: str,
    probs: Any = None,
    *,
    logits: Any = None,
    logprobs: Any = None,
    labels: Any,
    weights: Any = None,
    clusters: Any = None,
    classes: Optional[Sequence[Any]] = None,
    metrics: Union[str, Sequence[str], None] = None,
    **options: Any,
) -> Map:
    """Fit a map to scores and labels that the model was not trained on, and tell by cross-fitting how much it helps.

    Args:
        method: temperature, ets, vector, matrix, dirichlet, histogram, isotonic, spline, venn_abers, bbq, platt or beta, with options, as
            "histogram(bins=20)".
            `candor recal fit --help` describes them, docs/recalibration.md says which to use.
        probs: probabilities, shape (N, K), or P(y = 1), (N,).
        logits: logits instead.
        logprobs: natural logarithms of probabilities instead.
        labels: the true classes, (N,), as in `evaluate`.
        weights: a weight for each row, (N,).
        clusters: values, (N,): rows with the same one stay in one fold.
        classes: the classes in the order of the columns, as in `evaluate`.
        metrics: what the report compares, as in `evaluate`.
        **options: flags of `candor recal fit`, with _ in place of -: folds=5, seed=1.

    >>> import numpy as np
    >>> p = np.repeat([0.05, 0.3, 0.7, 0.95], 50)
    >>> y = np.tile([1, 0, 0, 0, 0], 10).tolist() * 2 + np.tile([0, 1, 1, 1, 1], 10).tolist() * 2
    >>> m = recalibrate("isotonic", p, labels=y)
    >>> m.apply([0.05, 0.95])
    array([0.2, 0.8])
    """
    kind, value = one(probs=probs, logits=logits, logprobs=logprobs)
    a = _arrays.scores(kind, value)
    fitted = Output()
    words: list[Word] = ["recal", "fit", method, Input(kind, a)]
    if kind != "probs":
        words += ["--input", kind]
    if _arrays.is_bfloat16(value):
        words.append("--bfloat16")
    words += beside(kind, len(a), labels=labels, weights=weights, clusters=clusters, classes=classes, options=options)
    words += flags({"metrics": metrics, **options})
    with ExitStack() as stack:
        report = read(run([*words, "--json", "--output", fitted], stack).out)
    return Map(fitted.data, report)
