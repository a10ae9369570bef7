"""Comparisons of candor with a peer, as rows of a table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Callable, Optional

import numpy as np
from data import Set

EQUAL, SINGLE = 1e-9, 1e-4
"""The largest differences, relative or absolute, that rounding explains: of sums in float64, and in float32."""

TINY = 1e-12
"""Values below, which are p-values, have no relative difference: many programs subtract them from 1."""


@dataclass
class Row:
    """One comparison. `theirs` and `ours` are there where the two differ."""

    call: str
    metric: str
    sets: str
    absolute: float
    relative: float
    note: str
    theirs: Optional[float] = None
    ours: Optional[float] = None


class Rows:
    """The comparisons with a peer."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def __call__(
        self,
        call: str,
        metric: str,
        sets: Iterable[Set],
        theirs: Callable[[Any], Any],
        *,
        ours: Optional[Callable[[Any], Any]] = None,
        note: str = "",
        differs: str = "",
        within: float = EQUAL,
        **options: Any,
    ) -> None:
        """Compare a peer's figure with candor's.

        Args:
            call: the peer's function, as the table has it.
            metric: candor's metric, with options; or what candor calls what `ours` computes.
            sets: the data.
            theirs: the peer's figure of a set.
            ours: candor's figure of a set, where it is not a metric's value.
            note: which convention makes both equal.
            differs: why they differ. They then have to.
            within: the largest difference that passes as equal: of both, the absolute and the relative one.
            **options: of `candor.evaluate`.
        """
        sets, absolute, relative = list(sets), 0.0, 0.0
        pairs = [(np.asarray(theirs(d), float), np.asarray(ours(d) if ours else _value(d, metric, options), float)) for d in sets]
        for d, (t, o) in zip(sets, pairs):
            if t.shape != o.shape or not (np.isfinite(t).all() and np.isfinite(o).all()):
                raise ValueError(f"{call}, {metric}, {d.name}: {t} and {o}")
            gap = np.abs(t - o)
            absolute = max(absolute, float(gap.max()))
            size = np.maximum(np.abs(t), np.abs(o))
            relative = max(relative, float((gap / np.where(size > TINY, size, np.inf)).max()))
        row = Row(call, metric + "".join(f", {k}={v!r}" for k, v in options.items()), ", ".join(d.name for d in sets), absolute, relative, note or differs)
        equal = min(absolute, relative) <= within
        if bool(differs) == equal:
            raise ValueError(f"{call}, {metric}: they {'do not differ' if differs else 'differ'}: {[(d.name, t, o) for d, (t, o) in zip(sets, pairs)]}")
        if differs:
            row.theirs, row.ours = float(pairs[0][0].flat[0]), float(pairs[0][1].flat[0])
        self.rows.append(row)

    def document(self) -> list[dict[str, Any]]:
        return [asdict(r) for r in self.rows]


def _value(d: Set, metric: str, options: dict[str, Any]) -> float:
    (found,) = d.evaluate(metric, **options).metrics.values()
    return float(found)
