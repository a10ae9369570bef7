"""Makes venn_abers.json here: pip install venn-abers==1.5.0, then python make_venn_abers.py."""
import json, numpy as np
from venn_abers.venn_abers import VennAbers, VennAbersCV, predict_proba_prefitted_va
rng = np.random.default_rng(29)
out = {"made_by": "venn-abers 1.5.0 with numpy %s: VennAbers, VennAbersCV.predict_proba on given calibration folds, predict_proba_prefitted_va('one_vs_all')" % np.__version__, "binary": [], "classes": []}
class Scores:  # a model whose predictions are its input
    def fit(self, x, y): return self
    def predict_proba(self, x): return np.column_stack([1 - x, x])
def fold(row, k):  # recal.Folds{K: k}
    m = (1 << 64) - 1
    h = row
    for _ in range(2):
        h ^= h >> 33; h = h * 0xff51afd7ed558ccd & m
        h ^= h >> 33; h = h * 0xc4ceb9fe1a85ec53 & m
        h ^= h >> 33
    return h % k
for n, ties, kind in [(1, 0, "any"), (2, 0, "any"), (40, 0, "any"), (40, 5, "any"), (300, 0, "any"), (300, 20, "any"), (60, 0, "zeros"), (60, 7, "ones"), (200, 0, "reverse")]:
    p = rng.random(n)
    if ties: p = (np.floor(p * ties) + 0.5) / ties
    y = (rng.random(n) < p ** 2).astype(int)
    if kind == "zeros": y[:] = 0
    if kind == "ones": y[:] = 1
    if kind == "reverse": y = (rng.random(n) < 1 - p).astype(int)
    x = np.concatenate([rng.random(12), p[:8], [0.0, 1.0]])
    case = {"scores": p.tolist(), "labels": y.tolist(), "x": x.tolist()}
    va = VennAbers(); va.fit(np.column_stack([1 - p, p]), y)
    q, b = va.predict_proba(np.column_stack([1 - x, x]))
    case["p"], case["p0"], case["p1"] = q[:, 1].tolist(), b[:, 0].tolist(), b[:, 1].tolist()
    for k in (1, 3):
        parts = [[i for i in range(n) if k == 1 or fold(i, k) == f] for f in range(k)]
        if any(len(l) == 0 for l in parts): continue
        cv = VennAbersCV(estimator=Scores(), inductive=False, n_splits=k)
        cv.estimators = [Scores()] * (k + 1)
        cv.clf_p_cal = [np.column_stack([1 - p[l], p[l]]) for l in parts]
        cv.clf_y_cal = [y[l] for l in parts]
        cv.cv_ensemble = False
        for loss in ("log", "brier"):
            r, stack = cv.predict_proba(x, loss=loss, p0_p1_output=True)
            case["folds%d_%s" % (k, loss)] = r[:, 1].tolist()
        case["folds%d_bounds" % k] = [stack[:, :k].mean(1).tolist(), stack[:, k:].mean(1).tolist()]
    out["binary"].append(case)
for n, k in [(200, 3), (150, 5)]:
    z = rng.normal(size=(n, k)) * 2
    p = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    y = np.array([rng.choice(k, p=r) for r in np.sqrt(p) / np.sqrt(p).sum(1, keepdims=True)])
    x = np.concatenate([rng.dirichlet(np.ones(k), 15), p[:5]])
    q, b = predict_proba_prefitted_va(p, y, x, va_tpe="one_vs_all")
    out["classes"].append({"scores": p.tolist(), "labels": y.tolist(), "x": x.tolist(), "p": q.tolist(), "p0": [c[:, 0].tolist() for c in b], "p1": [c[:, 1].tolist() for c in b]})
json.dump(out, open("venn_abers.json", "w"))
