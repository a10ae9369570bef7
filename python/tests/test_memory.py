"""The command takes little memory beside the array."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import candor
from candor._program import program

WRAPPER = """#!{python}
import os, resource, sys
code = os.spawnv(os.P_WAIT, {program!r}, [{program!r}, *sys.argv[1:]])
with open({peaks!r}, "a") as f:
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=f)
sys.exit(code)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a child is in KiB on Linux")
def test_command_takes_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scores are 114 MiB."""
    r = np.random.default_rng(0)
    p = r.random((100_000, 300), dtype="f4")
    p /= p.sum(axis=1, keepdims=True)
    y = r.integers(0, 300, len(p))
    wrapper, peaks = tmp_path / "candor", tmp_path / "peaks"
    wrapper.write_text(WRAPPER.format(python=sys.executable, program=program(), peaks=str(peaks)))
    wrapper.chmod(0o755)
    monkeypatch.setenv("CANDOR_BINARY", str(wrapper))
    candor.evaluate(p, labels=y, weights=r.random(len(p)))
    candor.evaluate(np.asfortranarray(p), labels=y)
    found = [int(line) for line in peaks.read_text().split()]
    assert len(found) == 3  # the first asks for the version
    assert max(found) < 64 << 10
