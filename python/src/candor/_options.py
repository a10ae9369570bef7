"""Keywords as flags of the command."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Union

import numpy as np

from ._command import Word
from .errors import UsageError

Option = Union[None, bool, int, float, str, Sequence[Any], Mapping[str, Any]]

_REPEATED = ("fail_if", "require", "margin", "slice_edges", "report", "name")
"""Options that are given several times where there are several values."""

_OURS = {
    "json": "results are documents already",
    "format": "results are documents already",
    "html": "call to_html of the result",
    "plot": "call plot of the result",
    "plot_kind": "call plot of the result",
    "output": "it is returned",
}


def flags(options: Mapping[str, Option]) -> Iterator[Word]:
    """Yield the flags that options are: `min_rows=5` is `--min-rows 5`.

    True is a flag without a value, None none at all. Several values are joined by commas, or are a flag each where the command takes it
    several times. A mapping is values of the form `key=value`.

    Raises:
        UsageError: it is what the package decides.
    """
    for key, value in options.items():
        if key in _OURS:
            raise UsageError(f"{key} is no option here: {_OURS[key]}")
        flag = "--" + key.replace("_", "-")
        if isinstance(value, Mapping):
            value = [f"{k}={_text(v)}" for k, v in value.items()]
        if value is None:
            continue
        if value is True:
            yield flag
        elif isinstance(value, (str, int, float, np.number)):
            yield from (flag, _text(value)) if value is not False else (f"{flag}=false",)
        elif key in _REPEATED:
            for v in value:
                yield from (flag, _text(v))
        else:
            yield from (flag, ",".join(map(_text, value)))


def _text(value: Any) -> str:
    if isinstance(value, (list, tuple, np.ndarray)):
        return ",".join(map(_text, value))
    return str(value)


def listed(names: Sequence[Any]) -> str:
    """Return the names of classes as a list of the command: joined by commas, quoted where one holds any.

    Raises:
        UsageError: one is empty, or they are one text.
    """
    if isinstance(names, (str, bytes)):
        raise UsageError("classes: it is one text; pass a list of the names")
    for i, name in enumerate(names):
        if not str(name).strip():
            raise UsageError(f"classes: the name of class {i} is empty; give it one")
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow([str(n) for n in names])
    return line.getvalue()
