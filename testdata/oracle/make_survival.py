# SPDX-License-Identifier: BSD-3-Clause
"""Write testdata/examples/gbsg2.csv and testdata/oracle/survival.json.

The predictions are those of a Cox regression that lifelines 0.30 fits to every other row of the German Breast Cancer Study Group's trial
(Schumacher et al. 1994), which lifelines brings under the MIT licence; the rows of the file are the other half. The values are those of
scikit-survival 0.28.0 and lifelines for these predictions, to which censored rows are given half a day later: an event and a censoring
on one day count in this order, and a row censored on the day of the horizon is known to be without the event.

    pip install lifelines==0.30.0 scikit-survival==0.28.0
    python testdata/oracle/make_survival.py
"""

import json
import os

import numpy as np
import pandas as pd
from lifelines import CoxPHFitter, KaplanMeierFitter
from lifelines.datasets import load_gbsg2
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
with open(os.path.join(HERE, "survival.json"), "w") as f:
    json.dump(out, f, indent=1)
    f.write("\n")
