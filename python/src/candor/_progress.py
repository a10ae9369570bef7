"""Progress by tqdm, where it is there."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import Optional

from ._command import Progress

LONG = 256 << 20
"""Bytes from which notebooks show progress without being told."""


def shown(asked: Optional[bool], total: int, stack: ExitStack) -> Optional[Progress]:
    """Return what shows progress until the stack is closed; None where nothing is to be shown.

    Args:
        asked: whether the caller wants it; None is yes in a notebook, for many bytes.
        total: the number of bytes.
        stack: what keeps it open.
    """
    if asked is None:
        asked = "ipykernel" in sys.modules and total >= LONG
    if not asked:
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    bar = stack.enter_context(tqdm(total=total, desc="candor", unit="B", unit_scale=True, leave=False))

    def advance(n: int) -> None:
        bar.update(n)

    return advance
