# SPDX-License-Identifier: BSD-3-Clause
"""Write information.json beside this file: leave-one-out by Pareto smoothed importance sampling, and the uncertainties of Dirichlet
distributions.

    python3 make_information.py [DIRECTORY]        (needs mpmath; takes some seconds; no other argument, no clock, no network)

Written from the formulas of the papers, with mpmath: Vehtari, Simpson, Gelman, Yao and Gabry 2024 and Zhang and Stephens 2009 for
"psis"; Malinin and Gales 2018 for "dirichlet". All arithmetic has 60 digits or more, and each result is then rounded to float64.
"""
import json
import math
import os
import random
import sys

import mpmath
from mpmath import mp, mpf, digamma, exp, expm1, fsum, log, log1p, sqrt


def fit(x):
    """Shape and scale of a generalised Pareto distribution: x rises."""
    n = len(x)
    m = 30 + math.isqrt(n)
    quartile = x[(n + 2) // 4 - 1]  # floor(n/4 + 1/2)
    theta = [1 / x[-1] + (1 - sqrt(m / (mpf(i) - 0.5))) / (3 * quartile) for i in range(1, m + 1)]

    def shape(t):
        return fsum(log1p(-t * v) for v in x) / n

    loglik = []
    for t in theta:
        k = shape(t)
        loglik.append(n * (log(-t / k) - k - 1))
    weight = [1 / fsum(exp(a - b) for a in loglik) for b in loglik]
    t = fsum(a * b for a, b in zip(theta, weight))
    k = shape(t)
    return (n * k + 5) / (n + 10), -k / t


def leave_one_out(row):
    """The log density and the shape, None where fewer than five weights are above the cut."""
    x = [mpf(v) for v in row]
    s = len(x)
    weights = sorted((-v for v in x))
    top = weights[-1]
    weights = [w - top for w in weights]
    loglik = [-top - w for w in weights]
    cut = weights[s - math.ceil(min(mpf(s) / 5, 3 * sqrt(s))) - 1]
    tail = [j for j in range(s) if weights[j] > cut]
    k = None
    if len(tail) >= 5:
        k, sigma = fit([exp(weights[j]) - exp(cut) for j in tail])
        for i, j in enumerate(tail):
            p = (mpf(i) + 0.5) / len(tail)
            weights[j] = min(mpf(0), log(exp(cut) + sigma * expm1(-k * log1p(-p)) / k))
    total = fsum(exp(w) for w in weights)
    return float(log(fsum(exp(w + v) for w, v in zip(weights, loglik)) / total)), k if k is None else float(k)


def six(v):
    """Six digits, so that the last places of the system's logarithm are of no account."""
    return float("%.6g" % v)


def psis():
    mp.dps = 60
    r = random.Random(20260719)

    def exponential(rows, draws, scales):
        return [[six(-scales[i % len(scales)] * -math.log(1 - r.random())) for _ in range(draws)] for i in range(rows)]

    def normal_mean():
        y = [5.0, -1.25, -0.5, 0.0, 0.25, 1.0]
        mu = [r.gauss(sum(y) / 6, 6 ** -0.5) for _ in range(400)]
        return [[six(-0.5 * (v - m) ** 2 - 0.5 * math.log(2 * math.pi)) for m in mu] for v in y]

    tables = {
        "normal": normal_mean(),
        "exponential": exponential(4, 1000, [0.1, 0.4, 0.8, 1.5]),
        "small": exponential(4, 25, [1.0]),
        "least": exponential(3, 21, [1.0]),
        "twenty": exponential(3, 20, [1.0]),
        "ties": [[round(v * 8) / 8 for v in row] for row in exponential(3, 200, [1.0])],
        "wide": [[six(r.gauss(0, 150)) for _ in range(100)] for _ in range(2)],
        "density": [[six(r.gauss(40, 0.01)) for _ in range(300)] for _ in range(2)],
    }
    out = []
    for name, rows in tables.items():
        for row in rows:
            elpd, k = leave_one_out(row)
            out.append({"name": name, "elpd": elpd, "k": k, "logp": row})
    return out


def dirichlet():
    mp.dps = 150
    r = random.Random(3)
    rows = [
        [1.0, 1.0], [1.0, 1.0, 1.0], [0.5, 0.5], [2.0, 3.0, 5.0], [1e-3, 1e-3], [1e-3, 2.0, 7.5], [10.0, 20.0, 30.0, 40.0],
        [9.5, 10.0, 10.5], [100.0, 1.0, 1.0], [1e4, 2e4, 3e4], [1e8, 1e8], [3.3e7, 3.3e7, 3.4e7], [1e8, 1e-3], [1e8, 1.0, 2.0],
        [1e12, 3e12, 5e12], [1e15, 1e15], [1e-12, 1e-12, 1e-12], [1e-200, 3e-200], [0.01, 0.02, 0.03], [0.3, 0.3, 0.3],
        [0.34, 0.33, 0.33], [0.5, 0.4999, 0.0001], [7.0, 1e-10, 1e-10], [1e5, 1e-8],
    ] + [[six(scale * -math.log(1 - r.random())) for _ in range(100)] for scale in (1.0, 1e3, 1e-3)]
    out = []
    for row in rows:
        a = [mpf(v) for v in row]
        s = fsum(a)
        total = -fsum(v / s * log(v / s) for v in a)
        data = fsum(v / s * (digamma(s + 1) - digamma(v + 1)) for v in a)
        out.append({"total": float(total), "data": float(data), "knowledge": float(total - data), "alpha": row})
    return out


def psi():
    mp.dps = 150
    out = []
    for x in (1e-300, 1e-17, 1e-9, 0.25, 0.5, 1.0, 1.5, 2.0, 3.7, 5.0, 8.999999, 9.0, 9.5, 9.999999999, 10.0, 10.5, 12.0, 17.0, 100.0,
              12345.678, 1e8, 1e15, 1e50):
        p = digamma(mpf(x) + 1)
        out.append([x, float(p), float(p - log(mpf(x)))])
    return out


def main():
    here = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    lists = {"psis": psis(), "dirichlet": dirichlet(), "digamma": psi()}
    how = ("Made by make_information.py, mpmath %s. psis: leave-one-out log density and shape k of a row of log-likelihoods, k null "
           "where nothing is smoothed; dirichlet: total, data and knowledge uncertainty of a row of parameters; digamma: x, psi(x+1), "
           "psi(x+1) - ln x." % mpmath.__version__)
    with open(os.path.join(here, "information.json"), "w", encoding="ascii", newline="\n") as f:
        f.write("{\n" + '"how": ' + json.dumps(how))
        for name, rows in lists.items():
            f.write(",\n" + json.dumps(name) + ": [\n" + ",\n".join(json.dumps(v, separators=(",", ":")) for v in rows) + "\n]")
        f.write("\n}\n")


if __name__ == "__main__":
    main()
