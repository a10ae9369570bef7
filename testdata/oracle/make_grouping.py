"""Writes grouping.json beside this script: scores, outcomes and regions with the grouping loss of glest, the authors' package.

glest's losses count both classes, so they are twice candor's. Its induced term smooths frequencies by a tenth of the rows' nearest neighbours.
Run: pip install numpy==2.4.6 scikit-learn==1.9.1 glest==0.0.1 && python3 make_grouping.py
"""

import json
import pathlib

import numpy as np
from glest import GLEstimator, Partitioner

rng = np.random.default_rng(2023)


def case(name, p, y, r, bins=15):
    p, y, r = np.asarray(p, float), np.asarray(y, int), np.asarray(r, int)
    g = GLEstimator(p, partitioner=Partitioner.from_name(None, n_bins=bins))
    g.fit(p[:, None], y, partition=r)
    m = g.metrics("brier")
    return {"name": name, "p": p.tolist(), "y": y.tolist(), "region": r.tolist(), "bins": bins, "explained": (m["GL_uncorrected"] - m["GL_bias"]) / 2,
            "induced": m["GL_induced"] / 2}


def outcomes(q):
    return (rng.random(len(q)) < q).astype(int)


p = np.round(rng.random(1500), 4)
r = rng.integers(0, 3, 1500)
many = rng.integers(0, 60, 1500)
u = np.round(1 - rng.random(1500) ** 2 / 2, 4)
cases = [
    case("none", p, outcomes(p), r),
    case("three regions", p, outcomes(np.clip(p + 0.2 * (r - 1), 0, 1)), r),
    case("three regions, 5 bins", p, outcomes(np.clip(p + 0.2 * (r - 1), 0, 1)), r, 5),
    case("regions of a few rows", p, outcomes(np.clip(p + 0.1 * np.sign(many - 29.5), 0, 1)), many),
    case("confident", u, outcomes(u - 0.2 * (u < 0.95) * (r == 0)), r),
]
pathlib.Path(__file__).with_name("grouping.json").write_text(json.dumps({"cases": cases}, separators=(",", ":")) + "\n")
