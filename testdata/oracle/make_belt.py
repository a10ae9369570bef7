"""Writes belt.json.gz beside this script: the calibration test and belt of the GiViTI group.

`laws` are values of pycaleva's distribution function. `cases` are scores and outcomes with the statistic, the p-value and the degree: for rows
that the model was not fitted on by calibration-belt, with its belts for some of them; for rows that it was fitted on by statsmodels' fits and
pycaleva's distribution function. `pycaleva` is its own statistic and p-value, which are always those of the lowest degree: it compares the
difference of log-likelihoods with the quantile under the wrong sign, and never raises the degree. Run: pip install numpy==2.4.6
statsmodels==0.15.0 pycaleva==0.8.2 && pip install --no-deps calibration-belt==0.1.41 && python3 make_belt.py
"""

import gzip
import json
import pathlib
import warnings

import numpy as np
import scipy.stats
import statsmodels.api as sm
import calibration
from pycaleva.calbelt import CalibrationBelt, cdf_m

warnings.simplefilter("ignore")
rng = np.random.default_rng(2014)


def expit(x):
    return 1 / (1 + np.exp(-x))


def selected(p, y):
    """Returns the statistic and the degree for rows that the model was fitted on."""
    x = np.log(p / (1 - p))
    last = None
    for m in (2, 3, 4):
        fit = sm.GLM(y, x[:, None] ** np.arange(m + 1), family=sm.families.Binomial()).fit(tol=1e-12)
        if last is not None and 2 * (fit.llf - last.llf) < scipy.stats.chi2.ppf(0.95, 1):
            m -= 1
            break
        last = fit
    return 2 * (last.llf - np.sum(y * np.log(p) + (1 - y) * np.log1p(-p))), m


def case(name, p, y, fitted=False, belt=False):
    peer = CalibrationBelt(y, p, outsample=not fitted).stats()
    c = {"name": name, "p": p.tolist(), "y": y.tolist(), "fitted": fitted, "pycaleva": [float(peer.statistic), float(peer.pvalue)]}
    if fitted:
        t, m = selected(p, y)
        tail = 1 - cdf_m(t, m, False, 0.95)
    else:
        b = calibration.CalibrationBelt(y, p)
        m, _ = b.forward_select(0.95)
        t, tail = b.test()
        if belt:
            c["belts"] = {str(level): b.calculate_boundaries(level, size=12).tolist() for level in (0.8, 0.95)}
    return c | {"statistic": float(t), "pvalue": float(tail), "degree": m}


def drawn(q):
    return (rng.random(len(q)) < q).astype(int)


cases = []
for n in (60, 250, 1000):
    x = rng.normal(-1, 1.3, n)
    cases.append(case(f"calibrated {n}", expit(x), drawn(expit(x)), belt=n == 250))
    cases.append(case(f"steep {n}", expit(1.8 * x), drawn(expit(x)), belt=n == 250))
    cases.append(case(f"bent {n}", expit(x), drawn(expit(x + 0.4 * x**2 - 0.5)), belt=n == 1000))
    cases.append(case(f"wave {n}", expit(x), drawn(expit(x + 1.2 * np.sin(2 * x)))))
x = np.round(rng.normal(0, 1, 400), 1)
cases.append(case("ties", expit(x), drawn(expit(x))))
x = rng.normal(0, 1.2, 1500)
cases.append(case("quartic", expit(x), drawn(expit(x - 0.9 * x**2 + 0.25 * x**4))))
for n in (200, 800):
    u = rng.normal(0, 1, (n, 2))
    for name, eta in (("line", u[:, 0] - 0.5), ("curve", u[:, 0] + 0.8 * u[:, 0] ** 2 - 1), ("cubic", u[:, 0] ** 3 / 2 - u[:, 0])):
        y = drawn(expit(eta))
        p = sm.Logit(y, sm.add_constant(u)).fit(disp=0).predict()
        cases.append(case(f"fitted {name} {n}", p, y, fitted=True))
laws = []
for external in (True, False):
    for m in range(1 if external else 2, 5):
        for t in (0.5, 2.0, 3.9, 5.0, 7.8, 9.0, 11.6, 13.0, 17.0, 25.0):
            laws.append({"t": t, "degree": m, "fitted": not external, "cdf": float(cdf_m(t, m, external, 0.95))})
text = json.dumps({"cases": cases, "laws": laws}, separators=(",", ":"))
with open(pathlib.Path(__file__).with_name("belt.json.gz"), "wb") as f:
    f.write(gzip.compress(text.encode(), mtime=0))
for c in cases:
    print(c["name"], c["degree"], c["statistic"], c["pvalue"])
