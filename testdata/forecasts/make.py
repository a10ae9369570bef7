"""Makes the files of this folder:

    python make.py HUB NIXTLA_CV

HUB is the folder of a copy of hubverse-org/example-complex-forecast-hub at 68c7bb8 (January 2026, CC0), NIXTLA_CV the CSV of
statsforecast's cross_validation (2.1.1, levels 50, 80, 95.5; SeasonalNaive and HistoricAverage on two made-up series).

hub/ has two locations of three models and two rounds of it, without some horizons of samples and of the cdf, and
oracle.csv.gz what was observed. nixtla.csv, .parquet and .jsonl are the table of the cross-validation, with dates as
timestamps in Parquet. figures.json has what is computed from them here, by the definitions alone.
"""
import csv, datetime, gzip, io, itertools, json, math, pathlib, sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

hub, cv = pathlib.Path(sys.argv[1]), sys.argv[2]
out = pathlib.Path(__file__).parent
places = ("01", "US")


def keep(r):
    return r["location"] in places and (
        r["output_type"] in ("quantile", "median", "mean", "pmf")
        or r["output_type"] == "sample" and r["horizon"] in ("0", "1")
        or r["output_type"] == "cdf" and r["horizon"] == "0")


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    s = io.StringIO()
    w = csv.DictWriter(s, rows[0].keys(), lineterminator="\n")
    w.writeheader()
    w.writerows(rows)
    path.write_bytes(gzip.compress(s.getvalue().encode(), 9, mtime=0))


rows, dates = {}, set()
for f in sorted((hub / "model-output").glob("*/*.csv")):
    part = [r for r in csv.DictReader(open(f)) if keep(r)]
    write(out / "hub/model-output" / f.parent.name / (f.name + ".gz"), part)
    rows.setdefault(f.parent.name, []).extend(part)
    dates |= {r["target_end_date"] for r in part}
oracle = [r for r in csv.DictReader(open(hub / "target-data/oracle-output.csv")) if r["location"] in places and r["target_end_date"] in dates]
write(out / "hub/oracle.csv.gz", oracle)
tasks = json.load(open(hub / "hub-config/tasks.json"))
for round in tasks["rounds"]:
    for m in round["model_tasks"]:
        for id in m["task_ids"]:
            if id != "target":
                m["task_ids"][id] = {"required": None, "optional": ["..."]}
(out / "hub/tasks.json").write_text(json.dumps(tasks, indent=1) + "\n")

figures = {}
seen = {}
for r in oracle:
    seen[r["location"], r["target_end_date"], r["target"], r["output_type"], r["output_type_id"]] = float(r["oracle_value"])


def of(r, id="NA"):
    return seen[r["location"], r["target_end_date"], r["target"], r["output_type"], id]


def by_task(model, kind):
    tasks = {}
    for r in rows[model]:
        if r["output_type"] == kind:
            key = tuple(r[k] for k in ("location", "reference_date", "horizon", "target_end_date", "target"))
            tasks.setdefault(key, []).append(r)
    return tasks


def wis(levels, x, y):
    # 2/Q of the pinball losses, which is the weighted interval score of symmetric levels with the median
    return float(np.mean([2 * ((y <= q) - l) * (q - y) for l, q in zip(levels, x)]))


def skill(scores, baseline):
    # scoringutils: theta is the geometric mean of a model's ratios to all models, itself with ratio 1
    theta = {}
    for a in scores:
        ratios = []
        for b in scores:
            both = [k for k in scores[a] if k in scores[b]]
            ratios.append(sum(scores[a][k] for k in both) / sum(scores[b][k] for k in both))
        theta[a] = math.exp(sum(map(math.log, ratios)) / len(ratios))
    result = {}
    for a in scores:
        both = [k for k in scores[a] if k in scores[baseline]]
        ratio = sum(scores[a][k] for k in both) / sum(scores[baseline][k] for k in both)
        result[a] = {"relative_skill": theta[a], "scaled": theta[a] / theta[baseline], "ratio": ratio}
    return result


