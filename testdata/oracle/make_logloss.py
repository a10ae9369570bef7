# SPDX-License-Identifier: BSD-3-Clause
"""Write logloss.json beside this file: clipped log losses as scikit-learn has them, for the tests of score.Clipped.

    python3 make_logloss.py [DIRECTORY]        (needs numpy and scikit-learn; no other argument, no clock, no network)

A case has rows of probabilities of so many classes (of one class the probability of class 1), of float64 or float32, labels and
weights or null. Some probabilities are 0, 1, or so near to them that they are clipped. log_loss of scikit-learn 1.5 and later clips
at the type's eps and leaves the sums as they are; until 1.4 it divided rows by their sums afterwards, and had the option eps. Run
the script under one version of each: a run replaces what its kind of version says ("clipped" and its version, or "divided", of
eps "auto" and of float64 1e-15 too, and its version), and keeps the other's.
"""
import json
import os
import sys
import warnings

import numpy as np
import sklearn
from sklearn.metrics import log_loss

warnings.filterwarnings("ignore")  # of sums that are off 1

OLD = tuple(int(v) for v in sklearn.__version__.split(".")[:2]) < (1, 5)


def case(r, n, k, dtype, weighted):
    p = np.exp(np.round(r.normal(0, 4, (n, max(2, k))), 2))
    p[r.random(p.shape) < 0.15] = 0
    p[p.sum(axis=1) == 0, 0] = 1
    p /= p.sum(axis=1, keepdims=True)
    p = np.round(p, 9)  # so that all platforms have the same
    p[:, 0] = 1 - p[:, 1:].sum(axis=1)
    p = np.maximum(p, 0).astype(dtype)
    if k == 1:
        p = p[:, 1]
        p[:4] = [0, 1, 1e-20, 1e-9]
    y = r.integers(0, max(2, k), n)
    w = np.round(r.exponential(1, n), 3) if weighted else None
    labels = np.arange(max(2, k))
    c = {"classes": k, "dtype": dtype, "probs": p.ravel().tolist(), "labels": y.tolist(), "weights": None if w is None else w.tolist()}
    if OLD:
        # Of one column 1 - p is made of the clipped p: 1 - (1 - 1e-15) is 9.99e-16. Of two each is clipped.
        q = np.stack([1 - p, p], axis=1) if k == 1 else p
        c["divided"] = {str(e): float(log_loss(y, p if e == "auto" else q, eps=e, labels=labels, sample_weight=w)) for e in (("auto", 1e-15) if dtype == "float64" else ("auto",))}
    else:
        c["clipped"] = float(log_loss(y, p, labels=labels, sample_weight=w))
    return c


def main():
    here = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    path = os.path.join(here, "logloss.json")
    r = np.random.default_rng(20260423)
    doc = {"version_clipped": "", "version_divided": "", "cases": [case(r, n, k, dtype, weighted) for n, k in [(20, 1), (12, 3), (9, 10)]
                                                                 for dtype in ("float64", "float32") for weighted in (False, True)]}
    mine, other = ("divided", "clipped") if OLD else ("clipped", "divided")
    doc["version_" + mine] = sklearn.__version__
    if os.path.exists(path):
        with open(path, encoding="ascii") as f:
            was = json.load(f)
        doc["version_" + other] = was["version_" + other]
        for c, o in zip(doc["cases"], was["cases"]):
            assert c["probs"] == o["probs"] and c["labels"] == o["labels"] and c["weights"] == o["weights"]
            if other in o:
                c[other] = o[other]
    with open(path, "w", encoding="ascii", newline="\n") as f:
        f.write('{\n"version_clipped": ' + json.dumps(doc["version_clipped"]) + ',\n"version_divided": ' + json.dumps(doc["version_divided"]) + ',\n"cases": [\n')
        f.write(",\n".join(json.dumps(c, separators=(",", ":"), sort_keys=True) for c in doc["cases"]) + "\n]\n}\n")


if __name__ == "__main__":
    main()
