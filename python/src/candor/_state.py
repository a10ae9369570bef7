"""What is kept of an evaluation: whole numbers, which merge exactly."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Union

from ._command import Input, Output, run
from .errors import UsageError

if TYPE_CHECKING:
    from ._result import Result

Path = Union[str, "os.PathLike[str]"]

AT_ONCE = 64
"""States that one run merges: each is an open file, of which a process may have 256 in macOS, and often 1,024 in Linux."""


class State:
    """The state of an evaluation of some rows. States of several parts merge to that of all rows, bit for bit, in any order.

    It is a file of `candor eval --state` in memory: `bytes(state)` are its bytes. States are equal where their bytes are, and they pickle.

    >>> import candor
    >>> one = candor.evaluate([0.2, 0.7], labels=[0, 1]).state
    >>> two = candor.evaluate([0.9], labels=[1]).state
    >>> (one + two).evaluate().input["rows"]
    3
    """

    __slots__ = ("_data",)

    def __init__(self, data: bytes) -> None:
        """Take the bytes of a state. They are checked when it is used."""
        self._data = bytes(data)

    @classmethod
    def load(cls, path: Path) -> State:
        """Read a state from a file."""
        with open(path, "rb") as f:
            return cls(f.read())

    def save(self, path: Path) -> None:
        """Write the state to a file, for `candor merge` and `State.load`. The file is whole or not there, also if a task is killed."""
        if os.path.exists(path) and not os.path.isfile(path):  # a pipe
            with open(path, "wb") as f:
                f.write(self._data)
            return
        name = os.path.realpath(path)
        new = f"{name}.{os.getpid()}.new"
        try:
            with open(new, "wb") as f:
                f.write(self._data)
            os.replace(new, name)
        except BaseException:
            with suppress(OSError):
                os.remove(new)
            raise

    @staticmethod
    def merge(states: Iterable[State], *, common: bool = False) -> State:
        """Return the state of the rows of all states.

        Args:
            states: what to merge.
            common: keep the metrics that all states have. Without it, states with different metrics are an error.

        Raises:
            UsageError: there are none.
            DataError: they differ in classes, metrics or options, or one is damaged.

        >>> import candor
        >>> one = candor.evaluate([0.2, 0.7], labels=[0, 1], metrics="brier,nll").state
        >>> two = candor.evaluate([0.9], labels=[1], metrics="brier,ece").state
        >>> sorted(State.merge([one, two], common=True).evaluate().metrics)
        ['brier']
        """
        parts = list(states)
        if not parts:
            raise UsageError("there are no states to merge")
        whole = parts[0]
        for i in range(1, len(parts), AT_ONCE - 1):
            merged = Output()
            some = [Input("state 0" if i == 1 else f"states 0 to {i - 1}", bytes(whole))]
            some += [Input(f"state {k}", bytes(s)) for k, s in enumerate(parts[i : i + AT_ONCE - 1], i)]
            with ExitStack() as stack:
                run(["merge", "--json", *some, "-o", merged, *(["--common"] if common else [])], stack)
            whole = State(merged.data)
        return whole

    def evaluate(self) -> Result:
        """Return the result of the rows that the state is of."""
        from ._result import Result

        with ExitStack() as stack:
            done = run(["merge", "--json", Input("the state", self._data)], stack)
            return Result.read(done.out, self)

    def __add__(self, other: State) -> State:
        return State.merge([self, other]) if isinstance(other, State) else NotImplemented

    def __radd__(self, other: int) -> State:
        # So that sum(states) is their merge.
        return self if other == 0 else NotImplemented

    def __bytes__(self) -> bytes:
        return self._data

    def __eq__(self, other: object) -> bool:
        return self._data == other._data if isinstance(other, State) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._data)

    def __reduce__(self) -> tuple[type[State], tuple[bytes]]:
        return State, (self._data,)

    def __repr__(self) -> str:
        return f"<candor.State of {len(self._data):,} bytes>"
