"""Tables in stores that the command has no keys for: pyarrow.fs reads them, and the command has them from a pipe."""

from __future__ import annotations

import fnmatch
import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from io import RawIOBase
from typing import Any, NamedTuple

from ._command import Output, Stream, run
from ._options import Option, flags
from ._state import State
from .errors import DataError, UsageError

_SCHEME = re.compile(r"^([a-z][a-z0-9+.-]*)://", re.IGNORECASE)

_SAME = {"s3a": "s3", "s3n": "s3"}
"""Hadoop's names of what Arrow calls otherwise."""

_OWN = ("http", "https", "file")
"""Schemes that need no store."""


class Object(NamedTuple):
    """A file in a store: how to reach the store, and the path in it. Both go to other machines."""

    store: str
    path: str

    def __str__(self) -> str:
        scheme = _SCHEME.match(self.store)
        return (scheme.group() if scheme else "") + self.path.lstrip("/")


def needed(path: str) -> bool:
    """Report whether a path is in a store."""
    scheme = _SCHEME.match(path)
    return scheme is not None and scheme.group(1).lower() not in _OWN


def listed(uri: str) -> list[Object]:
    """Return the files of a path, a folder or a pattern with * and [...]; ? begins a query, as ?region=eu-west-1.

    Raises:
        UsageError: the store cannot be opened.
        DataError: there is no such file.
    """
    import pyarrow as pa
    from pyarrow import fs

    head, mark, query = uri.partition("?")
    parts = head.split("/")
    # A store or a bucket is no pattern.
    magic = next((i for i, p in enumerate(parts) if i > 2 and ("*" in p or "[" in p)), len(parts))
    root = "/".join(parts[:magic]) + mark + query
    store, path = _opened(root)
    try:
        info = store.get_file_info(path)
        if info.type == fs.FileType.File:
            return [Object(root, path)]
        found = store.get_file_info(fs.FileSelector(path, recursive=True, allow_not_found=True))
    except (OSError, pa.ArrowException) as e:
        raise refused(shown(root), e) from e
    wanted = parts[magic:] or ["**"]
    files = sorted(f.path for f in found if f.type == fs.FileType.File and _fits(f.path[len(path) :].strip("/").split("/"), wanted))
    if not files:
        raise DataError(f"no file matches {shown(uri)}")
    return [Object(root, f) for f in files]


def _fits(names: list[str], wanted: list[str]) -> bool:
    if wanted == ["**"]:  # a folder, as Spark writes it, without _SUCCESS and checksums
        return not any(n.startswith(("_", ".")) for n in names)
    return len(names) == len(wanted) and all(map(fnmatch.fnmatchcase, names, wanted))


def shard(files: list[Object], i: int, n: int) -> Iterator[Stream]:
    """Yield what the i-th of n shards has of files, in each of which the command finds rows.

    Each file counts as one, and its parts are row groups of Parquet, batches of Arrow files, or the file. Every part is in one shard.
    """
    for at, file in enumerate(files):
        low, high = max(i * len(files), at * n) - at * n, min((i + 1) * len(files), (at + 1) * n) - at * n
        if low < high:
            yield from _part(file, low, high, n)


def state(part: Stream, options: dict[str, Option]) -> State:
    """Return the state of a part."""
    import pyarrow as pa

    kept = Output()
    try:
        with ExitStack() as stack:
            run(["eval", part, *flags(options), "--json", "--quiet", "--state", kept], stack, tied=True)
    except (OSError, pa.ArrowException) as e:
        raise refused(part.name, e) from e
    return State(kept.data)


def _part(file: Object, low: int, high: int, n: int) -> Iterator[Stream]:
    """Yield the part of a file from low/n to high/n of it, if there is any."""
    import pyarrow as pa

    store, _ = _opened(file.store)
    try:
        with store.open_input_file(file.path) as f:
            kind = f.read_at(6, 0)
            if kind.startswith(b"PAR1"):
                yield from _parquet(f, file, low, high, n)
            elif kind == b"ARROW1":
                yield from _arrow(f, file, low, high, n)
        if kind != b"ARROW1" and not kind.startswith(b"PAR1") and high == n:
            with store.open_input_stream(file.path, compression=None) as f:
                yield Stream(str(file), lambda out: shutil.copyfileobj(f, out, 1 << 20))
    except (OSError, pa.ArrowException) as e:
        raise refused(str(file), e) from e


def _parquet(source: Any, file: Object, low: int, high: int, n: int) -> Iterator[Stream]:
    import pyarrow as pa
    from pyarrow import parquet

    f = parquet.ParquetFile(source, pre_buffer=True)
    groups = range(low * f.num_row_groups // n, high * f.num_row_groups // n)

    def write(out: RawIOBase) -> None:
        with pa.ipc.new_stream(out, f.schema_arrow) as stream:
            for g in groups:  # memory holds one
                for batch in f.iter_batches(row_groups=[g], use_threads=False):
                    stream.write_batch(batch)

    if any(f.metadata.row_group(g).num_rows for g in groups):
        yield Stream(_named(file, groups, f.num_row_groups, "row group"), write)


def _arrow(source: Any, file: Object, low: int, high: int, n: int) -> Iterator[Stream]:
    import pyarrow as pa

    f = pa.ipc.open_file(source)
    batches = range(low * f.num_record_batches // n, high * f.num_record_batches // n)

    def write(out: RawIOBase) -> None:
        with pa.ipc.new_stream(out, f.schema) as stream:
            for b in batches:
                stream.write_batch(f.get_batch(b))

    if batches:
        yield Stream(_named(file, batches, f.num_record_batches, "batch"), write)


def _named(file: Object, part: range, all: int, what: str) -> str:
    """Return what messages call a part of a file, whose rows they count from its beginning."""
    return f"{file}, from {what} {part.start}" if len(part) < all else str(file)


def _opened(uri: str) -> tuple[Any, str]:
    import pyarrow as pa
    from pyarrow import fs

    scheme = _SCHEME.match(uri)
    name = scheme.group(1).lower() if scheme else ""
    try:
        store, path = fs.FileSystem.from_uri(_SAME.get(name, name) + uri[len(name) :])
    except (OSError, ValueError, NotImplementedError, pa.ArrowException) as e:
        raise refused(shown(uri), e) from e
    return store, path


def shown(uri: str) -> str:
    """Return a URI without what may be credentials: the query, and a user with a password."""
    return re.sub(r"://[^/@]*:[^/@]*@", "://", uri.partition("?")[0])


def refused(what: str, e: Exception) -> UsageError:
    """Return the error that a file or a store cannot be read. It has the beginning of what Arrow says, which may be many lines."""
    why = (str(e).splitlines() or [type(e).__name__])[0]
    why = re.sub(r"\S*://\S*\?\S*", "", why)
    return UsageError(f"pyarrow.fs cannot read {what}: {why}; read it with spark.read, and pass the data frame to candor.spark.evaluate")
