# SPDX-License-Identifier: BSD-3-Clause
"""Reference values of the decomposition of quantiles' mean loss: interval_parts.json.

Run: python make_interval_parts.py, with numpy 2.4.6, scipy 1.17.1, model-diagnostics 1.5.0 and scikit-learn 1.9.1.

`peer` are the parts of the pinball loss of each end by model-diagnostics, times 2/a, so that both ends sum to the interval
score. `program` are the same parts with the least loss of rising values as a linear program, for the smaller cases.
"""

import json
import pathlib

import numpy as np
from model_diagnostics.scoring import PinballLoss, decompose
from scipy import optimize, sparse

r = np.random.default_rng(20261127)


def pinball(level, z, y):
    return np.where(y < z, 1 - level, -level) * (z - y)


def program(level, x, y, w):
    """The least weighted mean loss of values that rise with x, equal where x is."""
    values, block = np.unique(x, return_inverse=True)
    n, k = len(y), len(values)
    # Variables: k values, n excesses over y, n deficits.
    equal = sparse.hstack([sparse.csr_array((np.ones(n), (np.arange(n), block)), shape=(n, k)), -sparse.eye(n), sparse.eye(n)])
    rise = sparse.hstack([sparse.eye(k - 1, k) - sparse.eye(k - 1, k, 1), sparse.csr_array((k - 1, 2 * n))]) if k > 1 else None
    cost = np.concatenate([np.zeros(k), (1 - level) * w, level * w])
    s = optimize.linprog(cost, A_ub=rise, b_ub=np.zeros(k - 1) if k > 1 else None, A_eq=equal, b_eq=y,
                         bounds=[(None, None)] * k + [(0, None)] * (2 * n), method="highs")
    assert s.success
    return s.fun / w.sum()


cases = []
for n, digits, level, weighted, skill in ((1, 1, 0.9, False, 1), (2, 1, 0.5, False, 1), (7, 1, 0.9, False, 1), (40, 0, 0.8, False, 1),
                                          (60, 6, 0.9, True, 1), (60, 0, 0.5, True, 1), (150, 1, 0.95, False, 0), (150, 6, 0.6, False, -1), (800, 2, 0.9, False, 1),
                                          (800, 2, 0.9, True, 1)):
    mean = r.normal(0, 2, n)
    y = np.round(skill * mean + r.normal(0, 1, n), digits)
    half = 1.3 * np.exp(r.normal(0, 0.3, n))
    low, high = np.round(mean - half, digits), np.round(mean + half, digits)
    w = r.integers(1, 5, n) / 2 if weighted else np.ones(n)
    a = 1 - level
    case = {"level": level, "low": low.tolist(), "high": high.tolist(), "y": y.tolist(), "w": w.tolist() if weighted else None, "ends": []}
    for at, x in ((a / 2, low), (1 - a / 2, high)):
        peer = None
        if len(np.unique(x)) > 1:
            times = (2 * w).astype(int) if weighted else 1  # it has no weighted quantiles: a row is there several times
            d = decompose(np.repeat(y, times), np.repeat(x, times), scoring_function=PinballLoss(level=at))
            peer = [float(2 / a * d[c][0]) for c in ("score", "miscalibration", "discrimination", "uncertainty")]
        end = {"peer": peer}
        if n <= 150:
            score = float(np.average(pinball(at, x, y), weights=w))
            left, base = program(at, x, y, w), program(at, np.zeros(n), y, w)
            end["program"] = [2 / a * v for v in (score, score - left, base - left, base)]
            if peer:
                print(n, level, weighted, "peer - program", np.array(peer) - end["program"])
        case["ends"].append(end)
    cases.append(case)

pathlib.Path(__file__).with_name("interval_parts.json").write_text(json.dumps({"cases": cases}, separators=(",", ":")))
