"""Makes dirichlet.json here.

pip install jax scikit-learn; pip install --no-deps --ignore-requires-python dirichletcal==0.5.3, which asks for Python 3.12 and runs on 3.11.
Beside its results are optima of the same definitions by scipy's BFGS with exact gradients, since dirichletcal ends where the loss falls by less than
1e-12 in five steps.
"""
import json
import numpy as np, scipy, scipy.optimize, jax, dirichletcal
from dirichletcal.calib.fulldirichlet import FullDirichletCalibrator

rng = np.random.default_rng(29)


def optimum(p, y, lam, mu, ref):
    n, k = p.shape
    z = np.log(p)
    off = 1 - np.eye(k)

    def f(t):
        w, b = t[:k * k].reshape(k, k), t[k * k:]
        if ref:
            w, b = w - w[-1], b - b[-1]
        s = z @ w.T + b
        s = s - s.max(1, keepdims=True)
        q = np.exp(s)
        q /= q.sum(1, keepdims=True)
        loss = -np.log(q[np.arange(n), y]).mean() + lam * (off * w * w).sum() + mu * (b * b).sum()
        r = q.copy()
        r[np.arange(n), y] -= 1
        gw, gb = r.T @ z / n + 2 * lam * off * w, r.mean(0) + 2 * mu * b
        if ref:
            gw[-1] -= gw.sum(0)
            gb[-1] -= gb.sum()
        return loss, np.concatenate([gw.ravel(), gb])

    t = np.concatenate([np.eye(k).ravel(), np.zeros(k)])
    for _ in range(5):
        t = scipy.optimize.minimize(f, t, jac=True, method="BFGS", options={"gtol": 1e-11, "maxiter": 5000}).x
    loss, g = f(t)
    w, b = t[:k * k].reshape(k, k), t[k * k:]
    return (lambda x: (lambda e: e / e.sum(1, keepdims=True))(np.exp(np.log(x) @ w.T + b))), float(np.abs(g).max())


cases = []
for n, k, lam, mu, ref in [(400, 3, 0, None, True), (400, 3, 0.03, 0.02, True), (400, 3, 0.03, 0.02, False), (300, 4, 0.5, 0.1, True), (300, 4, 0.5, 0.1, False), (500, 5, 0.001, 0.001, False)]:
    z = rng.normal(size=(n, k)) * 1.5
    p = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    t = 0.6 * z + 0.4 * np.roll(z, 1, axis=1) + np.linspace(-0.5, 0.5, k)
    t = np.exp(t) / np.exp(t).sum(1, keepdims=True)
    y = np.array([rng.choice(k, p=r) for r in t])
    x = np.concatenate([rng.dirichlet(np.ones(k), 12), p[:4]])
    c = FullDirichletCalibrator(reg_lambda=lam, reg_mu=mu, ref_row=ref, reg_norm=True)
    c.fit(p, y)
    best, gradient = optimum(p, y, (lam or 0) / (k * (k - 1)), (mu or 0) / k, ref)
    cases.append({"off_diagonal": lam, "bias": mu or 0, "ref_row": ref, "scores": p.tolist(), "labels": y.tolist(), "x": x.tolist(),
                  "dirichletcal": c.predict_proba(x).tolist(), "optimum": best(x).tolist(), "gradient": gradient})
    print(n, k, lam, mu, ref, np.abs(c.predict_proba(x) - best(x)).max(), gradient)
json.dump({"made_by": "dirichletcal 0.5.3, jax %s, scipy %s" % (jax.__version__, scipy.__version__), "cases": cases}, open("dirichlet.json", "w"))
