# SPDX-License-Identifier: BSD-3-Clause
"""Write clusters.json beside this file: errors of differences of two models whose rows are clustered.

    python3 make_clusters.py [DIRECTORY]     (takes half a minute; no other argument, no clock, no network)

Made with Python 3.11, statsmodels 0.15.0, scipy 1.17.1, numpy 2.4.6.

Means, and functions of means by what rows add to them, are regressions on a constant: with clusters of one size their errors are those
of statsmodels, clustered. With others the adjustment of residuals and the degrees of freedom are Bell and McCaffrey's, by the matrices of
rows of the definition, where a row of weight w stands for 4 w rows. The calibration lines are one logistic regression of both models'
rows with parameters of their own, clustered likewise. AUROC is Obuchowski's variance from all pairs of rows. Areas by confidence are moved by each row as by a numerical derivative with respect to its weight.
`calibration_error_squared` is by its formula, cluster by cluster.
"""
import json
import os
import sys

import numpy as np
import statsmodels.api as sm
from scipy import stats

WAYS = dict(cov_type="cluster", use_t=True)


def regress(d, g, w):
    """The mean of d with its standard error, clustered."""
    one = np.ones((len(d), 1))
    fit = (sm.OLS(d, one) if w is None else sm.WLS(d, one, weights=w)).fit(cov_kwds={"groups": g, "df_correction": True}, **WAYS)
    low, high = fit.conf_int()[0]
    return {"se": fit.bse[0], "p": fit.pvalues[0], "half": (high - low) / 2}


def mccaffrey(g, w):
    """By what the residuals of a cluster are multiplied in a mean over rows, and the degrees of freedom, of 4 w rows each.

    CR2: the residuals e_g of cluster g become (I - H_gg)^(-1/2) e_g. Freedom: the geometric mean of that of the variance under independent
    errors, and under errors that are equal within clusters.
    """
    g = np.repeat(g, np.round(4 * w).astype(int))
    n, names = len(g), np.unique(g)
    x = np.ones((n, 1))
    bread = np.linalg.inv(x.T @ x)
    annihilator = np.eye(n) - x @ bread @ x.T
    factors, columns = [], []
    for name in names:
        at = g == name
        value, vector = np.linalg.eigh(annihilator[np.ix_(at, at)])
        root = vector @ np.diag(value**-0.5) @ vector.T
        factors.append((root @ x[at])[0, 0])
        columns.append(annihilator[:, at] @ root @ x[at] @ bread)
    columns = np.hstack(columns)
    df = 1.0
    for common in (columns, np.array([columns[g == name].sum(0) for name in names])):
        value = np.linalg.eigvalsh(common.T @ common)
        df *= value.sum() ** 2 / (value**2).sum()
    return np.array(factors), np.sqrt(df)


def of(se, value, df):
    half = stats.t.ppf(0.975, df) * se
    return {"se": se, "p": 2 * stats.t.sf(abs(value) / se, df), "half": half, "value": value, "df": df}


def sums(x, g):
    return np.array([x[g == k].sum() for k in np.unique(g)])


def auroc(score, y, w):
    rest, event = y == 0, y == 1
    psi = (score[event][:, None] > score[rest][None]) + 0.5 * (score[event][:, None] == score[rest][None])
    return (psi * w[event][:, None] * w[rest][None]).sum() / w[event].sum() / w[rest].sum()


def components(score, y, w):
    rest, event = y == 0, y == 1
    psi = (score[event][:, None] > score[rest][None]) + 0.5 * (score[event][:, None] == score[rest][None])
    v = np.zeros(len(y))
    v[event] = (psi * w[rest][None]).sum(1) / w[rest].sum()
    v[rest] = (psi * w[event][:, None]).sum(0) / w[event].sum()
    return v


def obuchowski(a, b, y, g, w, adjust, df):
    value = auroc(b, y, w) - auroc(a, y, w)
    v = components(b, y, w) - components(a, y, w) - value
    k = len(np.unique(g))
    adjust = adjust * np.sqrt((k - 1) / k)
    parts = [adjust * sums(w * v * (y == h), g) / w[y == h].sum() for h in (0, 1)]
    n = [len(np.unique(g[y == h])) for h in (0, 1)]
    square = sum(m / (m - 1) * (p**2).sum() for m, p in zip(n, parts)) + 2 * k / (k - 1) * (parts[0] * parts[1]).sum()
    return of(np.sqrt(square), value, df)


