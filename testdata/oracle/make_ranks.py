# SPDX-License-Identifier: BSD-3-Clause
"""Write ranks.json.gz beside this file: what of ranks has an option named after scikit-learn.

    python3 make_ranks.py [DIRECTORY]        (needs scikit-learn; the file is of 1.9.1)

Scores are whole numbers of 1/1024, so that many are equal. Of "classes", roc_auc_score has "ovo" and "ovo_weighted" (multi_class="ovo",
which takes no weights: null there) and "micro" (of labels as columns), average_precision_score "micro_ap"; where classes are absent,
which ovo refuses, it is of the others' columns. top_k_accuracy_score has "top", for k from 1 to the number of classes less one. Of "binary",
"partial" are pairs of max_fpr and roc_auc_score with it.
"""
import gzip
import json
import os
import sys

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score, top_k_accuracy_score
from sklearn.metrics._base import _average_multiclass_ovo_score


def classes(rng, rows, k, absent, weighted, coarse):
    z = rng.standard_normal((rows, k)) * 2
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    counts = np.stack([rng.multinomial(coarse, q) for q in p]) * (1024 // coarse)
    allowed = [c for c in range(k) if c not in absent]
    y = np.array([rng.choice(allowed, p=q[allowed] / q[allowed].sum()) for q in p])
    y[: len(allowed)] = allowed  # all of them are present
    w = rng.integers(1, 9, rows) / 4 if weighted else None
    s = counts / 1024
    hot = (y[:, None] == np.arange(k)[None, :]).astype(int)
    c = {"classes": k, "counts": counts.ravel().tolist(), "labels": y.tolist(), "weights": None if w is None else w.tolist()}
    c["micro"] = float(roc_auc_score(hot, s, average="micro", sample_weight=w))
    c["micro_ap"] = float(average_precision_score(hot, s, average="micro", sample_weight=w))
    c["top"] = [float(top_k_accuracy_score(y, s, k=n, labels=range(k), sample_weight=w)) for n in range(1, k)]
    c["ovo"] = c["ovo_weighted"] = None
    if not weighted:
        place = np.searchsorted(allowed, y)
        for name, average in ("ovo", "macro"), ("ovo_weighted", "weighted"):
            if absent:  # whose columns would have to sum to 1
                v = _average_multiclass_ovo_score(roc_auc_score, place, s[:, allowed], average)
            else:
                v = roc_auc_score(y, s, multi_class="ovo", average=average)
            c[name] = float(v)
    return c


def binary(rng, rows, weighted, coarse):
    z = rng.standard_normal(rows)
    p = 1 / (1 + np.exp(-z))
    y = (rng.random(rows) < p).astype(int)
    y[:2] = 0, 1
    w = rng.integers(1, 9, rows) / 4 if weighted else None
    counts = np.rint(p * coarse).astype(int) * (1024 // coarse)
    return {"counts": counts.tolist(), "labels": y.tolist(), "weights": None if w is None else w.tolist(),
            "partial": [[m, float(roc_auc_score(y, counts / 1024, max_fpr=m, sample_weight=w))]
                        for m in (0.001, 0.01, 0.05, 0.1, 0.25, 1 / 3, 0.5, 0.9, 0.999, 1)]}


def main():
    rng = np.random.default_rng(21)
    c = [classes(rng, rows, k, absent, weighted, coarse)
         for rows, k, absent, coarse in ((60, 3, (), 1024), (7, 3, (), 16), (60, 4, (2,), 32), (300, 20, (), 64), (150, 20, (0, 7, 19), 1024))
         for weighted in (False, True)]
    b = [binary(rng, rows, weighted, coarse) for rows, coarse in ((2, 16), (9, 16), (60, 8), (200, 32), (500, 1024)) for weighted in (False, True)]
    at = os.path.join(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__)), "ranks.json.gz")
    with open(at, "wb") as f, gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=f, mtime=0) as z:
        z.write(json.dumps({"classes": c, "binary": b}, separators=(",", ":")).encode())


if __name__ == "__main__":
    main()
