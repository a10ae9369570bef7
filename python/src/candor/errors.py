"""What can go wrong, with the words of the command."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._result import Document

__all__ = ["CandorError", "DataError", "GateError", "ProgramError", "UsageError"]


class CandorError(Exception):
    """An error of this package. Its text says what is wrong and what to do.

    Attributes:
        argument: the argument, or for files the name, that is to blame; None where there is no single one.
        row: the first row that is wrong, from 0; None where it is not about a row.
        column: its column, a number from 0 or a name; None likewise.
        value: the value found there; None likewise.
        remedy: what to do; None where that is not known.
    """

    def __init__(self, message: str, place: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        place = place or {}
        self.argument: str | None = place.get("file")
        self.row: int | None = place.get("row")
        self.column: int | str | None = place.get("column")
        self.value: float | str | None = place.get("value")
        self.remedy: str | None = place.get("remedy")


class DataError(CandorError, ValueError):
    """Scores, labels or what goes with them cannot be used."""


class UsageError(CandorError, ValueError):
    """Options are wrong, or do not go together."""


class ProgramError(CandorError, RuntimeError):
    """The command is missing, of another version, was killed, or failed by a fault of its own."""


class GateError(CandorError):
    """A condition of `fail_if` holds, or one of `require` does not.

    Attributes:
        result: the result, which is complete.
    """

    result: Document | None = None


KINDS: Mapping[str, type[CandorError]] = {
    "data": DataError,
    "usage": UsageError,
    "output": UsageError,
    "fault": ProgramError,
    "gate": GateError,
}
"""The class for each kind of error of the command."""

_FLAG = re.compile(
    r"(?<![\w-])--(?P<flag>[a-z][a-z-]*[a-z])(?:[ =](?P<value>\d[\w./]*\w|\d|drop|skip|probs|logits|logprobs|dirichlet|binary|classification|multilabel|ensemble"
    r"|regression|quantiles|samples|multivariate|loglik)\b| [A-Z]{2,}\b)?"
)
_ARGUMENTS = {"group": "groups", "cluster": "clusters", "slice-by": "slices"}
_SWITCHES = {"bfloat16", "percent", "renormalize", "temperature-scaled"}


def in_python(text: str) -> str:
    """Return a message of the command with arguments in place of flags.

    >>> in_python("pass --max-memory 430MiB, or name fewer metrics")
    'pass max_memory="430MiB", or name fewer metrics'
    >>> in_python("pass --input logits, or --renormalize; --group COLUMN does not go with --bins 5")
    'pass logits=, or renormalize=True; groups= does not go with bins=5'
    """

    def argument(found: re.Match[str]) -> str:
        flag, value = found["flag"], found["value"]
        name = _ARGUMENTS.get(flag, flag.replace("-", "_"))
        if value is None:
            return f"{name}=True" if flag in _SWITCHES else f"{name}="
        if flag == "input":
            return f"{value}="
        return f"{name}={value}" if value.isdigit() else f'{name}="{value}"'

    return _FLAG.sub(argument, text.replace("unknown flag:", "unknown argument:"))