def areas(score, right, w):
    """AURC, E-AURC, AUGRC, where rows of one score are taken together."""
    each = np.unique(score)[::-1]
    rows = np.array([w[score == s].sum() for s in each])
    wrong = np.array([(w * (1 - right))[score == s].sum() for s in each])
    total = rows.sum()
    risk = np.cumsum(wrong) / np.cumsum(rows)
    silent = (np.cumsum(wrong) - wrong / 2) / total
    e = wrong.sum() / total
    aurc = (rows * risk).sum() / total
    return np.array([aurc, aurc - (e + (1 - e) * np.log1p(-e)), (rows * silent).sum() / total, auroc(score, right, w)])


def derivative(f, w):
    h = 1e-5
    out = []
    for i in range(len(w)):
        up, down = w.copy(), w.copy()
        up[i] += h
        down[i] -= h
        out.append((f(up) - f(down)) / (2 * h))
    return np.array(out)


def few(g, *hits):
    return np.sqrt(1 + 3 / min(len(np.unique(g[h == k])) for h in hits for k in (0, 1)))


def squared(p, y, g, w, bins=15):
    """The value of calibration_error_squared, what each cluster adds, and its residuals by bin."""
    names = np.unique(g)
    bin_of = np.minimum((p * bins).astype(int), bins - 1)
    value, n = 0.0, w.sum()
    gaps, moves, table, size, clusters = np.zeros(bins), np.zeros(len(names)), np.zeros((len(names), bins)), np.zeros(bins), np.zeros(bins)
    for k in range(bins):
        at = bin_of == k
        size[k] = w[at].sum()
        clusters[k] = len(np.unique(g[at]))
        if clusters[k] < 2:
            continue
        gaps[k] = (w * (y - p))[at].sum() / size[k]
        off = sums(np.where(at, w * (y - p - gaps[k]), 0), g)
        table[:, k] = off * np.sqrt(clusters[k] / (clusters[k] - 1))
        share = sums(np.where(at, w, 0), g) / size[k]
        value += size[k] / n * (gaps[k] ** 2 - (off**2 / (1 - share)).sum() / size[k] ** 2)
    mean = (size * gaps**2).sum() / n
    for i, name in enumerate(names):
        here = g == name
        moves[i] = 2 * (table[i] * gaps).sum() + sum((w[here & (bin_of == k)]).sum() * (gaps[k] ** 2 - mean) for k in range(bins))
    return value, moves, table, size, clusters


def errorsquared(a, b, y, g, w, adjust, df):
    (va, ma, ta, sa, ca), (vb, mb, tb, sb, cb) = squared(a, y, g, w), squared(b, y, g, w)
    n = w.sum()
    first = ((adjust * (mb - ma)) ** 2).sum()
    cross = np.hstack([ta, tb]).T @ np.hstack([ta, tb])
    size, clusters, sign = np.hstack([sa, sb]), np.hstack([ca, cb]), np.repeat([-1, 1], len(sa))
    least = taken = 0.0
    for i in range(len(size)):
        for j in range(len(size)):
            if clusters[i] < 2 or clusters[j] < 2:
                continue
            x = 2 * sign[i] * sign[j] * cross[i, j] ** 2 / (size[i] * size[j])
            below = np.sqrt((clusters[i] + 1) * (clusters[j] + 1))
            least += x * np.sqrt(clusters[i] * clusters[j]) / below
            taken += x * np.sqrt((clusters[i] - 2) * (clusters[j] - 2)) / below
    return of(np.sqrt(max(first - taken, max(0, least))) / n, vb - va, df)


