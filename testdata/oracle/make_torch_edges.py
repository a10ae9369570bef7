# SPDX-License-Identifier: BSD-3-Clause
"""Write torch_edges.json.gz beside this file: the edges of torch.linspace, and calibration errors as torchmetrics has them.

    python3 make_torch_edges.py [DIRECTORY]        (needs torch 2 and torchmetrics; no other argument, no clock, no network)

float32 and float64 hold, for B = 1 to 200, the B+1 edges of torch.linspace(0, 1, B + 1), each as the number of units in the last
place that it lies above the value nearest to i/B. torch rounds an edge once where the CPU has fused multiply-adds (AVX2, AVX-512,
arm64), twice where it has none, and before 2.0 in blocks of lanes: the script stops unless every edge is rounded once.

cases are torchmetrics' l1 errors. form is binary (of P(y = 1), one a row) or multiclass (classes a row). Scores are multiples of
1/bins, their neighbours, 0 and 1: of as many digits as float64 or, written exactly, float32 has.
"""
import gzip
import io
import json
import os
import sys
from fractions import Fraction

import numpy as np
import torch
from torchmetrics.functional.classification import binary_calibration_error, multiclass_calibration_error

torch.set_num_threads(1)
assert int(torch.__version__.split(".")[0]) >= 2, "torch 2"
TYPES = {"float32": (np.float32, np.int32, torch.float32), "float64": (np.float64, np.int64, torch.float64)}


def edges(name, bins):
    t, whole, dtype = TYPES[name]
    e = torch.linspace(0, 1, bins + 1, dtype=dtype).numpy()
    step = Fraction(float(t(1) / t(bins)))
    for i, v in enumerate(e):
        exact = step * i if i < (bins + 1) // 2 else 1 - step * (bins - i)
        near = [abs(exact - Fraction(float(x))) for x in (v, np.nextafter(v, t(2)), np.nextafter(v, t(-1)))]
        assert near[0] == min(near), (name, bins, i, "is not rounded once")
    plain = (np.arange(bins + 1) / bins).astype(t)
    return (e.view(whole).astype(np.int64) - plain.view(whole).astype(np.int64)).tolist()


def case(name, form, bins, rows, labels, classes=1):
    x = torch.tensor(np.array(rows, TYPES[name][0]))
    y = torch.tensor(labels)
    if form == "binary":
        value = binary_calibration_error(x, y, n_bins=bins)
    else:
        x = x.reshape(-1, classes)
        value = multiclass_calibration_error(x, y, num_classes=classes, n_bins=bins)
    return {"type": name, "form": form, "classes": classes, "bins": bins, "scores": x.double().flatten().tolist(),
            "labels": y.tolist(), "value": float(value)}


def scores(r, name, bins, n):
    t = TYPES[name][0]
    p = (r.integers(0, bins + 1, n) / bins).astype(t)
    side = r.integers(-1, 2, n)
    p = np.where(side > 0, np.nextafter(p, t(1)), np.where(side < 0, np.nextafter(p, t(0)), p)).astype(t)
    return p


def cases():
    out = []
    twelve = [.9, .9, .9, .9, .9, .8, .8, .01, .33, .34, .99, .61], [1, 1, 1, 0, 0, 1, 0, 1, 0, 1, 0, 0]
    for name in TYPES:
        out.append(case(name, "binary", 5, [.6, .65], [0, 1]))
        out.append(case(name, "binary", 99, *twelve))
        out.append(case(name, "binary", 100, *twelve))
        out.append(case(name, "multiclass", 15, [.78, .22, .8, .2], [0, 1], 2))
    r = np.random.default_rng(20)
    for name in TYPES:
        for bins in (1, 2, 3, 7, 10, 15, 20, 30, 49, 75, 100, 197):
            n = 60
            out.append(case(name, "binary", bins, scores(r, name, bins, n), r.integers(0, 2, n)))
            t = TYPES[name][0]
            p = scores(r, name, bins, n)
            p = np.where(p > .5, p, 1 - p).astype(t)  # of the top label
            rest = ((1 - p) / 2).astype(t)
            k = np.stack([p, rest, rest], 1)
            for row in k:
                r.shuffle(row)
            out.append(case(name, "multiclass", bins, k.flatten(), r.integers(0, 3, n), 3))
    # Doubles that float32 takes over an edge, or to 1.
    for bins in (10, 15, 30):
        e = torch.linspace(0, 1, bins + 1).double().numpy()[bins // 2 + 1:]
        p = np.concatenate([e * (1 - 1e-12), e])
        k = np.stack([1 - p, p], 1)
        out.append(case("float64", "multiclass", bins, k.flatten(), r.integers(0, 2, len(p)), 2))
    return out


def main():
    to = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    data = {name: [edges(name, bins) for bins in range(1, 201)] for name in TYPES}
    data["cases"] = cases()
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0, compresslevel=9) as f:
        f.write((json.dumps(data, separators=(",", ":")) + "\n").encode())
    with open(os.path.join(to, "torch_edges.json.gz"), "wb") as f:
        f.write(buffer.getvalue())


if __name__ == "__main__":
    main()
