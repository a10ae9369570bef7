"""Measures candor.spark beside the command and beside Spark SQL: python bench/spark. It needs pyspark, pyarrow, candor-metrics and Java.

One file of ten float32 columns is read once, and then TIMES times under other names, by tasks on all cores of this machine. Between the
two the cost of a row shows without what a job costs before its first row. Of several rounds the cheapest counts; processor time is that of all processes.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

CLASSES, BINS = 10, 15
GROUP = 1_000_000


def make(path: Path, rows: int) -> None:
    """Write predictions that are a little too sure of themselves."""
    import pyarrow as pa
    from pyarrow import parquet

    writer = None
    for first in range(0, rows, GROUP):
        r = np.random.default_rng(first)
        z = r.normal(size=(min(GROUP, rows - first), CLASSES)).astype(np.float32) * 2
        y = (z + r.gumbel(size=z.shape).astype(np.float32) * 1.2).argmax(1).astype(np.int32)
        p = np.exp(z)
        p /= p.sum(1, keepdims=True)
        table = pa.table({**{f"p_{k}": p[:, k] for k in range(CLASSES)}, "y": y})
        writer = writer or parquet.ParquetWriter(path, table.schema, compression="snappy")
        writer.write_table(table, row_group_size=GROUP)
    assert writer is not None
    writer.close()


def processor() -> dict[int, float]:
    """Return the processor seconds of this process and of those below it, with what their children took that have ended."""
    parents, used = {}, {}
    tick = os.sysconf("SC_CLK_TCK")
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                fields = Path(entry.path, "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
            used[int(entry.name)] = sum(map(int, fields[11:15])) / tick

    def ours(pid: int) -> bool:
        while pid not in (0, os.getpid()):
            pid = parents.get(pid, 0)
        return pid != 0

    return {pid: s for pid, s in used.items() if ours(pid)}


def between(before: dict[int, float], after: dict[int, float]) -> float:
    """Return the processor seconds between two of these. Idle workers that Spark ended meanwhile took none: their parent does not wait for them."""
    return sum(s - before.get(pid, 0) for pid, s in after.items())


def sql(spark: object, files: list[str]) -> dict[str, float]:
    """ECE, NLL and Brier score in one pass of Spark SQL, with the columns unrolled."""
    columns = [f"p_{k}" for k in range(CLASSES)]
    squares = " + ".join(f"{c} * {c}" for c in columns)
    chosen = " ".join(f"WHEN {k} THEN {c}" for k, c in enumerate(columns))
    spark.read.parquet(*files).createOrReplaceTempView("predictions")  # type: ignore[attr-defined]
    bins = spark.sql(f"""
        SELECT count(*) AS n, sum(confidence) AS confidence, sum(CAST(confidence = own AS INT)) AS right, sum(-ln(own)) AS nll, sum(1 - 2 * own + squares) AS brier
        FROM (SELECT CAST(greatest({", ".join(columns)}) AS DOUBLE) AS confidence, CAST(CASE y {chosen} END AS DOUBLE) AS own,
                     CAST({squares} AS DOUBLE) AS squares FROM predictions)
        GROUP BY least(floor(confidence * {BINS}), {BINS - 1})""").collect()  # type: ignore[attr-defined]
    n = sum(b.n for b in bins)
    return {
        "ece": sum(abs(b.right - b.confidence) for b in bins) / n,
        "nll": sum(b.nll for b in bins) / n,
        "brier": sum(b.brier for b in bins) / n,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000, help="of the file (10,000,000)")
    parser.add_argument("--times", type=int, default=10, help="how often it is read for the slope (10)")
    parser.add_argument("--rounds", type=int, default=3, help="of which the cheapest counts (3)")
    parser.add_argument("--cores", type=int, default=os.cpu_count(), help="that Spark and candor use (all)")
    parser.add_argument("--ways", default="command,files,sql", help="of command, files, sql, frame (the first three)")
    parser.add_argument("--folder", type=Path, help="where the file is, or is made and stays; by default a temporary folder")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        measure(args, args.folder or Path(scratch), Path(scratch))


def measure(args: argparse.Namespace, folder: Path, scratch: Path) -> None:
    import pyspark

    import candor.spark

    one = folder / f"{args.rows}x{CLASSES}.parquet"
    if not one.exists():
        make(one, args.rows)
    many = []
    for i in range(args.times):
        many.append(str(scratch / f"part-{i}.parquet"))
        os.symlink(one.resolve(), many[-1])
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = pyspark.sql.SparkSession.builder.master(f"local[{args.cores}]")
    for key, value in {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.driver.memory": "4g",
        "spark.sql.shuffle.partitions": str(args.cores),
        "spark.log.level": "ERROR",
        "spark.ui.showConsoleProgress": "false",
    }.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    options = {"prob_prefix": "p_", "label": "y"}

    def frame(files: list[str]) -> dict[str, float]:
        from pyspark.sql import functions as f

        df = spark.read.parquet(*files).select(f.array(*[f"p_{k}" for k in range(CLASSES)]).alias("p"), "y")
        return dict(candor.spark.evaluate(df, probability="p", label="y").metrics)

    def command(files: list[str]) -> dict[str, float]:
        return dict(candor.evaluate_files(*files, threads=args.cores, **options).metrics)

    def shards(files: list[str]) -> dict[str, float]:
        return dict(candor.spark.evaluate_files(spark, files, **options).metrics)

    ways: dict[str, tuple[str, Callable[[list[str]], dict[str, float]]]] = {
        "command": ("candor eval, without Spark", command),
        "files": ("candor.spark.evaluate_files", shards),
        "sql": ("Spark SQL: ECE, NLL, Brier score", lambda files: sql(spark, files)),
        "frame": ("candor.spark.evaluate", frame),
    }
    chosen = args.ways.split(",")
    best: dict[tuple[str, int], tuple[float, float]] = {}
    for round_ in range(args.rounds + 1):  # the first warms Java's compiler and the disk's cache
        for name in chosen:
            for files in ([str(one)], many) if round_ else ([str(one)],):
                wall, used = time.perf_counter(), processor()
                got = ways[name][1](files)
                took = between(used, processor()), time.perf_counter() - wall
                if round_:
                    old = best.get((name, len(files)), took)
                    best[name, len(files)] = min(old[0], took[0]), min(old[1], took[1])
                values = "  ".join(f"{m} {got[m]:.6f}" for m in ("ece", "nll", "brier"))
                print(f"round {round_}  {name:8} {len(files) * args.rows:>12,} rows  {took[0]:7.2f} CPU s  {took[1]:7.2f} s  {values}", file=sys.stderr, flush=True)
    spark.stop()
    said = subprocess.run(["java", "-version"], capture_output=True, text=True).stderr.splitlines()
    print(f"PySpark {pyspark.__version__}, {said[0] if said else 'Java'}, {args.cores} cores, {one.stat().st_size / 1e6:,.0f} MB of Parquet")
    large = args.rows * args.times
    print(f"| way | CPU s of {args.rows:,} rows | of {large:,} | ns a row, by the slope | fixed, CPU s | s of {large:,} | ns a row, by the slope |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    slopes = {}
    for name in chosen:
        (c1, w1), (c2, w2) = best[name, 1], best[name, args.times]
        slope = (c2 - c1) / (large - args.rows), (w2 - w1) / (large - args.rows)
        slopes[name] = slope
        print(f"| {ways[name][0]} | {c1:.2f} | {c2:.2f} | {slope[0] * 1e9:.1f} | {c1 - slope[0] * args.rows:.2f} | {w2:.2f} | {slope[1] * 1e9:.1f} |")
    if {"command", "files"} <= slopes.keys():
        print(f"evaluate_files has {slopes['command'][0] / slopes['files'][0]:.2f} of the command's speed by processor time, {slopes['command'][1] / slopes['files'][1]:.2f} by time")
    if {"sql", "files"} <= slopes.keys():
        print(f"Spark SQL takes {slopes['sql'][0] / slopes['files'][0]:.2f} times its processor time a row, {best['sql', 1][0] / best['files', 1][0]:.2f} times for {args.rows:,} rows")


if __name__ == "__main__":
    main()
