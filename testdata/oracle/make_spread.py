# SPDX-License-Identifier: BSD-3-Clause
"""Write spread.json.gz beside this file: ENCE and UCE, Diebold-Mariano tests, and scores of forecasts row by row.

    python3 make_spread.py [DIRECTORY]        (needs numpy and scipy; takes seconds; no other argument, no clock, no network)

Written apart from the Go. Bins are numpy.array_split's of the sorted rows, their ends moved down to the first row of their standard
deviation; weights are whole numbers, and a row of weight w is w rows there, but for what a weight cannot cut. Student's t and the normal
distribution are scipy's, the CRPS of a normal forecast is an integral by scipy.integrate.quad. `published` has three statistics and
p-values that John Tsang's implementation (github.com/johntwk/Diebold-Mariano-Test, README) prints of permutations by Python 2.
"""
import gzip
import json
import os
import random
import sys

import numpy as np
from scipy import integrate, stats


def spread(e, sd, w, bins):
    index = np.argsort(sd, kind="stable")
    s = sd[index]
    if w is None:
        starts = [len(a) for a in np.array_split(s, bins)]
        starts = np.concatenate([[0], np.cumsum(starts)[:-1]])
        w = np.ones(len(s))
    else:
        # The weight at which a bin begins: that of as many rows of the mean weight.
        ranks = np.concatenate([[0], np.cumsum([len(a) for a in np.array_split(s, bins)])[:-1]])
        through = np.cumsum(w[index])
        starts = [int(np.argmax(through * len(s) > r * through[-1])) if r < len(s) else len(s) for r in ranks]
        w = w[index]
    starts = [int(np.searchsorted(s, s[i], side="left")) if i < len(s) else len(s) for i in starts]
    starts[0] = 0
    out = []
    for a, b in zip(starts, starts[1:] + [len(s)]):
        if a == b:
            continue
        t = w[a:b].sum()
        mv, mse = np.sum(w[a:b] * s[a:b] ** 2) / t, np.sum(w[a:b] * e[index][a:b] ** 2) / t
        out.append([float(s[a]), float(s[b - 1]), b - a, float(t), float(np.sqrt(mv)), float(np.sqrt(mse))])
    o = np.array(out)
    ence = np.mean(np.abs(o[:, 4] - o[:, 5]) / o[:, 4])
    uce = np.sum(o[:, 3] * np.abs(o[:, 4] ** 2 - o[:, 5] ** 2)) / np.sum(o[:, 3])
    return {"n": bins, "bins": out, "ence": float(ence), "uce": float(uce)}


def spreads(rng):
    sets = []
    for name, rows, digits, weighted in (("distinct", 600, None, False), ("ties", 500, 1, False), ("few", 200, 0, False),
                                         ("weights", 400, None, True), ("weights and ties", 400, 1, True), ("short", 7, None, False)):
        sd = rng.gamma(2, 1, rows) + 0.2
        if digits is not None:
            sd = np.round(sd, digits) + 0.5
        e = 1.3 * sd * rng.standard_t(5, rows)
        w = rng.integers(1, 4, rows).astype(float) if weighted else None
        sets.append({"name": name, "error": e.tolist(), "sd": sd.tolist(), "weights": None if w is None else w.tolist(),
                     "answers": [spread(e, sd, w, n) for n in (1, 2, 5, 15, 40)]})
    return sets


def dm(a, b, h):
    d = a - b
    n, c = len(d), d - d.mean()
    gamma = [float(np.sum(c[k:] * c[:n - k]) / n) for k in range(h)]
    v, bartlett = gamma[0] + 2 * sum(gamma[1:]), False
    if v <= 0:
        v, bartlett = gamma[0] + 2 * sum((1 - k / h) * gamma[k] for k in range(1, h)), True
    plain = d.mean() / np.sqrt(v / n)
    factor = np.sqrt((n + 1 - 2 * h + h * (h - 1) / n) / n)
    half = stats.t.ppf(0.975, n - 1) * np.sqrt(v / n) / factor
    return {"horizon": h, "mean": float(d.mean()), "statistic": float(plain * factor), "p": float(2 * stats.t.sf(abs(plain * factor), n - 1)),
            "interval": [float(d.mean() - half), float(d.mean() + half)], "asymptotic": float(plain),
            "asymptotic_p": float(2 * stats.norm.sf(abs(plain))), "bartlett": bartlett}


