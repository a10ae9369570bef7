"""Arrays that the command reads where they are: in the memory of this process."""

from __future__ import annotations

import base64
import ctypes
import os
import sys
import threading
from pathlib import Path

import numpy as np

from ._arrays import Data, npy_header

REFUSED = "the memory of the calling process cannot be read"
"""What the command's errors say where the system does not allow it."""

LEAST = 4 << 20
"""Bytes from which on it is faster than a pipe: NumPy then asks for large pages, of which the system copies as quickly as of a file's."""

_SET_PTRACER = 0x59616D61


def _scope() -> int:
    """Return what Yama, a part of Linux, asks of the process that is read: 0 nothing, 1 that it names the reader, 2 and 3 more than can be done."""
    if sys.platform != "linux":
        return 3
    try:
        return int(Path("/proc/sys/kernel/yama/ptrace_scope").read_text())
    except FileNotFoundError:
        return 0
    except (OSError, ValueError):
        return 3


class Memory:
    """Whether a run's arrays are read in memory. A process names one reader at a time, so that of several threads one has its arrays read so."""

    _refused = False
    _named = threading.Lock()

    def __init__(self) -> None:
        self._names = 0
        self._scope = 3 if Memory._refused else _scope()
        self._holds = False

    def name(self, data: Data) -> str:
        """Return the name by which the command reads an array; "" if it cannot."""
        if not isinstance(data, np.ndarray) or data.dtype.kind != "f" or not data.dtype.isnative or data.nbytes < LEAST or not data.flags.c_contiguous or self._scope > 1:
            return ""
        if self._scope == 1 and not self._holds:
            self._holds = Memory._named.acquire(blocking=False)
            if not self._holds:
                return ""
        self._names += 1
        header = base64.urlsafe_b64encode(npy_header(data)).decode().rstrip("=")
        return f"/proc/{os.getpid()}/mem/{data.ctypes.data}/{data.nbytes}/{header}/{self._names}"

    def allow(self, pid: int) -> None:
        """Let a process read."""
        if self._holds:
            ctypes.CDLL(None).prctl(_SET_PTRACER, ctypes.c_ulong(pid), 0, 0, 0)

    def end(self) -> None:
        """Let it read no longer."""
        if self._holds:
            ctypes.CDLL(None).prctl(_SET_PTRACER, ctypes.c_ulong(0), 0, 0, 0)
            self._holds = False
            Memory._named.release()

    @classmethod
    def refuse(cls) -> None:
        """Remember that the system does not allow it."""
        cls._refused = True
