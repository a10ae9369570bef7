# SPDX-License-Identifier: BSD-3-Clause
"""Write pit_ranks.json.gz beside this file: histograms of probability integral transforms and of ranks.

    python3 make_pit_ranks.py [DIRECTORY]        (needs numpy and scipy; takes a second; no other argument, no clock, no network)

Written apart from the Go: u by scipy.stats.norm.cdf, ranks by numpy.searchsorted in sorted rows, p by scipy.stats.chisquare. Where
ties are broken at random, the expected counts and their variances over all draws stand in place of counts.
"""
import gzip
import json
import os
import sys

import numpy as np
from scipy import stats


def normals(rng, rows):
    mean = np.round(rng.normal(0, 5, rows), 3)
    sd = np.round(rng.gamma(3, 1, rows) + 0.05, 3)
    y = np.round(mean + 1.4 * sd * rng.standard_normal(rows) + 0.2, 3)
    u = stats.norm.cdf((y - mean) / sd)
    bins = []
    for n in (1, 2, 7, 10, 20, 50):
        c = np.bincount(np.clip(np.ceil(u * n).astype(int) - 1, 0, n - 1), minlength=n)
        bins.append({"counts": c.tolist(), "p": float(stats.chisquare(c).pvalue) if n > 1 else None})
    return {"mean": mean.tolist(), "sd": sd.tolist(), "observed": y.tolist(), "histograms": bins}


def shape(c):
    """The two contrasts of Jolliffe and Primo 2008 of ranks that are equally likely, each of length 1 and orthogonal."""
    e = c.sum() / len(c)
    x = (c - e) / np.sqrt(e)
    i = np.arange(len(c)) - (len(c) - 1) / 2
    v = np.abs(i) - np.abs(i).mean()
    return [float(i / np.sqrt((i * i).sum()) @ x), float(v / np.sqrt((v * v).sum()) @ x)]


def samples(rng, rows, m, wet):
    rate = rng.gamma(2, 1, rows)
    rain = (lambda x: np.maximum(0, np.round(2 * x - 1) / 2)) if wet else (lambda x: np.round(x, 6))
    x = rain(rng.gamma(1.2, rate[:, None], (rows, m)))
    y = rain(rng.gamma(1.2, 1.15 * rate, rows))
    below = np.array([np.searchsorted(np.sort(r), v, "left") for r, v in zip(x, y)])
    ties = np.array([np.searchsorted(np.sort(r), v, "right") for r, v in zip(x, y)]) - below
    mean, variance = np.zeros(m + 1), np.zeros(m + 1)
    for b, t in zip(below, ties):
        q = 1 / (t + 1)
        mean[b:b + t + 1] += q
        variance[b:b + t + 1] += q * (1 - q)
    c = {"samples": x.ravel().tolist(), "observed": y.tolist(), "mean": mean.tolist(), "variance": variance.tolist()}
    if not ties.any():
        n = np.bincount(below, minlength=m + 1)
        c["p"] = float(stats.chisquare(n).pvalue)
        if m > 1:
            c["shape"] = shape(n)
    return c


def main():
    rng = np.random.default_rng(20)
    out = {"normals": normals(rng, 400), "samples": [samples(rng, 600, 9, False), samples(rng, 600, 9, True), samples(rng, 60, 1, False)]}
    at = os.path.join(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__)), "pit_ranks.json.gz")
    with open(at, "wb") as f, gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=f, mtime=0) as z:
        z.write(json.dumps(out, separators=(",", ":")).encode())


if __name__ == "__main__":
    main()
