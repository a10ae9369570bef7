"""Runs the Python, the SQL and the ONNX models of the maps m0, m1, ... in the current folder on their rows."""
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

    f = runpy.run_path(name + ".py")["recalibrate"]
    given = {"number": lambda: [x[:, 0]], "sd": lambda: [x[:, 1]], "normal": lambda: [x[:, 0], x[:, 1]]}.get(how, lambda: [x])()
    with np.errstate(all="raise", under="ignore"):
        save(name + ".py.y", f(*given))

    if os.path.exists(name + ".onnx"):
        session = onnxruntime.InferenceSession(name + ".onnx", providers=["CPUExecutionProvider"])
        names = [v.name for v in session.get_inputs()]
        save(name + ".onnx.y", session.run(None, {n: v.astype(np.float32) for n, v in zip(names, given, strict=True)})[0])

    if os.path.exists(name + ".sql"):
        query = open(name + ".sql").read()
        select = query[: query.rindex(";")]
        # The columns of the table are those that the query names first.
        columns = []
        for word in select.replace("(", " ").split():
            if word.startswith("t.") and word != "t.*,":
                column = word[2:].rstrip(",)")
                if column not in columns:
                    columns.append(column)
        if how == "sd":
            x = x[:, 1:]
        db = duckdb.connect()
        if how == "rows" and columns[0].startswith("q_"):
            columns.sort()
        assert len(columns) == x.shape[1], (name, columns, x.shape)
        db.execute("CREATE TABLE predictions (n INTEGER, " + ", ".join(c + " DOUBLE" for c in columns) + ")")
        db.executemany("INSERT INTO predictions VALUES (" + ", ".join("?" * (1 + len(columns))) + ")", [[k, *map(float, row)] for k, row in enumerate(x)])
        db.execute("INSERT INTO predictions (n) VALUES (-1)")
        rows = db.execute(f"SELECT * FROM ({select}) ORDER BY n").fetchall()
        results = [row[1 + len(columns) :] for row in rows]
        assert all(v is None for v in results[0]), (name, "a row of nulls", results[0])
        save(name + ".sql.y", results[1:])
