"""Writing to a pipe without a copy, where Linux can."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from typing import Any

WHOLE = 8 << 20
"""Bytes that are handed over at a time."""

_PIPE_SIZE = 1 << 20
_F_SETPIPE_SZ = 1031


class _Span(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]


def _find() -> Any:
    if sys.platform != "linux":
        return None
    try:
        call = ctypes.CDLL(None, use_errno=True).vmsplice
    except (OSError, AttributeError):
        return None
    call.argtypes = [ctypes.c_int, ctypes.POINTER(_Span), ctypes.c_ulong, ctypes.c_uint]
    call.restype = ctypes.c_ssize_t
    return call


_vmsplice = _find()


def _find_tie() -> Any:
    if sys.platform != "linux":
        return None
    try:
        call = ctypes.CDLL(None).prctl
    except (OSError, AttributeError):
        return None
    call.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong]
    call.restype = ctypes.c_int
    return call


_prctl = _find_tie()
_PR_SET_PDEATHSIG, _SIGKILL = 1, 9


def tie() -> None:
    """Let this process, which is about to run another program, be killed when its parent ends."""
    if _prctl is not None:
        _prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)


def widen(fd: int) -> None:
    """Let a pipe hold a mebibyte, if the system allows that."""
    if sys.platform == "linux":
        import fcntl

        try:
            fcntl.fcntl(fd, _F_SETPIPE_SZ, _PIPE_SIZE)
        except OSError:  # this user's pipes hold much already
            pass


def write(fd: int, data: memoryview) -> None:
    """Write all bytes to a pipe or a file, with a copy: they may change afterwards."""
    while data:
        try:
            data = data[os.write(fd, data[: 1 << 30]) :]
        except OSError as e:
            if sys.platform == "win32" and e.errno == errno.EINVAL:  # what Windows says of a pipe without a reader
                raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)) from e
            raise


def splice(fd: int, address: int, data: memoryview) -> None:
    """Write all bytes, which stand at an address, to a pipe. They must not change until its reader has them: pages go into it as they are."""
    done = 0
    while _vmsplice is not None and done < len(data):
        n = _vmsplice(fd, ctypes.byref(_Span(address + done, len(data) - done)), 1, 0)
        if n >= 0:
            done += n
            continue
        code = ctypes.get_errno()
        if code == errno.EPIPE:
            raise BrokenPipeError(code, os.strerror(code))
        if code != errno.EINTR:  # a sandbox without the call
            break
    write(fd, data[done:])
