"""Every snippet of docs/python.md runs; test_torchmetrics has that of PyTorch."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

PAGE = os.environ.get("CANDOR_PYTHON_PAGE", str(Path(__file__).parents[2] / "docs" / "python.md"))


def test_snippets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snippets = re.findall(r"^```python\n(.*?)^```", Path(PAGE).read_text(), re.DOTALL | re.MULTILINE)
    assert len(snippets) > 8
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for i, code in enumerate(snippets):
        exec(compile(code, f"snippet {i}", "exec"), names)
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")
    assert (tmp_path / "risk.svg").stat().st_size > 1000
