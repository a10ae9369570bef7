# SPDX-License-Identifier: BSD-3-Clause
"""Write acting.json beside this file: net benefits as dcurves has them, costs and promises, for the tests of package rank.

    python3 make_acting.py [DIRECTORY]        (needs numpy, pandas, scipy, scikit-learn and dcurves; no other argument, no clock, no network)

A case has probabilities of class 1 and labels. benefits: of dcurves.dca, the net benefit of the model and of treating all rows. costs:
least is the mean cost of scikit-learn's isotonic fit, decided at the threshold that the costs imply, and the least over all thresholds by
counting, which must agree. promises: by scipy's binomial distribution, of the ranking by the probability itself, where a label of 1 is right.
"""
import json
import math
import os
import sys

import dcurves
import numpy as np
import pandas as pd
import scipy
import sklearn
from scipy.stats import binom
from sklearn.isotonic import IsotonicRegression


def cost(p, y, t, c):
    fp, fn, tp, tn = c
    d = p >= t
    return float(np.where(d, np.where(y == 1, tp, fp), np.where(y == 1, fn, tn)).mean())


def promise(p, y, risk, confidence, steps):
    n = len(p)
    s = np.sort(p)[::-1]
    best = (0, None)
    for j in range(1, steps + 1):
        above = -math.inf if j == steps else s[j * n // steps]
        kept = p > above
        m, e = int(kept.sum()), int((y[kept] == 0).sum())
        if m > best[0] and binom.cdf(e, m, risk) <= (1 - confidence) / steps:
            best = (m, None if above == -math.inf else float(above))
    return {"risk": risk, "confidence": confidence, "steps": steps, "rows": best[0], "above": best[1]}


def case(r, n, base, blur, digits):
    p = np.round(np.clip(r.beta(base, 2, n), 0.001, 0.999), digits)
    y = (r.random(n) < np.clip(p + blur * (p - 0.4), 0, 1)).astype(int)
    ts = [0.05, 0.25, 0.5, 0.8]
    d = dcurves.dca(data=pd.DataFrame({"y": y, "p": p}), outcome="y", modelnames=["p"], thresholds=ts)
    benefits = []
    for t in ts:
        of = d[np.isclose(d["threshold"], t)].set_index("model")["net_benefit"]
        benefits.append({"threshold": t, "model": float(of["p"]), "all": float(of["all"])})
    costs = []
    for c in [(1, 1, 0, 0), (1, 5, 0, 0), (7, 2, 1, 0.5)]:
        fp, fn, tp, tn = c
        t = (fp - tn) / (fp - tn + fn - tp)
        f = IsotonicRegression(y_min=0, y_max=1).fit_transform(p, y)
        all_costs = [(cost(p, y, u, c), u) for u in list(np.unique(p)) + [math.inf]]
        least = min(v for v, _ in all_costs)
        best = max(u for v, u in all_costs if v <= least + 1e-12 and u < math.inf) if any(v <= least + 1e-12 and u < math.inf for v, u in all_costs) else None
        none = cost(p, y, math.inf, c)
        if none <= least + 1e-12:
            best = None
        assert abs(cost(f, y, t - 1e-12, c) - least) < 1e-12, (cost(f, y, t, c), least)
        costs.append({"fp": fp, "fn": fn, "tp": tp, "tn": tn, "threshold": t, "cost": cost(p, y, t, c), "least": least, "best": best})
    return {"p": p.tolist(), "y": y.tolist(), "benefits": benefits, "costs": costs,
            "promises": [promise(p, y, *a) for a in [(0.05, 0.95, 50), (0.2, 0.9, 20), (0.4, 0.9, 7), (0.3, 0.99, 1)]]}


def main():
    here = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    r = np.random.default_rng(20261126)
    cases = [case(r, n, base, blur, digits) for n, base, blur, digits in [(60, 2, 0, 1), (250, 4, 0.5, 2), (400, 9, 0.2, 6), (300, 0.6, -0.3, 3)]]
    how = "dcurves 1.1.7, scipy %s and scikit-learn %s, run by make_acting.py." % (scipy.__version__, sklearn.__version__)
    with open(os.path.join(here, "acting.json"), "w", encoding="ascii", newline="\n") as f:
        f.write('{\n"how": ' + json.dumps(how) + ',\n"cases": [\n')
        f.write(",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]\n}\n")


if __name__ == "__main__":
    main()
