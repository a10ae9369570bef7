"""Conformal maps from Python: the sets and intervals of the definition, and of the command."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import candor

R = np.random.default_rng(7)
P = R.dirichlet(np.ones(4) / 2, 400)
Y = (P.cumsum(axis=1) < R.random((400, 1))).sum(axis=1)
Q = R.dirichlet(np.ones(4) / 2, 100)
MEAN, SD = R.normal(size=300), R.random(300) + 0.5
OBSERVED = MEAN + SD * R.normal(size=300)


def test_lac() -> None:
    m = candor.conformalize("lac", P, labels=Y, coverage=0.8)
    q = np.sort(1 - P[np.arange(400), Y])[int(np.ceil(401 * 0.8)) - 1]
    sets = m.apply(Q)
    assert sets.dtype == bool
    assert np.array_equal(sets, 1 - Q <= q)
    assert m.method == "lac"
    assert m.coverage == 0.8
    assert m.report["thresholds"][0]["threshold"] == q
    assert "promise that 80.0% of later sets" in m.report.verdict


def test_aps() -> None:
    m = candor.conformalize("aps", P, labels=Y, coverage=0.8)
    order = np.argsort(-P, axis=1)
    scores = np.take_along_axis(np.take_along_axis(P, order, axis=1).cumsum(axis=1), np.argsort(order, axis=1), axis=1)
    q = np.sort(scores[np.arange(400), Y])[int(np.ceil(401 * 0.8)) - 1]
    assert np.array_equal(m.apply(P), scores <= q)
    of_logits = candor.conformalize("lac", logits=np.log(P), labels=Y)
    assert of_logits.apply(logits=np.log(Q).astype("f4")).shape == (100, 4)


def test_binary() -> None:
    p = R.random(200)
    m = candor.conformalize("lac", p, labels=R.random(200) < p)
    assert np.array_equal(m.apply(p), m.apply(np.stack([1 - p, p], axis=1)))
    assert m.evaluate(p, labels=R.random(200) < p)["sets"]["mean_size"] == m.apply(p).sum(axis=1).mean()


@pytest.mark.parametrize("method, given", [("split", {"mean": MEAN}), ("split", {"mean": MEAN, "std": SD}), ("normalized", {"mean": MEAN, "std": SD})])
def test_intervals(method: str, given: dict[str, Any]) -> None:
    m = candor.conformalize(method, observed=OBSERVED, **given)
    s = SD if method == "normalized" else np.ones(300)
    q = np.sort(np.abs((OBSERVED - MEAN) / s))[int(np.ceil(301 * 0.9)) - 1]
    ends = m.apply(**given)
    assert np.allclose(ends, np.stack([MEAN - q * s, MEAN + q * s], axis=1), rtol=1e-15, atol=1e-14)
    seen = m.evaluate(observed=OBSERVED, **given)
    assert seen["all"]["covered"] == 271 / 300
    assert "of later intervals hold" in seen.verdict
    same = candor.evaluate_intervals(ends, observed=OBSERVED, coverage=0.9)
    assert abs(same["intervals"]["winkler"] - seen["intervals"]["winkler"]) < 1e-12


def test_quantiles() -> None:
    quantiles = np.stack([MEAN - SD, MEAN, MEAN + SD], axis=1)
    m = candor.conformalize("cqr", quantiles=quantiles, levels=[0.16, 0.5, 0.84], observed=OBSERVED)
    q = np.sort(np.maximum(quantiles[:, 0] - OBSERVED, OBSERVED - quantiles[:, 2]))[int(np.ceil(301 * 0.9)) - 1]
    assert np.allclose(m.apply(quantiles=quantiles, levels=[0.16, 0.5, 0.84]), quantiles[:, [0, 2]] + [-q, q], rtol=1e-15, atol=1e-15)


def test_groups() -> None:
    sets = candor.conformalize("lac", P, labels=Y).apply(P)
    site = np.where(np.arange(400) % 3 == 0, "north", "south")
    seen = candor.evaluate_sets(sets, labels=Y, coverage=0.9, groups={"site": site})
    hit = sets[np.arange(400), Y]
    assert {g["group"]["site"]: g["covered"] for g in seen["groups"]} == {s: hit[site == s].mean() for s in ("north", "south")}
    assert "2 groups" in seen.verdict
    assert repr(seen).startswith("<candor.Coverage: ")
    names = candor.evaluate_sets(sets, labels=np.array(list("abcd"))[Y], classes=list("abcd"))
    assert [c["class"] for c in names["sets"]["by_class"]] == list("abcd")


def test_files(tmp_path: Path) -> None:
    m = candor.conformalize("aps(randomized)", P, labels=Y, seed=3)
    m.save(tmp_path / "m.json")
    again = candor.ConformalMap.load(tmp_path / "m.json")
    assert again == m == pickle.loads(pickle.dumps(m))
    assert np.array_equal(again.apply(Q), m.apply(Q))
    assert candor.conformalize("aps(randomized)", P, labels=Y, seed=4) != m
    assert repr(m) == "<candor.ConformalMap: aps(randomized), coverage 0.9>"


def test_refused() -> None:
    m = candor.conformalize("lac", P, labels=Y)
    with pytest.raises(candor.UsageError, match="there is no method"):
        candor.conformalize("top", P, labels=Y)
    with pytest.raises(candor.UsageError, match="coverage= is"):
        candor.conformalize("lac", P, labels=Y, coverage=1.5)
    with pytest.raises(candor.UsageError, match="lac takes labels="):
        candor.conformalize("lac", P, observed=OBSERVED)
    with pytest.raises(candor.UsageError, match="split takes observed="):
        candor.conformalize("split", mean=MEAN)
    with pytest.raises(candor.UsageError, match="levels="):
        candor.conformalize("cqr", quantiles=P, observed=OBSERVED)
    with pytest.raises(candor.DataError, match="fitted to 4 classes"):
        m.apply(P[:, :3] / P[:, :3].sum(axis=1, keepdims=True))
    with pytest.raises(candor.DataError, match="rows"):
        candor.evaluate_intervals(np.zeros((4, 2)), observed=[1.0])
    with pytest.raises(candor.DataError, match="below the low end"):
        candor.evaluate_intervals([[2, 1]], observed=[1.0])
    with pytest.raises(candor.DataError, match="a set holds a class"):
        candor.evaluate_sets(P, labels=Y)
    with pytest.raises(candor.UsageError, match="levels="):
        candor.conformalize("split", quantiles=P, levels=[0.1, 0.3, 0.6, 0.9], observed=np.zeros(400))
