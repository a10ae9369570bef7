# SPDX-License-Identifier: BSD-3-Clause
"""Reference values of threshold- and quantile-weighted CRPS and of the parts of the interval score: weighted.json.

Run: python make_weighted.py, with numpy 2.4.6, scipy 1.17.1, scoringrules 0.10.0, scores 2.7.0 and xarray.
"""

import json
import pathlib

import numpy as np
import scoringrules as sr
import scores.continuous as sc
import scores.probability as sp
import xarray as xr
from scipy import integrate, stats

INF = float("inf")
r = np.random.default_rng(20261126)


def text(v):
    return [("+Inf" if x > 0 else "-Inf") if np.isinf(x) else float(x) for x in np.atleast_1d(v)]


samples = []
for n, m, scale in ((12, 1, 1.0), (12, 2, 3.0), (12, 7, 1.0), (12, 40, 1e3)):
    x = np.round(r.normal(0, scale, (n, m)), 2 if scale < 100 else 0)
    y = np.round(r.normal(0, scale, n), 2 if scale < 100 else 0)
    y[0] = x[0, 0]  # a tie
    for lo, hi in ((-INF, INF), (0.5 * scale, INF), (-INF, -0.25 * scale), (-0.4 * scale, 0.7 * scale), (9 * scale, INF)):
        clamp = lambda v, lo=lo, hi=hi: np.minimum(np.maximum(v, lo), hi)
        row = {"x": x.tolist(), "y": y.tolist(), "from": text(lo)[0], "to": text(hi)[0]}
        row["v"] = sr.twcrps_ensemble(y, x, v_func=clamp, estimator="qd").tolist()
        if m > 1:
            row["fair"] = sr.twcrps_ensemble(y, x, v_func=clamp, estimator="fair").tolist()
        if np.isfinite(lo) != np.isfinite(hi):
            tail, at = ("upper", lo) if np.isfinite(lo) else ("lower", hi)
            other = sp.tail_tw_crps_for_ensemble(xr.DataArray(x, dims=("i", "j")), xr.DataArray(y, dims="i"), "j", at, tail=tail, method="ecdf", preserve_dims=["i"])
            assert np.allclose(other, row["v"], rtol=1e-12, atol=1e-12), "scores and scoringrules differ"
        samples.append(row)

laws = []
for law, f in (("normal", sr.crps_gtcnormal), ("logistic", sr.crps_gtclogistic), ("t(df=5)", sr.crps_gtct), ("laplace", None)):
    for _ in range(12):
        mean, sd, y = r.normal(0, 3), r.uniform(0.2, 3), r.normal(0, 4)
        for lo, hi in ((-INF, INF), (1.0, INF), (-INF, -0.5), (-1.0, 2.0)):
            dist = {"normal": stats.norm(mean, sd), "logistic": stats.logistic(mean, sd * np.sqrt(3) / np.pi),
                    "t(df=5)": stats.t(5, mean, sd * np.sqrt(3 / 5)), "laplace": stats.laplace(mean, sd / np.sqrt(2))}[law]
            scale = dist.kwds.get("scale", dist.args[-1])
            obs = min(max(y, lo), hi)
            ends = np.isfinite(lo) + np.isfinite(hi)
            if f is None or ends == 0 or law == "logistic" and ends == 1:  # whose closed form gives NaN
                points = sorted({p for p in (mean, obs) if max(lo, mean - 60 * sd) < p < min(hi, mean + 60 * sd)})
                ends = [max(lo, mean - 60 * sd), *points, min(hi, mean + 60 * sd)]
                ends = sorted(set(ends) | {e for e in (obs,) if ends[0] > e or e > ends[-1]})
                v = sum(integrate.quad(lambda x: dist.cdf(x) ** 2 if x < obs else dist.sf(x) ** 2, a, b, epsabs=1e-13, epsrel=1e-13)[0] for a, b in zip(ends, ends[1:]))
            else:
                # The forecast and the observation, both moved into the interval: a distribution with point masses at its ends.
                mass = (dist.cdf(lo) if np.isfinite(lo) else 0.0, dist.sf(hi) if np.isfinite(hi) else 0.0)
                args = (obs, 5) if law == "t(df=5)" else (obs,)
                v = float(f(*args, location=mean, scale=scale, lower=lo, upper=hi, lmass=mass[0], umass=mass[1]))
            laws.append({"law": law, "mean": mean, "sd": sd, "y": y, "from": text(lo)[0], "to": text(hi)[0], "value": v})

weights = {"centre": lambda p: p * (1 - p), "tails": lambda p: (2 * p - 1) ** 2, "left": lambda p: (1 - p) ** 2, "right": lambda p: p**2}
quantiles = []
for name, w in weights.items():
    for law in ("normal", "logistic", "t(df=5)", "laplace"):
        for _ in range(4):
            mean, sd, y = r.normal(0, 3), r.uniform(0.2, 3), r.normal(0, 4)
            dist = {"normal": stats.norm(mean, sd), "logistic": stats.logistic(mean, sd * np.sqrt(3) / np.pi),
                    "t(df=5)": stats.t(5, mean, sd * np.sqrt(3 / 5)), "laplace": stats.laplace(mean, sd / np.sqrt(2))}[law]
            at = dist.cdf(y)
            loss = lambda p: 2 * w(p) * ((dist.ppf(p) - y) * ((p > at) - p))
            ends = [0, *sorted({1e-12, 1e-9, 1e-6, 1e-3, 0.5, 1 - 1e-3, 1 - 1e-6, 1 - 1e-9, 1 - 1e-12, float(at)}), 1]
            v = sum(integrate.quad(loss, a, b, epsabs=1e-14, epsrel=1e-12, limit=400)[0] for a, b in zip(ends, ends[1:]) if b > a)
            quantiles.append({"law": law, "emphasis": name, "mean": mean, "sd": sd, "y": y, "value": float(v)})

steps = []  # of samples, whose quantile function is a step function
for name, w in weights.items():
    for m in (1, 2, 5, 13):
        x, y = np.round(r.normal(0, 2, m), 1), float(np.round(r.normal(0, 2), 1))
        v = 0.0
        for i, q in enumerate(np.sort(x)):
            v += integrate.quad(lambda p, q=q: 2 * w(p) * (q - y) * ((y < q) - p), i / m, (i + 1) / m, epsabs=1e-15)[0]
        steps.append({"emphasis": name, "x": x.tolist(), "y": y, "value": v})

low = np.round(r.normal(0, 2, 20), 2)
high = low + np.round(r.uniform(0, 4, 20), 2)
y = np.round(r.normal(1, 4, 20), 2)
intervals = {"low": low.tolist(), "high": high.tolist(), "y": y.tolist(), "parts": []}
for level in (0.5, 0.9):
    s = sc.interval_score(xr.DataArray(low, dims="i"), xr.DataArray(high, dims="i"), xr.DataArray(y, dims="i"), level, preserve_dims=["i"])
    assert np.allclose(s.total, sr.interval_score(y, low, high, 1 - level), rtol=1e-12)
    intervals["parts"].append({"level": level, "total": float(s.total.mean()), "width": float(s.interval_width_penalty.mean()),
                               "under": float(s.underprediction_penalty.mean()), "over": float(s.overprediction_penalty.mean())})

out = pathlib.Path(__file__).with_name("weighted.json")
out.write_text(json.dumps({"samples": samples, "laws": laws, "quantiles": quantiles, "steps": steps, "intervals": intervals}, allow_nan=False) + "\n")
