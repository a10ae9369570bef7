# SPDX-License-Identifier: BSD-3-Clause
"""Write testdata/oracle/vectors.json: scores and ranks of forecasts of several numbers at a time.

Energy, variogram and Dawid-Sebastiani scores are those of scoringrules 0.10.0, row by row. Numbers by which vectors are ranked are counted
from the definitions of Gneiting et al. 2008 and Thorarinsdottir, Scheuerer and Heinz 2016, with numpy; `below` and `above` say how many of the
members have a smaller and a larger one than what was observed.

    pip install scoringrules==0.10.0
    python testdata/oracle/make_vectors.py
"""

import itertools
import json
import os

import numpy as np
import scoringrules as sr

HERE = os.path.dirname(os.path.abspath(__file__))
r = np.random.default_rng(29)


def orders(pool, ranking):
    out = []
    for x in pool:
        if ranking == "dominance":
            out.append(sum(int((z <= x).all()) for z in pool))
        elif ranking == "average":
            out.append(sum(((pool[:, i] < x[i]).sum() + 1 + (pool[:, i] <= x[i]).sum()) / 2 for i in range(len(x))))
        else:
            out.append(sum(int(min(a[i], b[i]) <= x[i] <= max(a[i], b[i])) for i in range(len(x)) for a, b in itertools.combinations(pool, 2)))
    return np.array(out)


sets = []
for n, m, d, digits in ((6, 1, 2, 2), (6, 2, 1, 2), (8, 9, 3, 2), (8, 30, 5, 3), (8, 7, 4, 0), (5, 50, 10, 3)):
    cov = 0.6 ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
    x = np.round(r.multivariate_normal(np.zeros(d), cov, (n, m)) + r.normal(0, 0.5, (n, 1, d)), digits)
    y = np.round(r.multivariate_normal(np.zeros(d), cov, n), digits)
    case = {"members": x.tolist(), "observed": y.tolist(), "energy": sr.es_ensemble(y, x, estimator="nrg").tolist(), "variogram": {}}
    if m > 1:
        case["fair"] = sr.es_ensemble(y, x, estimator="fair").tolist()
    for p in (0.5, 1.0, 2.0, 1.5):
        case["variogram"][str(p)] = sr.vs_ensemble(y, x, p=p, estimator="nrg").tolist()
    w = 1 / np.maximum(1, np.abs(np.subtract.outer(np.arange(d), np.arange(d))))
    case["near"] = sr.vs_ensemble(y, x, w=w, p=0.5, estimator="nrg").tolist()
    if m > d > 1 and digits:  # of one dimension scoringrules raises an error
        case["dawid_sebastiani"] = [float(sr.dssmv_ensemble(y[i], x[i])) for i in range(n)]
    case["ranks"] = {}
    for ranking in ("dominance", "average", "band_depth"):
        below, above = [], []
        for i in range(n):
            o = orders(np.vstack([x[i], y[i]]), ranking)
            below.append(int((o[:-1] < o[-1]).sum()))
            above.append(int((o[:-1] > o[-1]).sum()))
        case["ranks"][ranking] = {"below": below, "above": above}
    sets.append(case)

with open(os.path.join(HERE, "vectors.json"), "w") as f:
    json.dump({"sets": sets}, f, allow_nan=False)
    f.write("\n")