def sample(r, n):
    """A permutation as Python 2's random.sample makes it."""
    pool, out = list(range(n)), []
    for i in range(n):
        j = int(r.random() * (n - i))
        out.append(float(pool[j]))
        pool[j] = pool[n - i - 1]
    return np.array(out)


def dms(rng):
    sets = []
    for rows, lag in ((8, 0), (30, 0), (100, 3), (400, 6)):
        a = rng.gamma(2, 1, rows + lag)
        a = np.array([a[i:i + lag + 1].mean() for i in range(rows)])
        b = a + 0.1 * rng.standard_normal(rows) + 0.03
        sets.append({"a": a.tolist(), "b": b.tolist(), "answers": [dm(a, b, h) for h in (1, 2, 4, 7)]})
    # Differences that alternate have autocovariances whose plain sum is below 0.
    a = np.array([(-1.0) ** i + 0.1 * (i % 3) for i in range(21)])
    sets.append({"a": a.tolist(), "b": [0.0] * 21, "answers": [dm(a, np.zeros(21), h) for h in (1, 2, 3, 4)]})
    r = random.Random(123)
    y, a, b = sample(r, 100), sample(r, 100), sample(r, 100)
    published = []
    for power, statistic, p in ((1, 1.3275742446369585, 0.18737195617455585), (2, 1.2112523589452902, 0.22868210381769466),
                                (4, 0.9124498079287283, 0.36374861695187799)):
        published.append({"a": (np.abs(y - a) ** power).tolist(), "b": (np.abs(y - b) ** power).tolist(), "statistic": statistic, "p": p})
    return sets, published


def rows(rng):
    normals = []
    for _ in range(40):
        mean, sd = np.round(rng.normal(0, 3), 3), np.round(rng.gamma(2, 1) + 0.1, 3)
        y = np.round(mean + 2 * sd * rng.standard_normal(), 3)
        dist = stats.norm(mean, sd)
        crps = (integrate.quad(lambda x: dist.cdf(x) ** 2, -np.inf, y, epsabs=1e-13, epsrel=1e-13)[0]
                + integrate.quad(lambda x: dist.sf(x) ** 2, y, np.inf, epsabs=1e-13, epsrel=1e-13)[0])
        score = {}
        for level in (0.5, 0.9):
            low, high = dist.ppf((1 - level) / 2), dist.ppf((1 + level) / 2)
            score[str(level)] = high - low + 2 / (1 - level) * (max(0, low - y) + max(0, y - high))
        normals.append({"row": [mean, sd, y], "nll": -dist.logpdf(y), "crps": crps, "pit": dist.cdf(y), "interval_score": score})
    levels = [0.025, 0.05, 0.25, 0.5, 0.75, 0.95, 0.975]
    quantiles = []
    for i in range(40):
        x = np.sort(np.round(rng.normal(0, 2, len(levels)), 1))
        y = float(x[i % 7]) if i % 4 == 0 else np.round(rng.normal(0, 4), 2)
        pinball = [(float(y < v) - q) * (v - y) for q, v in zip(levels, x)]
        pairs = [(2 * levels[j], x[j], x[-1 - j]) for j in range(3)]
        scores = [u - l + 2 / a * max(0, l - y) + 2 / a * max(0, y - u) for a, l, u in pairs]
        wis = (abs(y - x[3]) / 2 + sum(a / 2 * s for (a, _, _), s in zip(pairs, scores))) / 3.5
        quantiles.append({"row": x.tolist(), "observed": y, "pinball": pinball, "interval_score": scores, "wis": wis})
    samples = []
    for i, m in enumerate([1, 2, 5, 10, 51] * 6):
        x = np.round(rng.normal(0, 2, m), 1)
        y = float(np.round(rng.normal(0, 3), 1))
        low, high = (np.sum(x < y)) / (m + 1), (np.sum(x <= y) + 1) / (m + 1)
        samples.append({"row": x.tolist(), "observed": y, "error": y - x.mean(), "ae_median": abs(y - np.median(x)), "pit": (low + high) / 2})
    return {"normals": normals, "levels": levels, "quantiles": quantiles, "samples": samples}


def main():
    where = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    rng = np.random.default_rng(20240607)
    tests, published = dms(rng)
    text = json.dumps({"spread": spreads(rng), "dm": tests, "published": published, "rows": rows(rng)}, separators=(",", ":"))
    with open(os.path.join(where, "spread.json.gz"), "wb") as f:
        with gzip.GzipFile(filename="", mode="wb", compresslevel=9, mtime=0, fileobj=f) as z:
            z.write(text.encode())


if __name__ == "__main__":
    main()
