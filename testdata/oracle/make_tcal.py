"""Writes tcal.json beside this script: the debiased plug-in estimate of T-Cal, and its distribution where outcomes are drawn by the scores.

The estimate is the formula of Lee, Huang, Hassani and Dobriban 2023 in numpy. p is the share of 200,000 sets of outcomes whose estimate is
at least that of the set; for sets of up to 16 rows it is exact, over all outcomes. Run: pip install numpy==2.4.6 && python3 make_tcal.py
"""

import itertools
import json
import pathlib

import numpy as np

rng = np.random.default_rng(2023)


def estimate(place, p, y):
    """y has one set of outcomes a row."""
    e = y - p
    total = np.zeros(len(y))
    for b in np.unique(place):
        part = e[:, place == b]
        total += (part.sum(1) ** 2 - (part**2).sum(1)) / part.shape[1]
    return total / len(p)


def case(name, p, y, bins):
    p, y = np.asarray(p, float), np.asarray(y, int)
    c = {"name": name, "p": p.tolist(), "y": y.tolist(), "answers": []}
    if len(p) <= 16:
        sets = np.array(list(itertools.product([0, 1], repeat=len(p))))
        chance = np.where(sets == 1, p, 1 - p).prod(1)
    for m in bins:
        place = np.minimum(np.floor(m * p), m - 1)
        t = float(estimate(place, p, y[None])[0])
        if len(p) <= 16:
            above = float(chance[estimate(place, p, sets) >= t - 1e-12].sum())
        else:
            found = 0
            for _ in range(200):
                found += int((estimate(place, p, (rng.random((1000, len(p))) < p).astype(int)) >= t - 1e-12).sum())
            above = found / 200000
        c["answers"].append({"bins": m, "t": t, "p": above})
    return c


def outcomes(q):
    return (rng.random(len(q)) < q).astype(int)


p = rng.random(400)
u = rng.random(300)
near1 = 1 - u * u / 2
tiny = 0.05 * rng.random(300)
cases = [
    case("calibrated", p, outcomes(p), [2, 4, 15, 16, 64, 256, 4096]),
    case("overconfident", near1, outcomes(near1 - 0.25 * (1 - near1) * (2 * near1 - 1)), [2, 8, 15, 64, 1024]),
    case("waves", p, outcomes(np.clip(p + 0.15 * np.sin(2 * np.pi * 8 * p), 0, 1)), [2, 8, 16, 64, 256]),
    case("rare", tiny, outcomes(1.5 * tiny), [2, 16, 64, 256]),
    case("ties", np.round(p, 1), outcomes(np.round(p, 1)), [2, 8, 10, 1000]),
    case("few", [0, 0.2, 0.3, 0.3, 0.45, 0.5, 0.6, 0.7, 0.7, 0.75, 0.9, 1], [0, 1, 1, 0, 1, 0, 0, 1, 0, 0, 1, 1], [2, 4, 8]),
]
pathlib.Path(__file__).with_name("tcal.json").write_text(json.dumps({"cases": cases}, separators=(",", ":")) + "\n")
