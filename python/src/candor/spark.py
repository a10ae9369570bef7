"""Evaluations on Apache Spark: each task reduces its rows to a state, and states merge to what one machine gives, bit for bit.

    import candor.spark

    result = candor.spark.evaluate(df, probability="probability", label="label", by=["country"])
    result = candor.spark.evaluate_files(spark, ["predictions/*.parquet"], prob="p", label="y")

`evaluate_files` is about six times cheaper where the predictions are files: tasks read them by themselves, and Spark converts no rows. Tables in
a store, as s3://bucket/predictions/*.parquet, are read through pyarrow.fs.
This package, with its command, has to be installed where the executors run. PySpark 3.5 and 4 are tested.

Spark repeats tasks that fail, and may run one twice. Only what one successful attempt of each task returns is counted.
"""

from __future__ import annotations

import glob
import math
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np

from . import _stores
from ._build import VERSION
from ._command import Output, Word, run
from ._evaluate import evaluate as _evaluate
from ._options import Option, flags
from ._program import _says, program
from ._state import State
from .errors import DataError, ProgramError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from ._result import Result

__all__ = ["evaluate", "evaluate_files", "state", "state_of_files"]

_BLOCK = 64 << 20
"""Bytes of scores that a task evaluates at a time."""

_SCHEMA = "state binary"

_PLACE = re.compile(r"^[a-z]+: (row \d+(, column \d+)?: )?")
"""Where an error of the command says that it is, which is a place among the rows that a task evaluates at a time."""

_FEW = 64
"""States up to which the driver merges them by itself."""


def evaluate(
    df: DataFrame,
    *,
    probability: Optional[str] = None,
    logit: Optional[str] = None,
    label: str,
    weight: Optional[str] = None,
    by: Union[str, Sequence[str], None] = None,
    **options: Any,
) -> Result:
    """Evaluate the rows of a data frame.

    Args:
        df: the rows.
        probability: the column with the probabilities: a number, which is P(label = 1); an array with one for each class; or a vector of
            pyspark.ml, dense or sparse.
        logit: the column with logits instead, likewise.
        label: the column with the true classes, whole numbers from 0.
        weight: the column with weights.
        by: columns that rows are grouped by: all metrics are also given for each group.
        **options: those of `candor.evaluate`, such as metrics, task, classes, on_invalid, like.

    Returns:
        The result, as `candor.evaluate` returns it for all rows.

    Raises:
        DataError: there are no rows. Errors of rows are raised in tasks and end the job: they name the column, the partition and the row in it.
        UsageError: a column is missing, or options do not go together.
    """
    return state(df, probability=probability, logit=logit, label=label, weight=weight, by=by, **options).evaluate()


def state(
    df: DataFrame,
    *,
    probability: Optional[str] = None,
    logit: Optional[str] = None,
    label: str,
    weight: Optional[str] = None,
    by: Union[str, Sequence[str], None] = None,
    **options: Any,
) -> State:
    """Return the state of the rows of a data frame. The arguments are those of `evaluate`."""
    if (probability is None) == (logit is None):
        raise UsageError("name one column of scores, as probability or as logit")
    scores = probability if probability is not None else str(logit)
    groups = [by] if isinstance(by, str) else list(by or ())
    for name in [scores, label, *([weight] if weight is not None else []), *groups]:
        if name not in df.columns:
            raise UsageError(f"there is no column {name!r}; there are {', '.join(df.columns)}")
    from pyspark.sql import functions as f

    column = f.col(_quoted(scores))
    if df.schema[scores].dataType.typeName() in ("vector", "vectorudt") or type(df.schema[scores].dataType).__name__ == "VectorUDT":
        from pyspark.ml.functions import vector_to_array

        column = vector_to_array(column)
    columns = [column.alias("scores"), f.col(_quoted(label)).alias("label")]
    if weight is not None:
        columns.append(f.col(_quoted(weight)).alias("weight"))
    columns += [f.col(_quoted(g)).cast("string").alias(f"group {i}") for i, g in enumerate(groups)]
    task = _Rows("probs" if probability is not None else "logits", scores, label, weight, groups, options)
    return _merged(df.select(*columns).mapInArrow(task, _SCHEMA), "the data frame has no rows")


