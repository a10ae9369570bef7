# SPDX-License-Identifier: BSD-3-Clause
"""Write testdata/examples/gbsg2.csv and testdata/oracle/survival.json.

The predictions are those of a Cox regression that lifelines 0.30 fits to every other row of the German Breast Cancer Study Group's trial
(Schumacher et al. 1994), which lifelines brings under the MIT licence; the rows of the file are the other half. The values are those of
scikit-survival 0.28.0 and lifelines for these predictions, to which censored rows are given half a day later: an event and a censoring
on one day count in this order, and a row censored on the day of the horizon is known to be without the event. The integrated calibration index is
that of scikit-survival's Cox regression (Efron's ties) on restricted cubic splines of log(-log(1 - p)). Beside it is that of lifelines'
survival_probability_calibration, another method: a straight line, and a spline for the baseline hazard. It is given times in units of 360 days; for
days its fit fails without an error, and all rows have the observed probability 0.

    pip install lifelines==0.30.0 scikit-survival==0.28.0 matplotlib
    python testdata/oracle/make_survival.py
"""

import json
import os
import warnings

import matplotlib

matplotlib.use("Agg")
import numpy as np
import pandas as pd
from lifelines import CoxPHFitter, KaplanMeierFitter
from lifelines.calibration import survival_probability_calibration
from lifelines.datasets import load_gbsg2
from lifelines.utils import CensoringType
from sksurv.linear_model import CoxPHSurvivalAnalysis
from sksurv.metrics import brier_score, concordance_index_censored, concordance_index_ipcw, cumulative_dynamic_auc, integrated_brier_score
from sksurv.util import Surv

HERE = os.path.dirname(os.path.abspath(__file__))
TIMES = np.arange(180, 2161, 180)
HORIZONS = [720, 1440]

data = load_gbsg2()
data = pd.get_dummies(data, columns=["horTh", "menostat", "tgrade"], drop_first=True, dtype=float)
fit, held = data.iloc[::2], data.iloc[1::2]
cox = CoxPHFitter().fit(fit, "time", "cens")
risk = np.round(1 - cox.predict_survival_function(held, times=TIMES).to_numpy().T, 6)
table = pd.DataFrame({"time": held.time.astype(int), "event": held.cens.astype(int)})
for t, column in zip(TIMES, risk.T):
    table[f"risk_{t}"] = column
table.to_csv(os.path.join(HERE, "..", "examples", "gbsg2.csv"), index=False, lineterminator="\n", float_format="%.6f")

later = held.time + np.where(held.cens == 1, 0, 0.5)
y = Surv.from_arrays(held.cens == 1, later)
out = {"rows": len(held), "events": int(held.cens.sum()), "horizons": []}
km = KaplanMeierFitter().fit(later, held.cens)
for h in HORIZONS:
    p = risk[:, list(TIMES).index(h)]
    out["horizons"].append({
        "time": h,
        "mean_risk": float(p.mean()),
        "event_share_km": float(1 - km.predict(h)),
        "brier_ipcw": float(brier_score(y, y, (1 - p)[:, None], [h])[1][0]),
        "auroc_ipcw": float(cumulative_dynamic_auc(y, y, p, [h])[0][0]),
        "concordance_ipcw": float(concordance_index_ipcw(y, y, p, tau=h)[0]),
        "concordance": float(concordance_index_censored(held.cens == 1, later, p)[0]),
    })
out["brier_integrated"] = float(integrated_brier_score(y, y, 1 - risk, TIMES))


QUANTILES = {2: [], 3: [0.1, 0.5, 0.9], 4: [0.05, 0.35, 0.65, 0.95], 5: [0.05, 0.275, 0.5, 0.725, 0.95]}


def spline(x, knots):
    """Harrell's basis of restricted cubic splines."""
    cube = lambda v: np.maximum(v, 0) ** 3
    columns = [x]
    for t in knots[:-2]:
        a, b = knots[-2:]
        columns.append((cube(x - t) - cube(x - a) * (b - t) / (b - a) + cube(x - b) * (a - t) / (b - a)) / (b - knots[0]) ** 2)
    return np.column_stack(columns)


class Given:
    """Predictions, as survival_probability_calibration asks a fitted model for them."""

    duration_col, event_col = "time", "event"

    def __init__(self, p):
        self.p = p
        CensoringType.set_censoring_type(self, CensoringType.RIGHT)

    def predict_survival_function(self, df, times):
        return pd.DataFrame([1 - self.p], index=times, columns=df.index)


out["ici"], out["ici_lifelines"] = [], []
for h in HORIZONS:
    p = risk[:, list(TIMES).index(h)]
    x = np.log(-np.log1p(-np.clip(p, 1e-10, 1 - 1e-10)))
    for knots, q in QUANTILES.items():
        basis = spline(x, np.quantile(x, q)) if q else x[:, None]
        fitted = CoxPHSurvivalAnalysis(ties="efron", tol=1e-14, n_iter=500).fit(basis, y)
        gaps = np.abs([1 - f(h) for f in fitted.predict_survival_function(basis)] - p)
        out["ici"].append({"horizon": h, "knots": knots, "ici_cox": float(gaps.mean()), "e50_cox": float(np.quantile(gaps, 0.5)),
                           "e90_cox": float(np.quantile(gaps, 0.9)), "emax_cox": float(gaps.max())})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, ici, e50 = survival_probability_calibration(Given(p), pd.DataFrame({"time": held.time / 360, "event": held.cens}), h / 360)
    out["ici_lifelines"].append({"horizon": h, "ici": float(ici), "e50": float(e50)})
with open(os.path.join(HERE, "survival.json"), "w") as f:
    json.dump(out, f, indent=1)
    f.write("\n")
