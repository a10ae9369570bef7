"""Runs of the command: arrays go in as files, documents and states come out."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import IO, Any, NamedTuple, Optional, Union

import numpy as np

from . import _pipe
from ._arrays import Data, blocks, narrow, npy_header
from ._memory import REFUSED, Memory
from ._program import program
from .errors import KINDS, CandorError, GateError, ProgramError, UsageError, in_python

SMALL = 1 << 20
"""Bytes up to which copying an array is cheaper than feeding a pipe."""

LARGE = 64 << 20
"""Bytes of arrays from which on the command collects garbage earlier: it then takes less memory, and a few percent more time. For small arrays that
would be most of the time."""

LONG = 8_000
"""Characters of a command line from which on it is in a file: Windows has a limit of 32,767, with quotes and backslashes doubled, Linux one of 131,071
bytes an argument."""

in_memory = sys.platform == "linux" and hasattr(os, "memfd_create")
"""Files of a run are in memory, and programs know them by /dev/fd/N. Elsewhere they are in a folder that the run removes."""


class Input:
    """What the command reads as a file: an array, rows, or bytes as they are.

    Args:
        name: what documents call it.
        data: the array, the rows or the bytes.
        once: it is read once, from its first byte to its last.
        said: what messages call it, if they do otherwise: one of several arrays of an argument, as groups['site'].
    """

    def __init__(self, name: str, data: Union[Data, bytes], once: bool = False, said: str = "") -> None:
        self.name = name
        self.said = said or name
        self.once = once
        self.raw = isinstance(data, bytes)
        self.data: Data = np.frombuffer(data, np.uint8) if isinstance(data, bytes) else data


class Stream:
    """What the command reads from standard input, as it is made. A run has one at most.

    Args:
        name: what messages call it.
        write: writes it to a file. Its errors end the run.
    """

    def __init__(self, name: str, write: Callable[[io.RawIOBase], None]) -> None:
        self.name = name
        self.write = write


class Output:
    """A file that the command writes. After the run `data` has what is in it.

    Args:
        suffix: what its name has to end in; where that is empty, the command must not need a name.
    """

    def __init__(self, suffix: str = "") -> None:
        self.suffix = suffix
        self.data = b""


Word = Union[str, Input, Stream, Output]
Progress = Callable[[int], None]


class Finished(NamedTuple):
    """What a run printed. `gate` is the error of a gate that failed."""

    out: IO[bytes]
    gate: Optional[GateError]


def run(words: Sequence[Word], stack: ExitStack, progress: Optional[Progress] = None, tied: bool = False) -> Finished:
    """Run the command with these words, in which files stand for their names.

    Args:
        words: the words of the command line.
        stack: what keeps the output open.
        progress: is called with the number of bytes that were handed over since the last call.
        tied: on Linux the command ends with the thread that calls this, even if it is killed.

    Raises:
        CandorError: the command did.
    """
    try:
        return _run(words, stack, progress, tied, Memory() if words[:1] == ["eval"] or words[:1] == ["compare"] else None)
    except CandorError as e:
        if REFUSED not in str(e):
            raise
        Memory.refuse()  # a pipe does as well
        return _run(words, stack, progress, tied, None)


def _run(words: Sequence[Word], stack: ExitStack, progress: Optional[Progress], tied: bool, memory: Optional[Memory]) -> Finished:
    for text in (w if isinstance(w, str) else getattr(w, "name", "") for w in words):
        if (at := text.find("\0")) >= 0:
            raise UsageError(f"a name or an option has a zero byte, in {text[max(0, at - 20) : at + 20]!r}; leave the byte out")
    files = stack.enter_context(_Files(memory if progress is None else None))
    if memory is not None:
        stack.callback(memory.end)
    args = [files.name(w) for w in words]
    said = {w.name: w.said for w in words if isinstance(w, Input) and w.said != w.name}
    for w, a in zip(words, args):
        if isinstance(w, (Input, Stream)):
            # An argument that is called as an array of another one is told from it.
            args += ["--name", f"{a}={w.name}" + "=" * (w.name in said and getattr(w, "said", w.name) == w.name)]
    if sum(map(len, args)) > LONG:
        args = ["@" + files.lines(args)]
    out, errors = files.scratch(), files.scratch()
    large = sum(w.data.nbytes for w in words if isinstance(w, Input)) > LARGE
    _starting.tied = tied
    try:
        process = subprocess.Popen(
            [program(), *args],
            stdin=subprocess.PIPE if files.by_stdin else subprocess.DEVNULL,
            stdout=out,
            stderr=errors,
            pass_fds=files.passed,
            env={"GOGC": "12", **os.environ} if large else None,
            preexec_fn=_pipe.tie if tied else None,
        )
    finally:
        _starting.tied = False
    try:
        if memory is not None:
            memory.allow(process.pid)
        files.started(process)
        with suppress(BrokenPipeError):  # the command has an error, which is read below
            files.feed(progress)
        files.collect_pipes()
        code = process.wait()
        files.collect_files()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        files.close_pipes()
        if memory is not None:
            memory.end()
    if files.failed:
        raise files.failed[0]
    out.seek(0)
    if code == 0:
        return Finished(out, None)
    errors.seek(0)
    error = _error(code, errors.read().decode(errors="replace"))
    if said and error.argument is not None:
        _say(error, said)
    if isinstance(error, GateError):
        return Finished(out, error)
    raise error


def _say(error: CandorError, said: Mapping[str, str]) -> None:
    """Let an error about one of several arrays of an argument name the argument, too."""
    name = error.argument or ""
    if name not in said:
        error.argument = name.rstrip("=")
        return
    error.argument = said[name].split("[")[0]
    start, lines = f"{name}: ", str(error).split("\n")
    about = lines[0] if lines[0].startswith(start) or lines[0].startswith(f"{error.argument}=") else f"{error.argument}: {lines[0]}"
    error.args = ("\n".join(f"{said[name]}: {t[len(start) :]}" if t.startswith(start) else t for t in [about, *lines[1:]]),)


def _error(code: int, text: str) -> CandorError:
    if code < 0:
        import signal

        what = signal.Signals(-code).name if -code in signal.valid_signals() else f"signal {-code}"
        return ProgramError(f"the command candor was killed by {what}; was there too little memory?")
    if not text.strip():  # on Windows this is what a killed program looks like
        return ProgramError(f"the command candor ended with code {code} and said nothing; was it killed?")
    try:
        place = json.loads(text.splitlines()[-1])["error"]
    except (IndexError, KeyError, TypeError, ValueError):
        kind = {1: "gate", 2: "usage", 3: "data"}.get(code, "fault")
        message = text.split("\n'candor help'")[0].strip()
        message = message[len("candor: ") :] if message.startswith("candor: ") else message
        return KINDS[kind](in_python(message) or f"the command candor ended with code {code}")
    if "remedy" in place:
        place["remedy"] = in_python(place["remedy"])
    return KINDS.get(place["kind"], ProgramError)(in_python(place["message"]), place)


# Descriptors of runs. A process that another thread forks must not keep a pipe open, or its reader would wait for that process.
_held: set[int] = set()

# Python runs what is registered below also in a process that is about to become the command, if it has a preexec_fn.
_starting = threading.local()


def _forget() -> None:
    if getattr(_starting, "tied", False):
        return
    for fd in _held:
        with suppress(OSError):
            os.close(fd)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


class _Files:
    """The files of a run, and the pipes to it."""

    def __init__(self, memory: Optional[Memory] = None) -> None:
        self.passed: list[int] = []
        self._memory = memory
        self.by_stdin = False
        self.failed: list[BaseException] = []  # of the threads
        self._stack = ExitStack()
        self._folder, self._paths = "", 0
        self._pipes: set[int] = set()
        self._theirs: list[int] = []
        self._feeds: list[tuple[int, Union[Input, Stream]]] = []
        self._threads: list[threading.Thread] = []
        self._stdin: Union[Input, Stream, None] = None
        self._collect: list[tuple[Union[int, str], Output]] = []

    def __enter__(self) -> _Files:
        return self

    def __exit__(self, *_: object) -> None:
        self.close_pipes()
        self._stack.close()

    def name(self, word: Word) -> str:
        """Return a word of the command line: itself, or the name of its file, which is made."""
        if isinstance(word, str):
            return word
        if isinstance(word, Output):
            return self._output(word)
        if isinstance(word, Stream):
            self._stdin, self.by_stdin = word, True
            return "-"
        if word.once and self._memory is not None and (place := self._memory.name(word.data)):
            return place
        if word.once and (word.data.nbytes > SMALL if in_memory else self._stdin is None):
            if in_memory:
                read, fd = self._pipe()
                _pipe.widen(fd)
                self._give(read)
                self._feeds.append((fd, word))
                return f"/dev/fd/{read}"
            self._stdin, self.by_stdin = word, True
            return "-"
        path, fd = self._file("" if word.raw else ".npy")
        _write(fd, word, narrow(word.data) if word.data.nbytes > SMALL else word.data)
        return path

    def lines(self, args: Sequence[str]) -> str:
        """Return the name of a file of arguments, which is made."""
        path, fd = self._file("")
        _pipe.write(fd, memoryview(b"".join(os.fsencode(a) + b"\0" for a in args)))
        return path

    def _file(self, suffix: str) -> tuple[str, int]:
        """Return the name and the descriptor of a file that the command reads."""
        if in_memory:
            fd = self.scratch().fileno()
            self.passed.append(fd)
            return f"/dev/fd/{fd}", fd
        path = self._path(suffix)
        return path, self._stack.enter_context(open(path, "xb", buffering=0)).fileno()

    def _output(self, word: Output) -> str:
        if in_memory and not word.suffix:
            fd, write = self._pipe()
            self._give(write)
            self._collect.append((fd, word))
            return f"/dev/fd/{write}"
        path = self._path(word.suffix)
        self._collect.append((path, word))
        return path

    def scratch(self) -> IO[bytes]:
        """Return an empty file without a name."""
        if sys.platform == "linux" and in_memory:
            return self._stack.enter_context(open(os.memfd_create("candor"), "w+b", buffering=0))
        import tempfile

        return self._stack.enter_context(tempfile.TemporaryFile(buffering=0))

    def _path(self, suffix: str) -> str:
        if not self._folder:
            import tempfile

            self._folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="candor-"))
        self._paths += 1
        return os.path.join(self._folder, f"{self._paths}{suffix}")

    def _pipe(self) -> tuple[int, int]:
        both = os.pipe()
        self._pipes.update(both)
        _held.update(both)
        return both

    def _give(self, fd: int) -> None:
        """Hand an end of a pipe to the command."""
        self.passed.append(fd)
        self._theirs.append(fd)

    def started(self, process: subprocess.Popen[bytes]) -> None:
        """Close what only the command uses."""
        for fd in self._theirs:
            self._close(fd)
        if self._stdin is not None and process.stdin is not None:
            fd = os.dup(process.stdin.fileno())
            process.stdin.close()
            self._pipes.add(fd)
            _held.add(fd)
            self._feeds.append((fd, self._stdin))

    def feed(self, progress: Optional[Progress]) -> None:
        """Write to the pipes, to each at the pace at which the command reads it: to the first, of the scores, here, and to others in threads."""
        for fd, word in self._feeds[1:]:
            self._threads.append(threading.Thread(target=self._pour_aside, args=(fd, word), name=f"candor {word.name}", daemon=True))
            self._threads[-1].start()
        for fd, word in self._feeds[:1]:
            self._pour(fd, word, progress)

    def _pour(self, fd: int, word: Union[Input, Stream], progress: Optional[Progress]) -> None:
        try:
            if isinstance(word, Stream):
                word.write(_Sink(fd))
            else:
                _write(fd, word, word.data, progress, spliced=in_memory)
        finally:
            self._close(fd)

    def _pour_aside(self, fd: int, word: Union[Input, Stream]) -> None:
        try:
            with suppress(BrokenPipeError):
                self._pour(fd, word, None)
        except BaseException as e:  # raised where the command is waited for, which ends because the file does
            self.failed.append(e)

    def collect_pipes(self) -> None:
        """Read what the command writes to pipes, until it ends."""
        for source, word in self._collect:
            if isinstance(source, int):
                whole = io.BytesIO()  # whose value is not a copy
                while part := os.read(source, 1 << 16):
                    whole.write(part)
                word.data = whole.getvalue()

    def collect_files(self) -> None:
        """Read the files that the command has written."""
        for source, word in self._collect:
            if isinstance(source, str) and os.path.exists(source):
                with open(source, "rb") as f:
                    word.data = f.read()

    def close_pipes(self) -> None:
        """Close what is still open of pipes. The command has ended, so that nothing waits for it."""
        for thread in self._threads:
            thread.join()
        for fd in list(self._pipes):
            self._close(fd)

    def _close(self, fd: int) -> None:
        self._pipes.discard(fd)
        _held.discard(fd)
        os.close(fd)


class _Sink(io.RawIOBase):
    """The writing end of a pipe. A write takes all bytes, unlike that of a file without a buffer."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        part = memoryview(data).cast("B")
        _pipe.write(self._fd, part)
        return len(part)


def _write(fd: int, word: Input, data: Data, progress: Optional[Progress] = None, spliced: bool = False) -> None:
    """Write an array as .npy, spliced where its own memory can go into the pipe."""
    if not word.raw:
        _pipe.write(fd, memoryview(npy_header(data)))
    for block in blocks(data):
        flat = block.reshape(-1).view(np.uint8)
        spliced_block = spliced and isinstance(data, np.ndarray) and np.may_share_memory(block, data)
        for i in range(0, flat.size, _pipe.WHOLE):
            part = flat[i : i + _pipe.WHOLE].data
            if spliced_block:
                _pipe.splice(fd, flat.ctypes.data + i, part)
            else:
                _pipe.write(fd, part)
            if progress is not None:
                progress(len(part))