def evaluate_files(spark: SparkSession, paths: Union[str, Sequence[str]], *, tasks: Optional[int] = None, **options: Option) -> Result:
    """Evaluate files that every executor can open under the same names. Tasks read row groups of Parquet, batches of Arrow, rows of arrays, or
    else whole files.

    Args:
        spark: the session.
        paths: names or patterns of files. Those of one call are all files of the system or all in stores, as s3://, s3a://, gs://, abfss:// or
            hdfs://. These pyarrow.fs opens, by the keys that it finds on each executor; they are tables with their labels, and folders do too.
        tasks: how many; by default one for each core of the cluster. More make a failure cheaper, and each costs 0.2 s of processor time.
        **options: those of `candor.evaluate_files`: labels="labels.npy", prob_prefix="prob_", group="site".

    Returns:
        The result, as `candor.evaluate_files` returns it.

    Raises:
        DataError: files are missing, or have no rows.
        UsageError: options do not go together, or a store cannot be opened.
    """
    return state_of_files(spark, paths, tasks=tasks, **options).evaluate()


def state_of_files(spark: SparkSession, paths: Union[str, Sequence[str]], *, tasks: Optional[int] = None, **options: Option) -> State:
    """Return the state of the rows of files. The arguments are those of `evaluate_files`."""
    files, objects = _listed([paths] if isinstance(paths, str) else paths)
    n = tasks if tasks is not None else spark.sparkContext.defaultParallelism
    if n < 1:
        raise UsageError(f"{n} tasks; there is at least one")
    list(flags(options))  # so that an option that is wrong here is an error at once
    task = _Objects(objects, n, options) if objects else _Files(files, n, options)
    return _merged(spark.range(0, n, 1, n).mapInArrow(task, _SCHEMA), "the files have no rows")


def _listed(paths: Sequence[str]) -> tuple[list[str], list[_stores.Object]]:
    """Return the files of the system and of the web, or those in stores."""
    files: list[str] = []
    objects: list[_stores.Object] = []
    for path in paths:
        path = path[len("file://") :] if path.startswith("file://") else path
        if _stores.needed(path):
            objects += _stores.listed(path)
        elif "://" not in path and glob.has_magic(path) and not os.path.exists(path):
            files += sorted(glob.glob(path))
        else:
            files.append(path)
    if files and objects:
        raise UsageError(f"{_stores.shown(files[0])} is no file in a store, as {objects[0]} is; evaluate them in two calls, and add their states")
    if not files and not objects:
        raise DataError(f"no file matches {', '.join(paths)}")
    return files, objects


class _Task:
    """What a task is told of the driver."""

    def __init__(self) -> None:
        self.version = VERSION, _says(program())

    def check(self) -> None:
        """Compare the versions of the driver and of this process."""
        here = VERSION, _says(program())
        if here != self.version:
            raise ProgramError(f"an executor has {here[1]!r} of package {here[0]}, and the driver {self.version[1]!r} of {self.version[0]}; install one version")


