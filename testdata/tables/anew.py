"""Writes files with the pandas, pyarrow, Polars, DuckDB and safetensors of today into a folder: python anew.py FOLDER.

truth.npz has what they hold. written.tsv has the command line and the outcome of each file, in the words of written_test.go in cmd/candor.
"""

import os
import sys

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import feather
from safetensors.numpy import save_file

os.makedirs(sys.argv[1], exist_ok=True)
os.chdir(sys.argv[1])
NAMES = ["cat", "dog", "fox", "owl", "rat"]
rng = np.random.default_rng(11)
n = 500
p = rng.dirichlet(np.ones(5), n)
y = np.array([rng.choice(5, p=row) for row in p])
pb = rng.random(n)
yb = (rng.random(n) < pb).astype(np.int64)
w = rng.random(n) + 0.5
np.savez("truth.npz", p=p, pb=pb, w=w, y=y.astype(np.int64), yb=yb)
lines = []


def line(file, arguments, outcome):
    lines.append(f"{file}\teval FILE {arguments}\t{outcome}")


wide = {"id": [f"row-{i:04d}" for i in range(n)], **{"prob_" + c: p[:, j] for j, c in enumerate(NAMES)},
        "label": [NAMES[k] for k in y], "weight": w}
frame, table, polars = pd.DataFrame(wide), pa.table(wide), pl.DataFrame(wide)
f32 = p.astype("float32")
fixed = pa.table({"probs": pa.FixedSizeListArray.from_arrays(pa.array(f32.reshape(-1)), 5), "label": y})
lists = pa.table({"probs": pa.array(p.tolist()), "label": pa.array([NAMES[k] for k in y]).dictionary_encode()})
event = {"p": pb, "y": yb == 1}
lines.append("truth.npz\teval FILE:p --labels FILE:y --weights FILE:w\tf64 weighted")
WIDE = "--prob-prefix prob_ --label label --weights weight"
LIST = "--prob probs --label label"
TEXT = LIST + " --classes " + ",".join(NAMES)

frame.to_csv("pandas.csv", index=False)
frame.to_csv("pandas_index.csv")
frame.to_csv("pandas.tsv", sep="\t", index=False)
frame.to_csv("pandas.csv.gz", index=False)
frame.to_json("pandas.jsonl", orient="records", lines=True, double_precision=15)
frame.to_parquet("pandas.parquet")
frame.to_feather("pandas.feather")
polars.write_csv("polars.csv")
polars.write_ndjson("polars.ndjson")
polars.write_parquet("polars.parquet")
polars.write_ipc("polars.arrow", compression="zstd")
polars.write_ipc_stream("polars.arrows")
pq.write_table(table, "pyarrow.parquet", compression="zstd", data_page_version="2.0")
pq.write_table(table, "split.parquet", use_dictionary=["label"], column_encoding={"prob_" + c: "BYTE_STREAM_SPLIT" for c in NAMES}, compression="lz4")
feather.write_feather(table, "pyarrow.arrow", compression="lz4", chunksize=100)
duckdb.sql("COPY (SELECT * FROM frame) TO 'duckdb.csv'")
duckdb.sql("COPY (SELECT * FROM frame) TO 'duckdb.parquet' (FORMAT parquet, PARQUET_VERSION v2)")
duckdb.sql("COPY (SELECT * FROM frame) TO 'duckdb.json' (FORMAT json)")
for file in ["pandas.csv", "pandas_index.csv", "pandas.tsv", "pandas.csv.gz", "pandas.parquet", "pandas.feather", "polars.csv", "polars.ndjson",
             "polars.parquet", "polars.arrow", "polars.arrows", "pyarrow.parquet", "split.parquet", "pyarrow.arrow", "duckdb.csv", "duckdb.parquet",
             "duckdb.json"]:
    line(file, WIDE, "f64 weighted")
line("pandas.jsonl", WIDE, "decimals:15 weighted")

pq.write_table(fixed, "fixed.parquet")
feather.write_feather(fixed, "fixed.arrow", compression="uncompressed")
line("fixed.parquet", LIST, "f32")
line("fixed.arrow", LIST, "f32")
pq.write_table(lists, "list.parquet")
with pa.ipc.new_stream("list.arrows", lists.schema) as stream:
    stream.write_table(lists, max_chunksize=70)
line("list.parquet", TEXT, "f64")
line("list.arrows", TEXT, "f64")
pl.from_arrow(lists).write_ndjson("list.ndjson")
line("list.ndjson", TEXT, "f64")
pq.write_table(pa.table(event), "event.parquet")
pd.DataFrame(event).to_csv("event.csv", index=False)
line("event.parquet", "--prob p --label y", "f64 binary")
line("event.csv", "--prob p --label y", "f64 binary")
save_file({"probs": f32, "label": y.astype("int64")}, "f32.safetensors")
save_file({"probs": p.astype("float16"), "label": y.astype("int32")}, "f16.safetensors")
line("f32.safetensors", LIST, "f32")
line("f16.safetensors", LIST, "f16")

with open("written.tsv", "w") as f:
    f.write("file\targuments\toutcome\n" + "".join(l + "\n" for l in sorted(lines)))
