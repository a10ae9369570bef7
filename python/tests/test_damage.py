"""What goes wrong between this package and the command: bytes of a pipe that are lost or changed, either side killed."""

from __future__ import annotations

import gc
import io
import os
import signal
import stat
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

import candor
from candor import _command, _program

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it is about /dev/fd and signals")

R = np.random.default_rng(3)
P = R.dirichlet(np.ones(3), 400).astype("f4")
Y = R.integers(0, 3, 400)
LARGE = np.resize(P, (1_000_000, 3))

BETWEEN = """\
#!{python} -S
import os, sys
words = sys.argv[1:]
at = next((i for i, w in enumerate(words) if w.startswith("/dev/fd/")), None)
if words[0] == "eval" and at is not None:
    how, place, value = os.environ["CANDOR_TEST_DAMAGE"].split()
    place, value = int(place), int(value)
    fd = int(words[at].rsplit("/", 1)[1])
    read, write = os.pipe()
    if os.fork() == 0:
        os.close(read)
        data = bytearray()
        while part := os.read(fd, 1 << 16):
            data += part
        if how == "cut":
            del data[place:]
        elif how == "flip":
            data[place] ^= 1 << value
        elif how == "insert":
            data[place:place] = bytes([value])
        try:
            while data:
                del data[: os.write(write, data)]
        except BrokenPipeError:
            pass
        os._exit(0)
    os.close(write)
    os.dup2(read, fd)
os.execv({program!r}, [{program!r}, *words])
"""
"""A program between: it hands the scores on to the command with damage."""


def program(folder: Path, text: str) -> str:
    path = folder / "candor"
    path.write_text(text.format(python=sys.executable, program=os.path.abspath(_program.program())))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def children(of: int) -> list[str]:
    out = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(of)], stdout=subprocess.PIPE, text=True)
    return [line for line in out.stdout.splitlines() if "candor" in line]


def as_sent(p: np.ndarray) -> bytes:
    b = io.BytesIO()
    np.save(b, p)
    return b.getvalue()


@pytest.mark.parametrize("how", ["cut", "flip", "insert"])
def test_damaged_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """The answer of the bytes that arrive, where they are an array of these rows; else an error."""
    monkeypatch.setattr(_command, "SMALL", 100)  # so that so few bytes go through a pipe
    want = candor.evaluate(P, labels=Y)
    sent = as_sent(P)
    monkeypatch.setenv("CANDOR_BINARY", program(tmp_path, BETWEEN))
    monkeypatch.setenv("CANDOR_TEST_DAMAGE", "none 0 0")
    assert candor.evaluate(P, labels=Y) == want
    gc.collect()  # what other tests have left open
    before = set(os.listdir("/dev/fd"))
    places = [*range(1, 128, 6), *R.integers(128, len(sent), 12).tolist()]
    errors = 0
    for place in places:
        value = int(R.integers(0, 8))
        monkeypatch.setenv("CANDOR_TEST_DAMAGE", f"{how} {place} {value}")
        try:
            got = candor.evaluate(P, labels=Y)
        except candor.DataError as e:
            assert "probs" in str(e), place
            errors += 1
            continue
        assert how == "flip", place
        changed = bytearray(sent)
        changed[place] ^= 1 << value
        monkeypatch.setenv("CANDOR_TEST_DAMAGE", "none 0 0")
        assert got == candor.evaluate(np.load(io.BytesIO(changed)), labels=Y), place
    assert errors == len(places) if how != "flip" else errors > 15
    assert set(os.listdir("/dev/fd")) == before


@pytest.mark.parametrize("moment", np.linspace(0, 0.25, 12).tolist())
def test_command_killed_at_any_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: float) -> None:
    """The whole answer, or an error that names the signal."""
    text = '#!/bin/sh\nif [ "$1" = version ]; then exec "{program}" version; fi\n(sleep %.3f; kill -9 $$) </dev/null >/dev/null 2>&1 &\nexec "{program}" "$@"\n' % moment
    want = candor.evaluate(LARGE, labels=np.resize(Y, len(LARGE)))
    monkeypatch.setenv("CANDOR_BINARY", program(tmp_path, text))
    try:
        assert candor.evaluate(LARGE, labels=np.resize(Y, len(LARGE))) == want
    except candor.ProgramError as e:
        assert "killed by SIGKILL" in str(e)
    assert not children(os.getpid())


@pytest.mark.parametrize("says", ["printf '{{\"schema\": '", "true", "printf '[1, 2]'", "head -c 1000 /dev/zero", "printf '\\377\\376'"])
def test_wrong_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str) -> None:
    """A document that is cut, missing or something else is a fault of the command, and no answer."""
    text = f'#!/bin/sh\nif [ "$1" = version ]; then exec "{{program}}" version; fi\n{says}\n'
    monkeypatch.setenv("CANDOR_BINARY", program(tmp_path, text))
    with pytest.raises(candor.ProgramError, match="no document"):
        candor.evaluate(P, labels=Y)


def test_damaged_states() -> None:
    """A state with a bit changed or bytes missing has no answer, alone or beside others."""
    whole = candor.evaluate(P, labels=Y).state
    assert whole is not None
    data = bytes(whole)
    for place in R.integers(0, len(data), 30).tolist():
        flipped = bytearray(data)
        flipped[place] ^= 1 << int(R.integers(0, 8))
        for bad in (candor.State(bytes(flipped)), candor.State(data[:place])):
            with pytest.raises(candor.DataError, match="state"):
                bad.evaluate()
            with pytest.raises(candor.DataError, match="state 1"):
                candor.State.merge([whole, bad, whole])


PARENT = """
import numpy as np
import candor
p = np.full((4_000_000, 8), 0.125, "f4")
y = np.zeros(len(p), int)
print("ready", flush=True)
while True:
    candor.evaluate(p, labels=y, metrics="all")
"""


@pytest.mark.parametrize("moment", [0.1, 0.3, 0.7])
def test_parent_killed(moment: float) -> None:
    """The command ends when the process that feeds it is killed."""
    parent = subprocess.Popen([sys.executable, "-c", textwrap.dedent(PARENT)], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    parent.stdout.readline()
    left: list[str] = []
    end = time.monotonic() + 60
    while not left and time.monotonic() < end:
        left = children(parent.pid)
    assert left
    time.sleep(moment)
    left = children(parent.pid) or left
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    pids = [line.split()[0] for line in left]
    end = time.monotonic() + 30
    while any(os.path.exists(f"/proc/{pid}") for pid in pids):
        assert time.monotonic() < end, "the command still runs"
        time.sleep(0.05)
