"""Reads tables in all forms by pyarrow, Polars, DuckDB and pandas, and compares their values: read_tables.py FOLDER ROWS..."""
import sys

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet

folder = sys.argv[1]


def same(x, y, names=None):
    for c in names or x.schema.names:
        u, v = x[c].to_pylist(), y[c].to_pylist()
        assert len(u) == len(v), c
        for i, (a, b) in enumerate(zip(u, v)):
            assert repr(a) == repr(b), (c, i, a, b)


for n in map(int, sys.argv[2:]):
    at = f"{folder}/{n}-t"
    p = pyarrow.parquet.read_table(at + ".parquet", page_checksum_verification=True)
    p.validate(full=True)
    assert p.num_rows == n
    assert [str(t) for t in p.schema.types] == ["double", "float", "int64", "bool", "string"] * 2
    with pyarrow.ipc.open_file(at + ".arrow") as f:
        a = f.read_all()
    with pyarrow.ipc.open_stream(at + ".arrows") as f:
        s = f.read_all()
    for t in (a, s, pyarrow.feather.read_table(at + ".feather")):
        t.validate(full=True)
        assert t.schema.equals(p.schema)
        same(p, t)
    same(p, pl.read_parquet(at + ".parquet").to_arrow())
    same(p, pl.read_ipc(at + ".arrow").to_arrow())
    same(p, pl.read_ipc_stream(at + ".arrows").to_arrow())
    same(p, duckdb.sql(f"select * from '{at}.parquet'").to_arrow_table())
    assert len(pd.read_parquet(at + ".parquet")) == n
    if n < 2:
        continue
    # Text has no types: this is what others take the columns for.
    for name, sep in ((".csv", ","), (".tsv", "\t"), (".csv.gz", ","), (".tsv.zst", "\t")):
        x = pl.read_csv(at + name, separator=sep, infer_schema_length=None)
        assert [str(t) for t in x.dtypes] == ["Float64", "Float64", "Int64", "Boolean", "String"] * 2, x.dtypes
        same(p, x.to_arrow(), ["score", "i", "b", "t", "mf64", "mi", "mb", "mt"])
    # DuckDB guesses text for a column of numbers that begins with inf.
    d = duckdb.sql(f"select * from read_csv('{at}.csv', types={{'mf64': 'DOUBLE'}})").to_arrow_table()
    same(p, d, ["score", "i", "b", "t", "mf64", "mi", "mb", "mt"])
    c = pd.read_csv(at + ".csv", dtype={"t": str})
    want = p.to_pandas()
    for k in ("score", "mf64"):
        assert np.array_equal(c[k].to_numpy(), want[k].to_numpy(), equal_nan=True), k
    for k in ("f32", "mf32"):
        assert np.array_equal(c[k].to_numpy().astype("f4"), want[k].to_numpy(), equal_nan=True), k
    assert (c["i"] == want["i"]).all() and (c["b"] == want["b"]).all() and c["t"].tolist() == want["t"].tolist()
print("read")