class _Rows(_Task):
    """Reduces the rows of a partition to a state."""

    def __init__(self, kind: str, scores: str, label: str, weight: Optional[str], groups: list[str], options: dict[str, Any]) -> None:
        super().__init__()
        self.kind, self.scores, self.label, self.weight, self.groups, self.options = kind, scores, label, weight, groups, options

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        self.check()
        held: list[tuple[Any, ...]] = []
        size = rows = 0
        total: Optional[State] = None
        for batch in batches:
            if batch.num_rows == 0:
                continue
            part = self._arrays(batch, rows)
            if held and part[0].shape[1:] != held[0][0].shape[1:]:
                raise self._wrong(self.scores, rows, f"{part[0].shape[-1]} scores, and rows before have {held[0][0].shape[-1]}")
            held.append(part)
            rows += batch.num_rows
            size += part[0].nbytes
            if size >= _BLOCK:
                total = self._added(total, held, rows)
                held, size = [], 0
        if held:
            total = self._added(total, held, rows)
        if total is not None:
            yield _row(total)

    def _added(self, total: Optional[State], held: list[tuple[Any, ...]], rows: int) -> State:
        scores, labels, weights, groups = (list(c) for c in zip(*held))
        first = rows - sum(len(s) for s in scores)
        named: dict[str, Any] = {self.kind: np.concatenate(scores)}
        try:
            result = _evaluate(
                **named,
                labels=np.concatenate(labels),
                weights=np.concatenate(weights) if self.weight is not None else None,
                groups={g: np.concatenate([c[i] for c in groups]) for i, g in enumerate(self.groups)} if self.groups else None,
                **{"threads": 1, **self.options},
            )
        except DataError as e:
            where = self.scores if e.argument == self.kind else self.label if e.argument == "labels" else e.argument
            raise self._wrong(where or self.scores, first + (e.row or 0), _PLACE.sub("", str(e))) from e
        if result.state is None:
            raise UsageError("these metrics keep every row, and have no state; leave exact out")
        return result.state if total is None else total + result.state

    def _wrong(self, column: str, row: int, what: str) -> DataError:
        from pyspark import TaskContext

        context = TaskContext.get()
        partition = context.partitionId() if context is not None else 0
        return DataError(f"column {column!r}, partition {partition}, row {row}: {what}", {"file": column, "row": row})

    def _arrays(self, batch: pa.RecordBatch, before: int) -> tuple[Any, ...]:
        import pyarrow as pa

        def whole(i: int, name: str) -> pa.Array:
            column = batch.column(i)
            if column.null_count:
                row = int(np.flatnonzero(np.asarray(column.is_null()))[0])
                raise self._wrong(name, before + row, "it is null; leave such rows out, as in df.na.drop()")
            return column

        column = whole(0, self.scores)
        if pa.types.is_list(column.type) or pa.types.is_large_list(column.type) or pa.types.is_fixed_size_list(column.type):
            if pa.types.is_fixed_size_list(column.type):
                flat, width = column.flatten(), column.type.list_size
            else:
                lengths = np.asarray(column.value_lengths())
                flat, width = column.flatten(), int(lengths[0])
                if (lengths != width).any():
                    row = int(np.flatnonzero(lengths != width)[0])
                    raise self._wrong(self.scores, before + row, f"{lengths[row]} scores, and rows before have {width}")
            if flat.null_count:
                row = int(np.flatnonzero(np.asarray(flat.is_null()))[0]) // max(width, 1)
                raise self._wrong(self.scores, before + row, "a score is null")
            scores = np.asarray(flat).reshape(len(column), width)
        else:
            scores = np.asarray(column)
        labels = np.asarray(whole(1, self.label))
        at, weights = 2, np.empty(0)
        if self.weight is not None:
            weights, at = np.asarray(whole(2, self.weight), dtype=np.float64), 3
        groups = [np.asarray(whole(at + i, g)).astype(str) for i, g in enumerate(self.groups)]
        return scores, labels, weights, groups


class _Files(_Task):
    """Evaluates shards of files: those whose numbers a partition has."""

    def __init__(self, files: list[str], shards: int, options: dict[str, Option]) -> None:
        super().__init__()
        self.files, self.shards, self.options = files, shards, options

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        self.check()
        for batch in batches:
            for i in batch.column(0).to_pylist():
                kept = Output()
                words: list[Word] = ["eval", *self.files, *flags({"threads": 1, **self.options, "shard": f"{i}/{self.shards}"})]
                with ExitStack() as stack:
                    run([*words, "--json", "--quiet", "--state", kept], stack, tied=True)
                yield _row(State(kept.data))


class _Objects(_Task):
    """Evaluates shards of files in stores."""

    def __init__(self, files: list[_stores.Object], shards: int, options: dict[str, Option]) -> None:
        super().__init__()
        self.files, self.shards, self.options = files, shards, options

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        self.check()
        total: Optional[State] = None
        for batch in batches:
            for i in batch.column(0).to_pylist():
                for part in _stores.shard(self.files, i, self.shards):
                    state = _stores.state(part, {"threads": 1, **self.options})
                    total = state if total is None else total + state
        if total is not None:
            yield _row(total)


def _row(state: State) -> pa.RecordBatch:
    import pyarrow as pa

    return pa.RecordBatch.from_arrays([pa.array([bytes(state)], pa.binary())], ["state"])


def _merge(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    states = [State(b) for batch in batches for b in batch.column(0).to_pylist()]
    if states:
        yield _row(State.merge(states))


def _merged(states: DataFrame, none: str) -> State:
    """Merge the states of tasks, in two stages where they are many, so that the driver gets few."""
    n = states.rdd.getNumPartitions()
    if n > _FEW:
        states = states.repartition(math.isqrt(n)).mapInArrow(_merge, _SCHEMA)
    parts = [State(bytes(row[0])) for row in states.collect()]
    if not parts:
        raise DataError(none)
    return State.merge(parts)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
