"""candor.spark on a cluster of two workers, each a process. PySpark and Java are not everywhere."""

import os
import shutil
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

pyspark = pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

import candor  # noqa: E402
import candor.spark  # noqa: E402

# PySpark leaves sockets open, and 3.5 uses what is deprecated.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::{what}")
    for what in ("ResourceWarning", "DeprecationWarning", "FutureWarning", "UserWarning", "pytest.PytestUnraisableExceptionWarning")
]

ROWS, CLASSES = 4000, 3


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    folder = tmp_path_factory.mktemp("spark")
    builder = pyspark.sql.SparkSession.builder.master(os.environ.get("CANDOR_SPARK", "local-cluster[2,1,1024]"))
    for key, value in {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.execution.arrow.maxRecordsPerBatch": "300",
        "spark.executorEnv.PATH": os.environ["PATH"],
        "spark.executorEnv.AWS_ACCESS_KEY_ID": "x",
        "spark.executorEnv.AWS_SECRET_ACCESS_KEY": "x",
        "spark.executorEnv.CANDOR_BINARY": os.environ.get("CANDOR_BINARY", ""),
        "spark.executorEnv.PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "spark.task.maxFailures": "4",
    }.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
    shutil.rmtree(os.path.join(os.path.dirname(pyspark.__file__), "work"), ignore_errors=True)


@pytest.fixture(scope="module")
def data():
    r = np.random.default_rng(1)
    z = r.normal(size=(ROWS, CLASSES)) * 2
    p = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    return {"p": p, "y": r.integers(0, CLASSES, ROWS), "w": r.uniform(0.5, 2, ROWS), "g": np.array(["a", "b", "c d"])[r.integers(0, 3, ROWS)]}


def frame(spark, data, scores=list, rows=slice(None)):
    columns = zip(map(scores, data["p"][rows].tolist()), data["y"][rows].tolist(), data["w"][rows].tolist(), data["g"][rows].tolist())
    return spark.createDataFrame(list(columns), ["probability", "label", "weight", "the group"])


@pytest.mark.parametrize("partitions", [1, 7, 100])
def test_partitions(spark, data, partitions):
    """The bytes of one machine's run, for any partitioning: also where most partitions have no rows, and in two stages."""
    df = frame(spark, data).repartition(partitions)
    want = candor.evaluate(data["p"], labels=data["y"]).state
    assert candor.spark.state(df, probability="probability", label="label") == want


def test_groups_and_weights(spark, data):
    df = frame(spark, data).repartition(5)
    want = candor.evaluate(data["p"], labels=data["y"], weights=data["w"], groups={"the group": data["g"]}, metrics="nll,ece")
    got = candor.spark.evaluate(df, probability="probability", label="label", weight="weight", by="the group", metrics="nll,ece")
    assert got.state == want.state
    assert got["groups"] == want["groups"] and len(got["groups"]) == 3


def test_vectors(spark, data):
    """Vectors of pyspark.ml, dense and sparse."""
    from pyspark.ml.linalg import Vectors

    rows = slice(200)
    want = candor.evaluate(data["p"][rows], labels=data["y"][rows]).state
    for make in (Vectors.dense, lambda p: Vectors.sparse(len(p), list(range(len(p))), p)):
        df = frame(spark, data, make, rows).repartition(3)
        assert candor.spark.state(df, probability="probability", label="label") == want


def test_binary(spark, data):
    p = data["p"][:, 0]
    y = (data["y"] == 0).astype(int)
    df = spark.createDataFrame([(float(a), int(b)) for a, b in zip(p, y)], ["p", "y"]).repartition(3)
    assert candor.spark.state(df, probability="p", label="y") == candor.evaluate(p, labels=y).state


def failing(how, marker):
    """Return a stage that ends the first attempt of a task, once, after its rows were read."""

    def stage(batches):
        yield from batches
        from pyspark import TaskContext

        if TaskContext.get().partitionId() == 1 and not os.path.exists(marker):
            open(marker, "w").close()
            if how == "raise":
                raise RuntimeError("planned")
            if how == "exit":
                os._exit(1)
            import signal

            os.kill(os.getppid() if how == "daemon" else executor(), signal.SIGKILL)

    def executor():
        # The executor is the JVM above this process and its daemon.
        pid = os.getpid()
        while True:
            with open(f"/proc/{pid}/stat") as f:
                pid = int(f.read().rsplit(")", 1)[1].split()[1])
            with open(f"/proc/{pid}/comm") as f:
                if f.read().strip() == "java":
                    return pid

    return stage


@pytest.mark.parametrize("how", ["raise", "exit", "daemon", "executor"])
def test_failures(spark, data, how, tmp_path):
    """A task that raises, a worker that exits, an executor that is killed: every row is counted once."""
    if how == "executor" and "local-cluster" not in spark.sparkContext.master:
        pytest.skip("the executor is the driver")
    marker = str(tmp_path / "failed")
    df = frame(spark, data).repartition(4)
    df = df.mapInArrow(failing(how, marker), df.schema)
    assert candor.spark.state(df, probability="probability", label="label") == candor.evaluate(data["p"], labels=data["y"]).state
    assert os.path.exists(marker)