per_task, logs = {}, {}
for model in rows:
    f = figures[model] = {}
    per, lg = {}, {}
    for key, t in by_task(model, "quantile").items():
        levels, x = [float(r["output_type_id"]) for r in t], [float(r["value"]) for r in t]
        per[key] = wis(levels, x, of(t[0]))
        lg[key] = wis(levels, [math.log1p(v) for v in x], math.log1p(of(t[0])))
    per_task[model], logs[model] = per, lg
    f["quantile"] = {"rows": len(per), "wis": np.mean(list(per.values()))}
    f["quantile log1p"] = {"rows": len(per), "wis": np.mean(list(lg.values()))}
    for h in "0123":
        f["quantile horizon " + h] = {"wis": np.mean([v for k, v in per.items() if k[2] == h])}
    for kind in ("median", "mean"):
        e = [float(t[0]["value"]) - of(t[0]) for t in by_task(model, kind).values()]
        f[kind] = {"rows": len(e), "mae": np.mean(np.abs(e)), "rmse": math.sqrt(np.mean(np.square(e)))}
    crps = []
    for t in by_task(model, "sample").values():
        x, y = np.array([float(r["value"]) for r in t]), of(t[0])
        crps.append(np.mean(np.abs(x - y)) - np.mean(np.abs(x[:, None] - x)) / 2)
    f["sample"] = {"rows": len(crps), "draws": len(x), "crps": np.mean(crps)}
    rps = []
    for t in by_task(model, "cdf").values():
        rps.append(sum((float(r["value"]) - of(r, r["output_type_id"])) ** 2 for r in t))
    f["cdf"] = {"rows": len(rps), "rps": np.mean(rps)}
    nll, brier = [], []
    for t in by_task(model, "pmf").values():
        p, y = [float(r["value"]) for r in t], [of(r, r["output_type_id"]) for r in t]
        nll.append(-math.log(p[y.index(1)]) if p[y.index(1)] > 0 else math.inf)
        brier.append(sum((a - b) ** 2 for a, b in zip(p, y)))
    f["pmf"] = {"rows": len(nll), "brier": np.mean(brier)}
    if math.isfinite(sum(nll)):
        f["pmf"]["nll"] = np.mean(nll)
figures["relative skill"] = skill(per_task, "Flusight-baseline")
figures["relative skill log1p"] = skill(logs, "Flusight-baseline")
part = {m: dict(per_task[m]) for m in per_task}
part["PSI-DICE"] = {k: v for k, v in part["PSI-DICE"].items() if k[1] == "2022-12-17"}
figures["relative skill, one round of PSI-DICE"] = skill(part, "Flusight-baseline")

# Nixtla's table
table = list(csv.DictReader(open(cv)))
(out / "nixtla.csv").write_text(open(cv).read())
columns = {}
for name in table[0]:
    if name == "unique_id":
        columns[name] = pa.array([r[name] for r in table])
    elif name in ("ds", "cutoff"):
        columns[name] = pa.array([datetime.datetime.fromisoformat(r[name]) for r in table], pa.timestamp("us"))
    else:
        columns[name] = pa.array([float(r[name]) for r in table])
pq.write_table(pa.table(columns), out / "nixtla.parquet", compression="zstd")
with open(out / "nixtla.jsonl", "w") as f:
    for r in table:
        f.write(json.dumps({k: v if k in ("unique_id", "ds", "cutoff") else float(v) for k, v in r.items()}) + "\n")
per = {}
for model in ("SeasonalNaive", "HistoricAverage"):
    f = figures[model] = {}
    levels = sorted(((100 + s * float(l)) / 200, f"{model}-{n}-{l}") for l in ("50", "80", "95.5") for s, n in ((-1, "lo"), (1, "hi")))
    per[model] = {i: wis([l for l, _ in levels], [float(r[c]) for _, c in levels], float(r["y"])) for i, r in enumerate(table)}
    e = np.array([float(r[model]) - float(r["y"]) for r in table])
    f["nixtla"] = {"rows": len(table), "levels": [l for l, _ in levels], "wis": np.mean(list(per[model].values())),
                   "mae": np.mean(np.abs(e)), "rmse": math.sqrt(np.mean(e**2))}
figures["relative skill nixtla"] = skill(per, "HistoricAverage")
(out / "figures.json").write_text(json.dumps(figures, indent=1, default=float) + "\n")
