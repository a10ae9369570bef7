#!/usr/bin/env python3
"""Make the files that `go run . -files` compares, and time Polars, DuckDB and numpy on them, one thread each.

usage: files.py DIR --make ROWS | --serve

Each file has probabilities and labels: binary.* columns p and y, the others ten probabilities a row, as columns p0 to p9 or
as a list, and y. Found are NLL, Brier score and the 15-bin ECE, of the top label where there are ten. --serve measures one
repetition for each line "FILE<tab>TOOL" of standard input, from opening the file on; seconds are those of all threads of the
process together.
"""
import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS"):
    os.environ[name] = "1"  # read when the libraries are loaded

import json
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

pa.set_cpu_count(1)
pa.set_io_thread_count(1)

ABSENT = {}
try:
    import polars as pl
except ImportError as e:
    pl, ABSENT["polars"] = None, str(e)
try:
    import duckdb
except ImportError as e:
    duckdb, ABSENT["duckdb"] = None, str(e)
try:
    from safetensors import numpy as safetensors
except ImportError as e:
    safetensors, ABSENT["safetensors"] = None, str(e)

BINS = 15
K = 10


def make(folder, n):
    """Overconfident forecasts, the same ones each time."""
    path = lambda name: os.path.join(folder, name)
    r = np.random.default_rng(1)
    z = 2 * r.standard_normal(n)
    y = (r.random(n) < 1 / (1 + np.exp(-0.7 * z))).astype(np.int64)
    t = pa.table({"p": 1 / (1 + np.exp(-z)), "y": y})
    pa.csv.write_csv(t, path("binary.csv"), pa.csv.WriteOptions(quoting_style="none"))
    pa.parquet.write_table(t, path("binary.parquet"))

    x = 3 * r.standard_normal((n, K), dtype=np.float32)
    y = r.integers(0, K, n).astype(np.int32)
    x[np.arange(n), y] += (6 * (0.3 + r.random(n))).astype(np.float32)
    x -= x.max(axis=1, keepdims=True)
    np.exp(x, out=x)
    x /= x.sum(axis=1, keepdims=True)
    np.save(path("classes.npy"), x)
    np.save(path("classes.labels.npy"), y)
    if safetensors:
        safetensors.save_file({"probs": x, "y": y}, path("classes.safetensors"))
    wide = pa.table({f"p{j}": np.ascontiguousarray(x[:, j]) for j in range(K)} | {"y": y})
    lists = pa.table({"probs": pa.FixedSizeListArray.from_arrays(pa.array(x.reshape(-1)), K), "y": y})
    pa.parquet.write_table(wide, path("classes.parquet"))
    pa.parquet.write_table(wide, path("plain.parquet"), use_dictionary=False, compression="none")
    for name, table, form in (
        ("columns.arrow", wide, pa.ipc.new_file),
        ("columns.arrows", wide, pa.ipc.new_stream),
        ("list.arrow", lists, pa.ipc.new_file),
    ):
        with form(path(name), table.schema) as w:
            w.write_table(table, max_chunksize=1 << 16)

    x = np.cbrt(x[: n // 10].astype(np.float64))  # milder, so that eight decimals are above 0
    x /= x.sum(axis=1, keepdims=True)
    with open(path("classes.jsonl"), "w") as f:
        for row, label in zip(x.round(8).tolist(), y.tolist()):
            f.write(json.dumps({"probs": row, "y": label}) + "\n")


def means(n, nll, brier, gap):
    return {"nll": float(nll / n), "brier": float(brier / n), "ece": float(gap / n)}


# Polars: expressions, then sums by bin. Sums are of float64, as sums of float32 lose digits.


def pl_sums(frame, columns):
    bins = (pl.col("s") * BINS).floor().clip(0, BINS - 1).cast(pl.Int8).alias("bin")
    f64 = lambda c: pl.col(c).cast(pl.Float64).sum()
    g = frame.lazy().select(**columns).with_columns(bins).group_by("bin")
    g = g.agg(pl.len().alias("n"), f64("nll"), f64("brier"), (f64("s") - f64("e")).abs().alias("gap")).sum()
    if isinstance(frame, pl.LazyFrame):
        g = g.collect(engine="streaming")
    else:
        g = g.collect()
    return means(g["n"][0], g["nll"][0], g["brier"][0], g["gap"][0])


def pl_binary(frame):
    p, y = pl.col("p"), pl.col("y")
    return pl_sums(frame, {"s": p, "e": y, "nll": -pl.when(y == 1).then(p).otherwise(1 - p).log(), "brier": (p - y) ** 2})


def pl_classes(frame, p=None):
    p, y = p or [pl.col(f"p{j}") for j in range(K)], pl.col("y")
    frame = frame.with_columns(py=pl.sum_horizontal(pl.when(y == j).then(p[j]).otherwise(0) for j in range(K)))
    top, py = pl.max_horizontal(p), pl.col("py")
    return pl_sums(frame, {"s": top, "e": py == top, "nll": -py.log(), "brier": sum(q * q for q in p) - 2 * py + 1})


def pl_list(frame, name="probs"):
    a = pl.col(name) if isinstance(frame.lazy().collect_schema()[name], pl.Array) else pl.col(name).list.to_array(K)
    return pl_classes(frame, [a.arr.get(j) for j in range(K)])


# DuckDB: the same in SQL.


def dd_sums(source, score, event, nll, brier, **tables):
    con = duckdb.connect()
    con.execute("set threads = 1")
    con.execute("set enable_progress_bar = false")  # it would go to standard output
    for name, t in tables.items():
        con.register(name, t)
    r = con.execute(
        f"""select sum(n), sum(nll), sum(brier), sum(abs(gap)) from (
        select count(*) n, sum(nll) nll, sum(brier) brier, sum(s) - sum(e) gap from (
        select ({score})::double s, ({event})::int e, -ln({nll}) nll, {brier} brier from {source})
        group by least(floor(s * {BINS}), {BINS - 1}))"""
    )
    return means(*r.fetchall()[0])


def dd_binary(source):
    return dd_sums(source, "p", "y", "case when y = 1 then p else 1 - p end", "(p - y) * (p - y)")


def dd_classes(source, **tables):
    p = [f"p{j}" for j in range(K)]
    py = "case y " + " ".join(f"when {j} then p{j}" for j in range(K)) + " end"
    top = f"greatest({', '.join(p)})"
    source = f"(select *, {py} py, {top} top from {source})"
    return dd_sums(source, "top", "py = top", "py", " + ".join(f"{q} * {q}" for q in p) + " - 2 * py + 1", **tables)


def dd_list(source, number, **tables):
    source = f"(select *, probs[y + 1] py, list_max(probs::{number}[]) top from {source})"
    return dd_sums(source, "top", "py = top", "py", "list_inner_product(probs, probs) - 2 * py + 1", **tables)


def dd_json(file):
    columns = "{probs: 'DOUBLE[]', y: 'INT'}"
    return dd_list(f"read_json('{file}', format = 'newline_delimited', columns = {columns})", "double")


def arrow(file):
    return pa.ipc.open_file(pa.memory_map(file)).read_all()


# numpy: the whole matrix, as it is usually written.


def np_classes(x, y):
    i = np.arange(len(x))
    py, top = x[i, y], x.argmax(axis=1)
    score = x[i, top].astype(np.float64)
    brier = (x * x).sum(axis=1) - 2 * py + 1
    bins = np.minimum((score * BINS).astype(np.int32), BINS - 1)
    gaps = np.bincount(bins, score, BINS) - np.bincount(bins, top == y, BINS)
    return means(len(x), -np.log(py).sum(dtype=np.float64), brier.sum(dtype=np.float64), abs(gaps).sum())


def np_npy(file):
    return np_classes(np.load(file), np.load(file.removesuffix(".npy") + ".labels.npy"))


def np_safetensors(file):
    t = safetensors.load_file(file)
    return np_classes(t["probs"], t["y"])


# file: {tool: function of its path}
FILES = {
    "binary.csv": {"polars": lambda f: pl_binary(pl.scan_csv(f)), "duckdb": lambda f: dd_binary(f"read_csv('{f}')")},
    "binary.parquet": {"polars": lambda f: pl_binary(pl.scan_parquet(f)), "duckdb": lambda f: dd_binary(f"'{f}'")},
    "classes.parquet": {"polars": lambda f: pl_classes(pl.scan_parquet(f)), "duckdb": lambda f: dd_classes(f"'{f}'")},
    "plain.parquet": {"polars": lambda f: pl_classes(pl.scan_parquet(f)), "duckdb": lambda f: dd_classes(f"'{f}'")},
    "classes.jsonl": {
        "polars": lambda f: pl_list(pl.scan_ndjson(f, schema={"probs": pl.List(pl.Float64), "y": pl.Int64})),
        "duckdb": dd_json,
    },
    "columns.arrow": {"polars": lambda f: pl_classes(pl.scan_ipc(f)), "duckdb": lambda f: dd_classes("t", t=arrow(f))},
    "columns.arrows": {"polars": lambda f: pl_classes(pl.read_ipc_stream(f))},
    "list.arrow": {"polars": lambda f: pl_list(pl.scan_ipc(f)), "duckdb": lambda f: dd_list("t", "float", t=arrow(f))},
    "classes.safetensors": {"numpy": np_safetensors},
    "classes.npy": {"numpy": np_npy},
}


def serve(folder):
    have = {"numpy": np, "pyarrow": pa, "polars": pl, "duckdb": duckdb}
    versions = {name: m.__version__ for name, m in have.items() if m}
    if safetensors:
        import safetensors as package

        versions["safetensors"] = package.__version__
    tools = {f: [t for t in of if t not in ABSENT] for f, of in FILES.items()}
    print(json.dumps({"files": tools, "versions": versions, "absent": ABSENT}), flush=True)
    for line in sys.stdin:
        name, tool = line.rstrip("\n").split("\t")
        cpu, wall = time.process_time(), time.perf_counter()
        answers = FILES[name][tool](os.path.join(folder, name))
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        print(json.dumps({"workload": name, "tool": tool, "seconds": cpu, "wall": wall, **answers}), flush=True)


if __name__ == "__main__":
    if sys.argv[2:3] == ["--make"] and len(sys.argv) == 4:
        make(sys.argv[1], int(sys.argv[3]))
    elif sys.argv[2:] == ["--serve"]:
        serve(sys.argv[1])
    else:
        sys.exit(__doc__)
