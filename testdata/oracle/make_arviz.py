# SPDX-License-Identifier: BSD-3-Clause
"""Write arviz.json beside this file: information criteria of log-likelihoods as ArviZ has them.

    python3 make_arviz.py [DIRECTORY]        (needs numpy and arviz; no other argument, no clock, no network)

A set has rows of log-likelihoods, a number for each draw. waic and p_waic are sums over the rows, with the variance of 1/M; loo has by
relative efficiency reff the sums elpd_loo and p_loo, the standard error of the first, and each row's elpd and Pareto shape.
"""
import json
import os
import sys
import warnings

import arviz as az
import numpy as np

warnings.filterwarnings("ignore")


def case(r, rows, draws, spread):
    centre = r.normal(-1, 0.5, (rows, 1))
    x = np.round(centre - spread * r.exponential(1, (rows, 1)) * r.normal(0, 1, (rows, draws)) ** 2, 4)
    data = az.from_dict(posterior={"a": np.zeros((1, draws))}, log_likelihood={"y": x.T[None]})
    w = az.waic(data)
    loo = []
    for reff in (1.0, 0.7, 0.25, 1.6):
        e = az.loo(data, reff=reff, pointwise=True)
        loo.append({"reff": reff, "elpd": float(e.elpd_loo), "se": float(e.se), "p": float(e.p_loo),
                    "elpds": e.loo_i.values.tolist(), "k": e.pareto_k.values.tolist()})
    return {"rows": x.tolist(), "waic": float(w.elpd_waic), "p_waic": float(w.p_waic), "loo": loo}


def main():
    here = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    r = np.random.default_rng(20260425)
    cases = [case(r, 8, 150, 0.4), case(r, 4, 500, 1.0), case(r, 5, 60, 0.1)]
    with open(os.path.join(here, "arviz.json"), "w", encoding="ascii", newline="\n") as f:
        f.write('{\n"how": ' + json.dumps("ArviZ %s, run by make_arviz.py." % az.__version__) + ',\n"cases": [\n')
        f.write(",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]\n}\n")


if __name__ == "__main__":
    main()
