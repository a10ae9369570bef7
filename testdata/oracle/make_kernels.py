"""Writes kernels.json beside this script: kernel calibration errors by their definitions, over all pairs of rows.

skce and mmce are sums over an N x N matrix in numpy. For top labels, netcal's MMCE of the two columns is beside them. It is loaded by
itself, because the package around it imports PyTorch, which this class does not use. Run: pip install numpy==2.4.6 && pip install --no-deps
netcal==1.4.0 && python3 make_kernels.py
"""

import importlib.metadata
import importlib.util
import json
import pathlib
import sys
import types

import numpy as np

sys.modules["netcal"] = types.SimpleNamespace(accepts=lambda *_: lambda f: f)
at = importlib.metadata.distribution("netcal").locate_file("netcal/metrics/confidence/MMCE.py")
spec = importlib.util.spec_from_file_location("mmce", at)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
MMCE = module.MMCE

rng = np.random.default_rng(29)


def kernel(p, h):
    return np.exp(-np.abs(p[:, None] - p[None, :]) / h)


def case(name, p, y, w=None, netcal=False):
    p, y = np.asarray(p, float), np.asarray(y, int)
    n, e = len(p), y - p
    c = {"name": name, "p": p.tolist(), "y": y.tolist(), "answers": []}
    if w is not None:
        c["w"] = w.tolist()
    for h in (0.4, 0.05, 2.0):
        k = kernel(p, h)
        u = np.ones(n) if w is None else w
        a = {"h": h, "mmce": float(np.sqrt(max(0.0, ((u * e) @ k @ (u * e)) / u.sum() ** 2)))}
        if w is None:
            m = np.outer(e, e) * k
            np.fill_diagonal(m, 0)
            a["skce"] = float(m.sum() / (n * (n - 1)))
            parts = m.sum(1) / (n - 1)
            a["single"] = float((m**2).sum() / (n * (n - 1)) - a["skce"] ** 2)
            a["parts"] = float(((parts - a["skce"]) ** 2).sum() / (n - 1))
        c["answers"].append(a)
    if netcal:
        # The more probable class of each row; the outcome is that it is right.
        c["netcal"] = float(MMCE().measure(np.column_stack([1 - p, p]), y))
    return c


def outcomes(q):
    return (rng.random(len(q)) < q).astype(int)


p = np.round(rng.random(200), 2)
u = rng.random(300)
near1 = 1 - u * u / 2
tiny = rng.random(150) ** 12
top = 0.5 + rng.random(250) / 2
cases = [
    case("ties", p, outcomes(p)),
    case("overconfident", near1, outcomes(near1 - 0.3 * (1 - near1) * (2 * near1 - 1))),
    case("rare", tiny, outcomes(np.minimum(1, 10 * tiny))),
    case("ends", [0, 0, 1, 1, 0.5, 0.5, 1e-300, 1 - 2**-53, 0.25], [0, 1, 1, 0, 1, 0, 1, 0, 0]),
    case("one score", np.full(50, 0.3), outcomes(np.full(50, 0.5))),
    case("two rows", [0.2, 0.9], [1, 0]),
    case("right labels", top, outcomes(top - 0.1), netcal=True),
    case("weights", p, outcomes(p), w=np.round(rng.random(200) * 4 + 0.01, 3)),
]
pathlib.Path(__file__).with_name("kernels.json").write_text(json.dumps({"cases": cases}, separators=(",", ":")) + "\n")
