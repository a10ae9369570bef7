"""Maps as the files that the command writes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Optional, TypeVar

from ._state import Path

_M = TypeVar("_M", bound="MapFile")


class MapFile:
    """A map that a fit of the command wrote."""

    __slots__ = ("_data", "_report")

    def __init__(self, data: bytes, report: Optional[Mapping[str, Any]] = None) -> None:
        """Take the bytes of the file of a map. They are checked when it is used."""
        self._data = bytes(data)
        self._report = report

    @classmethod
    def load(cls: type[_M], path: Path) -> _M:
        """Read a map from a file."""
        with open(path, "rb") as f:
            return cls(f.read())

    def save(self, path: Path) -> None:
        """Write the map to a file, for the command and `load`."""
        with open(path, "wb") as f:
            f.write(self._data)

    @property
    def method(self) -> str:
        """The method, with its options."""
        return str(self.document["method"])

    @property
    def document(self) -> Mapping[str, Any]:
        """The file of the map: its parameters, and what it was fitted to."""
        document: Mapping[str, Any] = json.loads(self._data)
        return document

    def __bytes__(self) -> bytes:
        return self._data

    def __eq__(self, other: object) -> bool:
        return self._data == other._data if isinstance(other, MapFile) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._data)

    def __reduce__(self) -> tuple[type[MapFile], tuple[bytes, Optional[Mapping[str, Any]]]]:
        return type(self), (self._data, self._report)
