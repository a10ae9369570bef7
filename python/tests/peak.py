"""What a call takes of memory, on Linux: this process, the command, and files in memory."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

MIB = 1 << 20


def beside(call: Callable[[], Any]) -> float:
    """Return by how many MiB memory grew at most during a call. The peaks of each part are added, as if they fell together."""
    Path("/proc/self/clear_refs").write_text("5")  # this process's peak begins anew
    before, parts, done = kept("self", "VmRSS"), {"command": 0, "files": 0}, threading.Event()
    watcher = threading.Thread(target=watch, args=(parts, done))
    watcher.start()
    try:
        call()
    finally:
        done.set()
        watcher.join()
    assert parts["command"] > 0, "the command was not seen"
    return (kept("self", "VmHWM") - before + parts["command"] + parts["files"]) / MIB


def watch(parts: dict[str, int], done: threading.Event) -> None:
    while not done.is_set():
        parts["command"] = max(parts["command"], sum(kept(child, "VmHWM") for child in commands()))
        parts["files"] = max(parts["files"], files())
        time.sleep(0.001)


def kept(process: str, what: str) -> int:
    try:
        found = re.search(rf"^{what}:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text(), re.M)
    except OSError:
        return 0
    return int(found[1]) << 10 if found else 0


def commands() -> Iterator[str]:
    """Yield the children that are the command, not this program about to become it."""
    for task in Path("/proc/self/task").iterdir():
        try:
            for child in (task / "children").read_text().split():
                if Path(f"/proc/{child}/comm").read_text().startswith("candor"):
                    yield child
        except OSError:
            pass


def files() -> int:
    """Return the bytes of files in memory that this process has open."""
    size = 0
    for fd in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{fd}").startswith("/memfd:"):
                size += os.stat(f"/proc/self/fd/{fd}").st_blocks * 512
        except OSError:
            pass
    return size
