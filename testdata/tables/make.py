"""Writes the tables of this folder: the same 120 rows of three classes in the forms in which other software writes them.

The probabilities are multiples of 1/64, so that all types have them exactly. rows.jsonl has the rows as they are. Run with pyarrow 23.0.0,
polars 2.1.0, duckdb 2.0.0 and safetensors 0.8.0.
"""

import json
import random

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import feather
import safetensors
from safetensors.numpy import save_file

CLASSES = ["cat", "dog", "owl"]
random.seed(7)
rows = []
for i in range(120):
    a, b = sorted(random.randint(0, 64) for _ in range(2))
    p = [a / 64, (b - a) / 64, (64 - b) / 64]
    y = random.choices(range(3), weights=[v + 0.1 for v in p])[0]
    d = random.randrange(3)
    rows.append({"id": f"row {i}", "p_cat": p[0], "p_dog": p[1], "p_owl": p[2], "label": CLASSES[y], "number": y,
                 "weight": random.randint(1, 8) / 4, "decision": CLASSES[d], "by": random.randint(-16, 16) / 8,
                 "site": ["east", "south, west"][i % 2], "year": 2019 + i % 3})

with open("rows.jsonl", "w") as f:
    for r in rows:
        f.write(json.dumps(r) + "\n")

columns = {k: [r[k] for r in rows] for k in rows[0]}
matrix = [[r["p_" + c] for c in CLASSES] for r in rows]
rest = {k: v for k, v in columns.items() if not k.startswith("p_")}


def lists(kind):
    return pa.table({"probs": pa.array(matrix, kind), **rest})


written = pa.table(columns)
pq.write_table(written, "pyarrow.parquet")
pq.write_table(written, "pages.parquet", row_group_size=50, data_page_size=256, use_dictionary=False, compression="zstd", data_page_version="2.0")
pq.write_table(written, "split.parquet", use_dictionary=["label", "decision", "site"], use_byte_stream_split=["p_cat", "p_dog", "p_owl"], compression="lz4")
pq.write_table(lists(pa.list_(pa.float64())), "list.parquet", compression="brotli")
pq.write_table(lists(pa.list_(pa.float32(), 3)), "array.parquet", compression="gzip")
pq.write_table(lists(pa.list_(pa.float16(), 3)), "half.parquet", compression="none")
pq.write_table(pa.table({"probs": pa.array([dict(zip(CLASSES, p)) for p in matrix], pa.struct([(c, pa.float64()) for c in CLASSES])), **rest}), "struct.parquet")
pq.write_table(pa.table({"probs": pa.array([list(zip(CLASSES[::-1], p[::-1])) for p in matrix], pa.map_(pa.string(), pa.float64())), **rest}), "map.parquet")
vector = pa.struct([("type", pa.int8()), ("size", pa.int32()), ("indices", pa.list_(pa.int32())), ("values", pa.list_(pa.float64()))])
dense = {"type": 1, "size": None, "indices": None}
sparse = [{"type": 0, "size": 3, "indices": [j for j, v in enumerate(p) if v], "values": [v for v in p if v]} for p in matrix]
mixed = [sparse[i] if i % 3 == 0 else {**dense, "values": p} for i, p in enumerate(matrix)]
pq.write_table(pa.table({"probs": pa.array(mixed, vector), **rest}), "vector.parquet")
pl.DataFrame(columns).write_parquet("polars.parquet")
pl.DataFrame(columns).write_ipc("polars.arrow", compression="zstd")
feather.write_feather(written, "pyarrow.feather", compression="lz4", chunksize=50)
coded = lists(pa.list_(pa.float32(), 3)).to_batches(max_chunksize=40)
with pa.ipc.new_stream("stream.arrows", coded[0].schema) as stream:
    for batch in coded:
        stream.write_batch(batch)
duckdb.sql("COPY (SELECT * FROM written) TO 'duckdb.parquet' (FORMAT parquet)")

rest = {"weight": np.array(columns["weight"]), "by": np.array(columns["by"]), "label": np.array(columns["number"], "int64"),
        "decision": np.array([CLASSES.index(d) for d in columns["decision"]], "int32")}
for kind in "float32", "float16":
    save_file({"probs": np.array(matrix, kind), **rest}, kind + ".safetensors")
bits = {"probs": (np.array(matrix, "float32").view("uint32") >> 16).astype("uint16"), **rest}
with open("bfloat16.safetensors", "wb") as f:
    f.write(bytes(safetensors.serialize({k: safetensors.TensorSpec(dtype="bfloat16" if k == "probs" else v.dtype.name, shape=v.shape,
                                                                   data_ptr=v.ctypes.data, data_len=v.nbytes) for k, v in bits.items()})))

# A text of 1 MiB that half of the rows have: the file is small, and the texts of all rows together are 150 GB.
index = pa.array(np.arange(300_000, dtype="int32") % 2)
pq.write_table(pa.table({"g": pa.DictionaryArray.from_arrays(index, ["a" * 2**20, "b"]), "p": np.full(300_000, 0.5, "float32"), "y": np.ones(300_000, "int8")}),
               "dictionary.parquet", compression="zstd", write_statistics=False, store_schema=False)
