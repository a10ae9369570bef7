# SPDX-License-Identifier: BSD-3-Clause
"""Reference values of multivariate normal forecasts: stated.json.

Run: python make_stated.py, with numpy 2.4.6, scipy 1.17.1 and scoringrules 0.10.0.

`nll` is minus scipy's multivariate_normal.logpdf; `dss` is scoringrules' Dawid-Sebastiani score of an ensemble whose mean and
covariance are the stated ones: it has no form for given ones. Each is row by row.
"""

import json
import pathlib

import numpy as np
import scoringrules as sr
from scipy import stats

r = np.random.default_rng(20261128)
sets = []
for d, scale in ((1, 1.0), (2, 1.0), (3, 1e4), (6, 1e-3)):
    rows = []
    for _ in range(8):
        m = 4 * d + 3
        x = r.normal(0, 1, (m, d)) @ (np.eye(d) + 0.3 * r.normal(0, 1, (d, d))) * scale * np.exp(r.normal(0, 0.5, d))
        mean, cov = x.mean(0), np.atleast_2d(np.cov(x.T))
        y = mean + r.normal(0, 2, d) * np.sqrt(np.diag(cov))
        nll = -stats.multivariate_normal(mean, cov).logpdf(y)
        dss = sr.dssmv_ensemble(y[None], x[None]) if d > 1 else sr.dssuv_ensemble(y, x.T)
        rows.append({"mean": mean.tolist(), "cov": cov.tolist(), "y": y.tolist(), "nll": float(nll), "dss": float(np.squeeze(dss)), "m": m})
    sets.append(rows)
    print(d, max(abs(2 * v["nll"] - d * np.log(2 * np.pi) - v["dss"]) for v in rows))
pathlib.Path(__file__).with_name("stated.json").write_text(json.dumps({"sets": sets}, separators=(",", ":")))
