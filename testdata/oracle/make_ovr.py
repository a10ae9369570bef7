# SPDX-License-Identifier: BSD-3-Clause
"""Write ovr.json.gz beside this file: areas of each class against all others, as scikit-learn has them.

    python3 make_ovr.py [DIRECTORY]        (needs scikit-learn; the file is of 1.2.1)

Scores are whole numbers of 1/1024, so that many are equal. "macro" and "weighted" are roc_auc_score with multi_class="ovr" and
average_precision_score of labels as columns; where classes are absent, which the first refuses and the second counts as 0, they are
those of the columns of the classes that are present, one by one.
"""
import gzip
import json
import os
import sys

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score


def case(rng, rows, classes, absent, weighted):
    z = rng.standard_normal((rows, classes)) * 2
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    counts = np.stack([rng.multinomial(1024, q) for q in p])
    allowed = [c for c in range(classes) if c not in absent]
    y = np.array([rng.choice(allowed, p=q[allowed] / q[allowed].sum()) for q in p])
    y[: len(allowed)] = allowed  # all of them are present
    w = rng.integers(1, 9, rows) / 4 if weighted else None
    s = counts / 1024
    c = {"classes": classes, "counts": counts.ravel().tolist(), "labels": y.tolist(), "weights": None if w is None else w.tolist()}
    hot = (y[:, None] == np.arange(classes)[None, :]).astype(int)
    for name, f in ("auroc", roc_auc_score), ("auprc", average_precision_score):
        for average in "macro", "weighted":
            if absent:
                v = f(hot[:, allowed], s[:, allowed], average=average, sample_weight=w)
            elif name == "auroc":
                v = f(y, s, multi_class="ovr", average=average, sample_weight=w)
            else:
                v = f(hot, s, average=average, sample_weight=w)
            c[name + "_" + average] = float(v)
    return c


def main():
    rng = np.random.default_rng(20)
    cases = [case(rng, rows, classes, absent, weighted)
             for rows, classes, absent in ((60, 3, ()), (7, 3, ()), (60, 4, (2,)), (400, 50, ()), (150, 50, (0, 17, 49)))
             for weighted in (False, True)]
    at = os.path.join(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__)), "ovr.json.gz")
    with open(at, "wb") as f, gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=f, mtime=0) as z:
        z.write(json.dumps({"cases": cases}, separators=(",", ":")).encode())


if __name__ == "__main__":
    main()
