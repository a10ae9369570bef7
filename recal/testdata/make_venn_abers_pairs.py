"""Makes venn_abers_pairs.json here: pip install venn-abers==1.5.0, then python make_venn_abers_pairs.py."""
import json, numpy as np
from venn_abers.venn_abers import predict_proba_prefitted_va
rng = np.random.default_rng(31)
out = {"made_by": "venn-abers 1.5.0 with numpy %s: predict_proba_prefitted_va('one_vs_one')" % np.__version__, "classes": []}
for n, k, ties in [(200, 3, 0), (150, 5, 0), (120, 4, 8), (60, 2, 0)]:
    z = rng.normal(size=(n, k)) * 2
    p = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    if ties: p = (np.floor(p * ties) + 0.5) / ties
    p /= p.sum(1, keepdims=True)
    y = np.array([rng.choice(k, p=r) for r in np.sqrt(p) / np.sqrt(p).sum(1, keepdims=True)])
    x = np.concatenate([rng.dirichlet(np.ones(k), 15), p[:5]])
    q, b = predict_proba_prefitted_va(p, y, x, va_tpe="one_vs_one")
    out["classes"].append({"scores": p.tolist(), "labels": y.tolist(), "x": x.tolist(), "p": q.tolist()})
json.dump(out, open("venn_abers_pairs.json", "w"))