def test_files(spark, data, tmp_path):
    """Tasks read row groups: the state is that of one run, with more tasks than row groups, and with fewer."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    half = ROWS // 2
    for i, rows in enumerate((slice(half), slice(half, None))):
        table = pa.table({**{f"p_{k}": data["p"][rows, k] for k in range(CLASSES)}, "y": data["y"][rows], "g": data["g"][rows]})
        pq.write_table(table, tmp_path / f"{i}.parquet", row_group_size=500)
    want = candor.evaluate_files(*map(str, sorted(tmp_path.glob("*.parquet"))), prob_prefix="p_", label="y", group="g")
    for tasks in (1, 3, 11, 80):
        got = candor.spark.evaluate_files(spark, f"{tmp_path}/*.parquet", tasks=tasks, prob_prefix="p_", label="y", group="g")
        assert got.state == want.state
    assert candor.spark.state_of_files(spark, f"file://{tmp_path}/*.parquet", prob_prefix="p_", label="y", group="g") == want.state


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A server of S3 with an empty bucket. The keys of executors are those of their environment."""
    pytest.importorskip("moto")
    boto3 = pytest.importorskip("boto3")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    log = open(tmp_path_factory.mktemp("store") / "log", "wb")
    server = subprocess.Popen([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], stdout=log, stderr=log)
    try:
        for _ in range(300):
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        client = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}", region_name="us-east-1", **dict.fromkeys(("aws_access_key_id", "aws_secret_access_key"), "x"))
        client.create_bucket(Bucket="bucket")
        yield client, f"?scheme=http&endpoint_override=127.0.0.1:{port}&region=us-east-1"
    finally:
        server.kill()
        server.wait()
        log.close()


def test_stores(spark, data, store, tmp_path, monkeypatch):
    """Executors read s3a:// through pyarrow.fs: row groups, a folder, a pattern."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    client, query = store
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    half = ROWS // 2
    for i, rows in enumerate((slice(half), slice(half, None))):
        table = pa.table({**{f"p_{k}": data["p"][rows, k] for k in range(CLASSES)}, "y": data["y"][rows]})
        pq.write_table(table, tmp_path / f"{i}.parquet", row_group_size=500)
        client.upload_file(str(tmp_path / f"{i}.parquet"), "bucket", f"run/{i}.parquet")
    client.put_object(Bucket="bucket", Key="run/_SUCCESS", Body=b"")
    want = candor.evaluate_files(*map(str, sorted(tmp_path.glob("*.parquet"))), prob_prefix="p_", label="y").state
    for path in ("run", "run/*.parquet"):
        for tasks in (1, 3, 11):
            assert candor.spark.state_of_files(spark, f"s3a://bucket/{path}{query}", tasks=tasks, prob_prefix="p_", label="y") == want
    with pytest.raises(candor.DataError, match="no file matches s3a://bucket/none$"):
        candor.spark.evaluate_files(spark, f"s3a://bucket/none{query}", prob_prefix="p_", label="y")
    with pytest.raises(candor.UsageError, match="two calls"):
        candor.spark.evaluate_files(spark, [f"s3a://bucket/run{query}", str(tmp_path / "0.parquet")], prob_prefix="p_", label="y")


@pytest.mark.parametrize(
    "change, column, what",
    [
        (lambda r: r | {"label": None}, "label", "it is null"),
        (lambda r: r | {"probability": None}, "probability", "it is null"),
        (lambda r: r | {"probability": [0.5, 0.5]}, "probability", "2 scores, and rows before have 3"),
        (lambda r: r | {"probability": [0.5, 0.5, None]}, "probability", "a score is null"),
        (lambda r: r | {"probability": [0.5, 0.5, 0.5]}, "probability", "sum"),
        (lambda r: r | {"label": 9}, "label", "label is 9"),
    ],
)
def test_bad_rows(spark, change, column, what):
    """The error names the column, the partition and the row."""
    good = {"probability": [0.2, 0.3, 0.5], "label": 2}
    rows = [good] * 4 + [change(good)] + [good]
    df = spark.createDataFrame(rows, "probability array<double>, label long").coalesce(1)
    with pytest.raises(Exception) as e:
        candor.spark.evaluate(df, probability="probability", label="label")
    assert f"column '{column}', partition 0, row 4" in str(e.value) and what in str(e.value)


def test_misuse(spark, data):
    df = frame(spark, data, rows=slice(10))
    with pytest.raises(candor.UsageError, match="there is no column 'p'; there are probability, label, weight, the group"):
        candor.spark.evaluate(df, probability="p", label="label")
    with pytest.raises(candor.UsageError, match="one column of scores"):
        candor.spark.evaluate(df, label="label")
    with pytest.raises(candor.DataError, match="has no rows"):
        candor.spark.evaluate(df.limit(0), probability="probability", label="label")
    with pytest.raises(candor.UsageError, match="candor.spark.evaluate"):
        candor.spark.evaluate_files(spark, "wasb://bucket/part.parquet", prob="p", label="y")
    with pytest.raises(candor.DataError, match="no file matches"):
        candor.spark.evaluate_files(spark, "/nowhere/*.parquet", prob="p", label="y")


def test_versions(spark, data):
    """An executor with another command is an error that names both."""
    task = candor.spark._Rows("probs", "probability", "label", None, [], {})
    task.version = ("1", "candor 0.1")
    df = frame(spark, data, rows=slice(10)).select("probability", "label")
    with pytest.raises(Exception, match="the driver 'candor 0.1' of 1; install one version"):
        df.mapInArrow(task, "state binary").collect()


@pytest.mark.parametrize("partitions", [5, 80])
@pytest.mark.parametrize("how", ["cut", "changed", "empty", "other"])
def test_damaged_states(spark, data, how, partitions):
    """A shard's state that arrives damaged ends the job, in the driver and in the second stage, which is in tasks: there is no answer without its rows."""
    part = candor.evaluate(data["p"][:50], labels=data["y"][:50]).state
    states = [bytes(part)] * partitions
    states[3] = {
        "cut": states[0][:-7],
        "changed": states[0][:200] + bytes([states[0][200] ^ 4]) + states[0][201:],
        "empty": b"",
        "other": bytes(candor.evaluate(data["p"][:50], labels=data["y"][:50], metrics="brier").state),
    }[how]
    df = spark.createDataFrame([(s,) for s in states], "state binary").repartition(partitions)
    with pytest.raises((candor.DataError, pyspark.errors.PythonException), match="state"):
        candor.spark._merged(df, "no rows")