def case(seed, weighted, equal=False):
    r = np.random.default_rng(seed)
    k = 30
    g = np.repeat(np.arange(k), np.full(k, 10) if equal else r.integers(1, 20, k))
    n = len(g)
    shared = r.normal(size=k)[g]
    z = r.normal(size=n) + shared
    y = (r.random(n) < 1 / (1 + np.exp(-z))).astype(int)
    score = lambda noise, own: np.clip(np.round(64 / (1 + np.exp(-(z + noise * r.normal(size=n) + own * r.normal(size=k)[g])))), 1, 63) / 64
    a, b = score(1.2, 0.8), score(0.5, 0.4)
    weights = r.integers(1, 9, n) / 4 if weighted else None
    w = np.ones(n) if weights is None else weights
    order = r.permutation(n)
    g, y, a, b, w = g[order], y[order], a[order], b[order], w[order]
    weights = None if weights is None else w
    out = {}
    nll = [-np.log(np.where(y == 1, p, 1 - p)) for p in (a, b)]
    brier = [(p - y) ** 2 for p in (a, b)]
    right = [((p > 0.5).astype(int) == y).astype(int) for p in (a, b)]
    mean = lambda x: np.average(x, weights=w)
    adjust, df = mccaffrey(g, w)

    def error(row):
        peer = regress(row, g, weights)
        se = np.sqrt((adjust**2 * sums(w * (row - mean(row)), g) ** 2).sum()) / w.sum()
        if equal:
            assert abs(se / peer["se"] - 1) < 1e-12 and abs(df - (k - 1)) < 1e-9
        return peer["se"] if equal else se

    slope = [np.exp(mean(x)) for x in nll]
    for name, row in {"nll": nll[1] - nll[0], "brier": brier[1] - brier[0], "accuracy": right[1] - right[0], "mean_p": b - a}.items():
        out[name] = of(error(row), mean(row), df)
    # What a row adds to a function of means; statsmodels has the value's error, and p is of the value.
    linear = {"perplexity": (slope[1] * (nll[1] - mean(nll[1])) - slope[0] * (nll[0] - mean(nll[0])), slope[1] - slope[0])}
    rate = mean(y)
    for name, loss, reference, part in (("brier_skill", brier, rate * (1 - rate), (1 - 2 * rate) * (y - rate)),
                                        ("nll_skill", nll, -(rate * np.log(rate) + (1 - rate) * np.log(1 - rate)), (np.log(1 - rate) - np.log(rate)) * (y - rate))):
        d = loss[1] - loss[0]
        linear[name] = (-(d - mean(d)) / reference + mean(d) / reference**2 * part, -mean(d) / reference)
    for name, (row, value) in linear.items():
        out[name] = of(error(row), value, df)
    out["auroc"] = obuchowski(a, b, y, g, w, adjust, df)
    top = [np.maximum(p, 1 - p) for p in (a, b)]
    fs = [lambda v, m=m: areas(top[m], right[m], v) for m in (0, 1)]
    value = fs[1](w) - fs[0](w)
    moves = derivative(fs[1], w) - derivative(fs[0], w)
    for i, name in enumerate(("aurc", "eaurc", "augrc", "calibration_auc")):
        se = np.sqrt(((adjust * sums(w * moves[:, i], g)) ** 2).sum())
        out[name] = of(se * (few(g, *right) if i < 3 else 1), value[i], df)
    x = np.zeros((2 * n, 4))
    x[:n, 0] = x[n:, 2] = 1
    x[:n, 1], x[n:, 3] = np.log(a / (1 - a)), np.log(b / (1 - b))
    fit = sm.GLM(np.hstack([y, y]), x, family=sm.families.Binomial(), freq_weights=np.hstack([w, w])).fit(tol=1e-14, maxiter=200)
    score = x * (np.hstack([w, w]) * (np.hstack([y, y]) - fit.predict()))[:, None]
    meat = np.zeros((4, 4))
    for factor, name in zip(adjust, np.unique(g)):
        s = factor * score[np.hstack([g, g]) == name].sum(0)
        meat += np.outer(s, s)
    bread = np.linalg.inv((x * (np.hstack([w, w]) * fit.predict() * (1 - fit.predict()))[:, None]).T @ x)
    cov = bread @ meat @ bread
    if equal:
        peer = sm.GLM(np.hstack([y, y]), x, family=sm.families.Binomial()).fit(tol=1e-14, maxiter=200, cov_type="cluster",
                                                                              cov_kwds={"groups": np.hstack([g, g]), "use_correction": False})
        cov = peer.cov_params() * k / (k - 1)
    for name, i in (("calibration_intercept", 0), ("calibration_slope", 1)):
        se = np.sqrt(cov[i, i] + cov[i + 2, i + 2] - 2 * cov[i, i + 2])
        out[name] = of(se * few(g, y), fit.params[i + 2] - fit.params[i], df)
    out["calibration_error_squared"] = errorsquared(a, b, y, g, w, adjust, df)
    return {"cluster": [f"c{k}" for k in g], "label": y.tolist(), "weight": None if weights is None else w.tolist(),
            "a": (a * 64).astype(int).tolist(), "b": (b * 64).astype(int).tolist(), "differences": {m: {k: float(v) for k, v in d.items()} for m, d in out.items()}}


here = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "clusters.json"), "w") as f:
    json.dump({"cases": [case(1, False), case(2, True), case(3, False, equal=True)]}, f, separators=(",", ":"))
    f.write("\n")
