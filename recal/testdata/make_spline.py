"""Makes spline.json here: pip install scipy, then python make_spline.py. The definition of recal.Spline by scipy's natural cubic splines and numpy's
least squares."""
import json
import numpy as np, scipy
from scipy.interpolate import CubicSpline

rng = np.random.default_rng(29)
cases = []
for n, knots, ties, weighted in [(200, 6, 0, False), (400, 4, 0, False), (300, 9, 15, False), (257, 6, 0, True), (800, 6, 0, False), (3, 6, 0, False), (30, 6, 1, False)]:
    p = np.sort(rng.random(n) ** 0.5)
    if ties:
        p = (np.floor(p * ties) + 0.5) / ties
    y = (rng.random(n) < p ** 2).astype(int)
    w = rng.integers(1, 5, n) / 2 if weighted else np.ones(n)
    s, group = np.unique(p, return_inverse=True)
    rows, gaps = np.bincount(group, w), np.bincount(group, w * (y - p))
    t, d = np.cumsum(rows) / w.sum(), np.cumsum(gaps) / w.sum()
    at = np.linspace(0, 1, knots)
    basis = CubicSpline(at, np.eye(knots), bc_type="natural")
    root = np.sqrt(rows)
    heights = np.linalg.lstsq(basis(t) * root[:, None], d * root, rcond=None)[0]
    t0 = np.concatenate([[0], t[:-1]])
    f = np.clip(s + (basis(t) @ heights - basis(t0) @ heights) / (t - t0), 0, 1)
    cases.append({"knots": knots, "scores": p.tolist(), "labels": y.tolist(), "weights": w.tolist() if weighted else None, "x": s.tolist(), "y": f.tolist()})
json.dump({"made_by": "scipy %s, numpy %s" % (scipy.__version__, np.__version__), "cases": cases}, open("spline.json", "w"))
