# SPDX-License-Identifier: BSD-3-Clause
"""Write calibration_peers.json.gz beside this file: calibration figures that other programs print.

    python3 make_calibration_peers.py [DIRECTORY]     (takes seconds; no other argument, no clock, no network)

Made with Python 3.11, uncertainty-calibration 0.1.4, netcal 1.4.0, pycaleva 0.8.2, calzone-tool 0.1.0, statsmodels 0.15.0,
pandas 3.1.1, scipy 1.17.1, numpy 2.4.6. netcal imports torch, pyro and gpytorch for its recalibration and
pycaleva IPython and fpdf for its reports: what is called here uses none of them, and they are empty.

`tail` is mpmath 1.4.1. `sets` are scores of the event with its outcomes. Those without scores are the rule of `made` below, for many rows.
"""
import contextlib
import gzip
import io
import json
import os
import sys
import warnings
from unittest.mock import MagicMock

import mpmath
import numpy as np
import statsmodels.nonparametric.smoothers_lowess as smoothers
from calibration import utils as kumar
from calzone.metrics import hosmer_lemeshow_test, lowess_regression_analysis
from calzone.utils import reliability_diagram

ABSENT = ("fpdf", "IPython", "IPython.display", "torch", "torch.nn", "torch.nn.functional", "torch.optim", "torch.distributions", "torch.distributions.constraints",
             "torch.distributions.transforms", "torch.distributions.utils", "torch.utils", "torch.utils.data", "torch.utils.tensorboard",
             "torch.autograd", "pyro", "pyro.distributions", "pyro.infer", "pyro.infer.mcmc", "pyro.infer.autoguide", "pyro.nn",
             "pyro.optim", "pyro.contrib", "pyro.contrib.gp", "pyro.contrib.gp.models", "gpytorch")
sys.modules.update({name: MagicMock() for name in ABSENT})
from netcal.metrics import ACE  # noqa: E402
from pycaleva import CalibrationEvaluator  # noqa: E402
for name in ABSENT:
    del sys.modules[name]  # scipy asks whether there is a torch

warnings.simplefilter("ignore")


def made(n):
    i = np.arange(n, dtype=np.int64)
    p = (i * 2654435761 % 2**32) / 2**32
    v = (i * 48271 + 11) % 65537 / 65537
    return p, (v < p * p * (3 - 2 * p)).astype(int)


def sets():
    r = np.random.default_rng(7)

    def of(p, rate):
        return p, (r.random(len(p)) < rate(p)).astype(int)

    yield "uniform", *of(r.random(400), lambda p: p)
    yield "overconfident", *of(r.beta(.5, .5, 569), lambda p: .2 + .6 * p)
    yield "rare", *of(r.beta(.4, 8, 1000), lambda p: 1.5 * p)
    yield "two decimals", *of(np.round(r.random(500), 2), lambda p: p * p)
    yield "one decimal and ends", *of(np.round(r.random(90), 1), lambda p: p)
    yield "few rows", *of(r.random(23), lambda p: p)


def pycaleva(p, y, groups, outsample):
    with contextlib.redirect_stdout(io.StringIO()):
        c = CalibrationEvaluator(y, p, outsample=outsample, n_groups=groups)
        h = c.hosmerlemeshow(verbose=False)
    return [float(h.statistic), float(h.pvalue) if h.dof > 0 else None, int(h.dof)]


def lowess(p, y, span, delta):
    fit = smoothers.lowess(y, p, frac=span, delta=delta, it=0)
    e = np.abs(fit[:, 1] - fit[:, 0])
    return {"span": span, "delta": delta, "ici": float(e.mean()), "e50": float(np.quantile(e, .5)), "e90": float(np.quantile(e, .9))}


def figures(name, p, y):
    two = np.stack([1 - p, p], 1)
    out = {"name": name, "rows": len(p)}
    out["kumar"] = [[b, float(kumar.lower_bound_scaling_ce(p, y, num_bins=b, binning_scheme=kumar.get_equal_prob_bins))]
                    for b in (1, 5, 15, 40)]
    # netcal's bins are closed on the left, with the edges of numpy.linspace.
    out["ace"] = [[b, float(ACE(b).measure(p.copy(), y))] for b in (1, 5, 10, 15, 40)]
    out["deciles"] = []
    for g in (2, 5, 10):
        if len(np.unique(np.quantile(p, np.arange(g + 1) / g))) == g + 1:  # pycaleva divides ties elsewhere
            out["deciles"].append([g, pycaleva(p, y, g, True), pycaleva(p, y, g, False)])
    if len(np.unique(p)) == len(p):  # calzone closes bins on the right, and has no bin for 0
        out["width"] = []
        for g in (5, 10):
            h = hosmer_lemeshow_test(*(reliability_diagram(y, two, g, 1)[i] for i in (0, 1, 3)))
            out["width"].append([g, [float(h[0]), float(h[1]), int(h[2])]])
    out["calzone"] = float(lowess_regression_analysis(y, two)[0])
    out["lowess"] = [lowess(p, y, s, d) for s, d in ((.5, .001), (2 / 3, .01), (2 / 3, 0.), (.25, .05), (1., .001))]
    return out


def tails():
    """[degrees, x, P(chi-squared >= x)], of normal float64 alone."""
    mpmath.mp.dps = 40
    out = []
    for d in (1, 2, 3, 4, 5, 8, 9, 10, 13, 20, 29, 50, 101, 998, 999):
        for x in (1e-8, .01, .5 * d, d - .5, d + .25, 1.5 * d, 2. * d, 3 * d + 10., 6 * d + 50., 400., 1234.5, 1450., 2500., 7000.):
            p = mpmath.gammainc(mpmath.mpf(d) / 2, mpmath.mpf(x) / 2, mpmath.inf, regularized=True)
            if float(p) > 1e-300:
                out.append([d, x, float(p)])
    return out


def main():
    to = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    data = []
    for name, p, y in sets():
        data.append({**figures(name, p, y), "scores": p.tolist(), "labels": y.tolist()})
    p, y = made(10000)
    data.append({"name": "made", "rows": 10000, "calzone": float(lowess_regression_analysis(y, np.stack([1 - p, p], 1))[0]),
                 "lowess": [lowess(p, y, .5, .001), lowess(p, y, 2 / 3, .01)]})
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0, compresslevel=9) as f:
        f.write((json.dumps({"sets": data, "tail": tails()}, separators=(",", ":")) + "\n").encode())
    with open(os.path.join(to, "calibration_peers.json.gz"), "wb") as f:
        f.write(buffer.getvalue())


if __name__ == "__main__":
    main()
