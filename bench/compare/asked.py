#!/usr/bin/env python3
"""Time Numba, DuckDB and Polars on binary scores in memory, one thread each, by what is asked of them.

usage: asked.py SCORES.npy LABELS.npy

Each line "TOOL<tab>QUESTION" of standard input is measured once: a question is ece, or accuracy,brier,ece. seconds are those of all threads of the
process together. Functions are compiled, and arrays in the tools' own form, before the clock starts.
"""
import os

for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "POLARS_MAX_THREADS"):
    os.environ[name] = "1"  # read when the libraries are loaded

import json
import sys
import time

import numpy as np

ABSENT = {}
try:
    import numba
except ImportError as e:
    numba, ABSENT["Numba"] = None, str(e)
try:
    import polars as pl
except ImportError as e:
    pl, ABSENT["Polars"] = None, str(e)
try:
    import duckdb
except ImportError as e:
    duckdb, ABSENT["DuckDB"] = None, str(e)

BINS = 15
p, y = np.load(sys.argv[1]), np.load(sys.argv[2])
tools = {}

if numba:
    def loop(p, y, all):
        gap = np.zeros(BINS)
        right, squares = 0, 0.0
        for i in range(len(p)):
            v = np.float64(p[i])
            b = min(int(v * BINS), BINS - 1)
            gap[b] += v - y[i]
            if all:
                right += (v > 0.5) == (y[i] == 1)
                squares += (v - y[i]) * (v - y[i])
        return np.abs(gap).sum() / len(p), right / len(p), squares / len(p)

    loop = numba.njit(loop)
    for all in (False, True):
        loop(p[:10], y[:10], all)
    tools["Numba"] = lambda all: loop(p, y, all)

if duckdb:
    con = duckdb.connect(config={"threads": 1})
    con.execute("set enable_progress_bar = false")
    con.execute("create temp table t as select * from (select unnest($p)::float as p, unnest($y)::utinyint as y limit 0)", {"p": [0.0], "y": [0]})
    arrays = {"p": p, "y": y}
    con.execute("insert into t select p, y from arrays")
    more = ", sum(((p > 0.5) = (y = 1))::int) as r, sum((p::double - y) * (p::double - y)) as s"

    def sql(all):
        n, ece, *rest = con.execute(f"""select sum(n), sum(abs(g)){', sum(r), sum(s)' if all else ''} from (
            select count(*) as n, sum(p::double - y) as g {more if all else ''} from t group by least(floor(p::double * {BINS})::tinyint, {BINS - 1}))""").fetchone()
        return [v / n for v in [ece, *rest]]

    tools["DuckDB"] = sql

if pl:
    frame = pl.DataFrame({"p": p, "y": y})

    def query(all):
        v = pl.col("p").cast(pl.Float64)
        of = [(v - pl.col("y")).sum().alias("g"), pl.len().alias("n")]
        if all:
            of += [((pl.col("p") > 0.5) == (pl.col("y") == 1)).sum().alias("r"), ((v - pl.col("y")) ** 2).sum().alias("s")]
        t = frame.lazy().group_by((v * BINS).floor().clip(0, BINS - 1).cast(pl.Int8).alias("b")).agg(of).collect()
        n = t["n"].sum()
        return [t["g"].abs().sum() / n] + ([t["r"].sum() / n, t["s"].sum() / n] if all else [])

    tools["Polars"] = query

versions = {"Numba": getattr(numba, "__version__", ""), "DuckDB": getattr(duckdb, "__version__", ""), "Polars": getattr(pl, "__version__", "")}
print(json.dumps({"absent": ABSENT, "versions": versions}), flush=True)
for line in sys.stdin:
    tool, asked = line.rstrip("\n").split("\t")
    all = asked != "ece"
    start = time.process_time()
    ece, *rest = tools[tool](all)
    took = time.process_time() - start
    accuracy, brier = rest if all else (0, 0)
    print(json.dumps({"workload": asked, "tool": tool, "seconds": took, "ece": float(ece), "accuracy": float(accuracy), "brier": float(brier)}), flush=True)
