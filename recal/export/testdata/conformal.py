"""Runs the Python, the SQL and the ONNX models of the conformal maps m0, m1, ... in the current folder on their rows."""
import os
import runpy
import sys

import duckdb
import numpy as np
import onnxruntime


def save(name, y):
    np.asarray(y, dtype="<f8").tofile(name)


for i in range(int(sys.argv[1])):
    name = f"m{i}"
    how, width = open(name + ".how").read().split()
    x = np.fromfile(name + ".x", dtype="<f8").reshape(-1, int(width))
    u = np.fromfile(name + ".u", dtype="<f8")

    module = runpy.run_path(name + ".py")
    given = [x[:, j] for j in range(x.shape[1])]
    if how != "interval":
        given = [x[:, 0] if x.shape[1] == 1 else x] + [u] * (how == "random")
    f = module["intervals" if how == "interval" else "sets"]
    with np.errstate(all="raise", under="ignore"):
        save(name + ".py.y", f(*given))

    if os.path.exists(name + ".onnx"):
        session = onnxruntime.InferenceSession(name + ".onnx", providers=["CPUExecutionProvider"])
        names = [v.name for v in session.get_inputs()]
        save(name + ".onnx.y", session.run(None, {n: v.astype(np.float32) for n, v in zip(names, given, strict=True)})[0])

    if os.path.exists(name + ".sql"):
        query = open(name + ".sql").read()
        select = query[: query.rindex(";")]
        columns = []
        for word in select.replace("(", " ").split():
            if word.startswith("t.") and word != "t.*,":
                column = word[2:].rstrip(",)")
                if column not in columns:
                    columns.append(column)
        assert len(columns) == x.shape[1], (name, columns, x.shape)
        db = duckdb.connect()
        db.execute("CREATE TABLE predictions (n INTEGER, " + ", ".join(c + " DOUBLE" for c in columns) + ")")
        db.executemany("INSERT INTO predictions VALUES (" + ", ".join("?" * (1 + len(columns))) + ")", [[k, *map(float, row)] for k, row in enumerate(x)])
        db.execute("INSERT INTO predictions (n) VALUES (-1)")
        rows = db.execute(f"SELECT * FROM ({select}) ORDER BY n").fetchall()
        results = [row[1 + len(columns) :] for row in rows]
        assert all(v is None for v in results[0]), (name, "a row of nulls", results[0])
        if how != "interval":
            assert all(row[-1] == sum(row[:-1]) for row in results[1:]), (name, "sizes")
            results = [row[:-1] for row in results]
        save(name + ".sql.y", results[1:])
