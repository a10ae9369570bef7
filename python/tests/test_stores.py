"""Tables in stores, here in a folder that plays one. test_spark has a server of S3."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import candor
from candor import _stores

pa = pytest.importorskip("pyarrow")
from pyarrow import csv, fs, parquet  # noqa: E402

FORMATS = ("parquet", "arrow", "arrows", "csv", "csv.gz", "jsonl")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the store s3a://bucket."""
    root = tmp_path / "bucket"
    root.mkdir()
    monkeypatch.setattr(_stores, "_opened", lambda uri: (fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()), uri[len("s3a://") :].partition("?")[0]))
    return root


def write(path: Path, rows: int, seed: int) -> None:
    r = np.random.default_rng(seed)
    z = r.normal(size=(rows, 3))
    p = (np.exp(z) / np.exp(z).sum(1, keepdims=True)).astype(np.float32)
    table = pa.table({**{f"p_{k}": p[:, k] for k in range(3)}, "y": r.integers(0, 3, rows)})
    kind = path.name.partition(".")[2]
    if kind == "parquet":
        parquet.write_table(table, path, row_group_size=300)
    elif kind == "arrow":
        with pa.ipc.new_file(path, table.schema) as f:
            f.write_table(table, max_chunksize=300)
    elif kind == "arrows":
        with pa.ipc.new_stream(path, table.schema) as f:
            f.write_table(table, max_chunksize=300)
    elif kind == "csv":
        csv.write_csv(table, path)
    elif kind == "csv.gz":
        with gzip.open(path, "wb") as f:
            csv.write_csv(table, f)
    else:
        path.write_text("".join(f'{{"p": [{a!r}, {b!r}, {c!r}], "y": {y}}}\n' for (a, b, c), y in zip(p.astype(float).tolist(), table["y"].to_pylist())))


@pytest.mark.parametrize("kind", FORMATS)
def test_shards(folder: Path, kind: str) -> None:
    """For any number of shards the states merge to that of one run on the files."""
    for i in range(3):
        write(folder / f"{i}.{kind}", 1000 + 100 * i, i)
    options: dict[str, object] = {"prob" if kind == "jsonl" else "prob_prefix": "p" if kind == "jsonl" else "p_", "label": "y"}
    want = candor.evaluate_files(*sorted(folder.iterdir()), **options).state
    files = _stores.listed(f"s3a://bucket/*.{kind}")
    assert [str(f) for f in files] == [f"s3a://bucket/{i}.{kind}" for i in range(3)]
    for n in (1, 5, 40):
        states = [_stores.state(part, options) for i in range(n) for part in _stores.shard(files, i, n)]
        assert candor.State.merge(states) == want
        if n == 40:
            assert len(states) == {"parquet": 12, "arrow": 12}.get(kind, 3)


def test_listed(folder: Path) -> None:
    for name in ("a.parquet", "b.parquet", "b.csv", "_SUCCESS", ".a.parquet.crc", "k=1/c.parquet", "k=1/_tmp/d.parquet"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"x")

    def paths(uri: str) -> list[str]:
        return [f.path[len("bucket/") :] for f in _stores.listed(uri)]

    assert paths("s3a://bucket/") == ["a.parquet", "b.csv", "b.parquet", "k=1/c.parquet"]
    assert paths("s3a://bucket/*.parquet?region=eu-west-1") == ["a.parquet", "b.parquet"]
    assert paths("s3a://bucket/k=*/[c-d].parquet") == ["k=1/c.parquet"]
    assert paths("s3a://bucket/b.csv") == ["b.csv"]
    with pytest.raises(candor.DataError, match=r"no file matches s3a://bucket/\*.csv.gz$"):
        paths("s3a://bucket/*.csv.gz?secret=1")
    assert not _stores.needed("/a/b") and not _stores.needed("https://a/b") and not _stores.needed("file:///a")
    assert _stores.needed("hdfs://a/b")