KILLS = """\
#!/bin/sh
if [ "$1" = eval ] && { [ -n "%(always)s" ] || mkdir "%(marker)s" 2>/dev/null; }; then
  %(how)s
fi
exec "%(program)s" "$@"
"""

JVM = """
  pid=$$
  while [ "$(cat /proc/$pid/comm)" != java ]; do pid=$(awk '{print $4}' /proc/$pid/stat); done
  kill -9 $pid
  sleep 60"""


def with_program(task, path):
    """Return a task that runs another program."""

    def stage(batches):
        os.environ["CANDOR_BINARY"] = path
        yield from task(batches)

    return stage


def tried(spark, data, tmp_path, how, always=""):
    from candor._program import program

    path = tmp_path / "candor"
    path.write_text(KILLS % {"always": always, "marker": tmp_path / "marker", "how": how, "program": program()})
    path.chmod(0o755)
    df = frame(spark, data).repartition(4).select("probability", "label")
    task = candor.spark._Rows("probs", "probability", "label", None, [], {})
    return candor.spark._merged(df.mapInArrow(with_program(task, str(path)), candor.spark._SCHEMA), "no rows")


@pytest.mark.parametrize("how", ["command", "executor"])
def test_killed_in_a_task(spark, data, how, tmp_path):
    """The command of a task that is killed, and an executor that is killed while the command runs: the task is repeated, and every row is counted
    once."""
    if how == "executor" and "local-cluster" not in spark.sparkContext.master:
        pytest.skip("the executor is the driver")
    got = tried(spark, data, tmp_path, "kill -9 $$" if how == "command" else JVM)
    assert got == candor.evaluate(data["p"], labels=data["y"]).state
    assert (tmp_path / "marker").exists()


def test_killed_in_every_task(spark, data, tmp_path):
    """A command that is killed again and again ends the job with an error that says so."""
    with pytest.raises(pyspark.errors.PythonException, match="killed by SIGKILL"):
        tried(spark, data, tmp_path, "kill -9 $$", always="x")


@pytest.mark.parametrize("method", ["temperature", "ets", "vector", "matrix", "beta", "platt", "platt(smoothed)", "isotonic", "histogram"])
def test_exported_maps(spark, tmp_path, method):
    """The query of candor recal export gives what apply gives, also of 0, 1 and ties."""
    r = np.random.default_rng(4)
    columns = ["a", "b", "c"] if method in ("temperature", "ets", "vector", "matrix") else ["p"]
    if len(columns) == 1:
        p = r.random(ROWS).round(2)
        labels = (r.random(ROWS) < p**2).astype(int)
        p[:3] = 0, 1, 1
    else:
        p = r.dirichlet(np.ones(3), ROWS)
        labels = (np.log(p) / 2 + r.gumbel(size=p.shape)).argmax(axis=1)
    fitted = candor.recalibrate(method, p, labels=labels)
    fitted.save(tmp_path / "map.json")
    words = ["recal", "export", str(tmp_path / "map.json"), "--to", "sql", "--columns", ",".join(columns), "--table", "scores"]
    query = subprocess.run([sys.executable, "-m", "candor", *words], check=True, stdout=subprocess.PIPE, text=True).stdout
    rows = [(i, *map(float, row)) for i, row in enumerate(p.reshape(ROWS, -1))]
    spark.createDataFrame(rows, ["i", *columns]).createOrReplaceTempView("scores")
    found = spark.sql(query).orderBy("i").collect()
    got = np.array([[row[f"{c}_recalibrated"] for c in columns] for row in found]).reshape(p.shape)
    np.testing.assert_allclose(got, fitted.apply(p), rtol=0, atol=1e-12)