def test_mixed(folder: Path, tmp_path: Path) -> None:
    """Names of the system, presigned URLs and stores; the query of a URL is in no message."""
    from candor import spark

    write(folder / "a.csv", 10, 1)
    assert spark._listed([f"file://{folder}/*.csv", str(folder / "a.csv")]) == ([str(folder / "a.csv")] * 2, [])
    assert spark._listed(["https://host/a.csv?sig=hidden"]) == (["https://host/a.csv?sig=hidden"], [])
    files, objects = spark._listed(["s3a://bucket/a.csv"])
    assert not files and [o.path for o in objects] == ["bucket/a.csv"]
    with pytest.raises(candor.UsageError, match="^https://host/a.csv is no file in a store, as s3a://bucket/a.csv is; evaluate them in two calls"):
        spark._listed(["https://host/a.csv?sig=hidden", "s3a://bucket/a.csv"])
    with pytest.raises(candor.DataError, match="no file matches /nowhere"):
        spark._listed(["/nowhere/*.csv"])


def test_save(tmp_path: Path) -> None:
    """A state is written whole or not at all."""
    state = candor.evaluate([0.2, 0.7], labels=[0, 1]).state
    path = tmp_path / "all.state"
    path.write_bytes(b"old")
    (tmp_path / "link").symlink_to(path)
    state.save(tmp_path / "link")
    assert candor.State.load(path) == state and (tmp_path / "link").is_symlink()
    with pytest.raises(OSError):
        state.save(tmp_path / "none" / "all.state")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["all.state", "link"]


def test_errors(folder: Path) -> None:
    """They say which file and row group, and what to do."""
    write(folder / "a.parquet", 1000, 1)
    table = parquet.read_table(folder / "a.parquet").to_pydict()
    table["y"][700] = 9
    parquet.write_table(pa.table(table), folder / "a.parquet", row_group_size=300)
    (folder / "b.parquet").write_bytes(b"PAR1 nothing")
    files = _stores.listed("s3a://bucket/")

    def all_of(i: int, n: int) -> None:
        for part in _stores.shard(files, i, n):
            _stores.state(part, {"prob_prefix": "p_", "label": "y"})

    with pytest.raises(candor.DataError, match=r"a.parquet, from row group 2: row 100: .*9"):
        all_of(1, 4)
    with pytest.raises(candor.UsageError, match=r"cannot read s3a://bucket/b.parquet: .*; read it with spark.read, and pass the data frame to candor.spark.evaluate"):
        all_of(3, 4)
    (folder / "a.parquet").unlink()
    with pytest.raises(candor.UsageError, match="cannot read s3a://bucket/a.parquet"):
        all_of(0, 2)


def test_refused() -> None:
    """No credential is in a message."""
    with pytest.raises(candor.UsageError, match=r"pyarrow.fs cannot read wasb://x/y: ") as e:
        _stores.listed("wasb://key:secret@x/y?sig=hidden")
    assert "secret" not in str(e.value) and "hidden" not in str(e.value)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_tied(tmp_path: Path) -> None:
    """A worker that an engine kills takes the command with it."""
    os.mkfifo(tmp_path / "p.csv")
    code = f"""
from contextlib import ExitStack
from candor._command import Output, run
with ExitStack() as stack:
    run(["eval", {str(tmp_path / "p.csv")!r}, "--prob", "p", "--label", "y", "--json", "--state", Output()], stack, tied=True)
"""
    worker = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE)

    def commands() -> list[str]:
        found = []
        for entry in Path("/proc").iterdir():
            try:
                words = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if entry.name.isdigit() and b"\0eval\0" in words and str(tmp_path).encode() in words:
                found.append(entry.name)
        return found

    def until(there: bool) -> None:
        for _ in range(600):
            if bool(commands()) == there:
                return
            assert not there or worker.poll() is None, worker.stderr and worker.stderr.read()
            time.sleep(0.1)
        raise AssertionError(f"the command is {'not ' if there else ''}there")

    until(True)
    worker.kill()
    worker.communicate()
    until(False)
