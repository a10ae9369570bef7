"""Every snippet of docs/python.md and of python/README.md runs, and gives what is said beside it; test_torchmetrics has that of PyTorch."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

PAGE = Path(os.environ.get("CANDOR_PYTHON_PAGE", Path(__file__).parents[2] / "docs" / "python.md"))
README = PAGE.parents[1] / "python" / "README.md"


@pytest.mark.parametrize("page, least", [(PAGE, 8), (README, 2)], ids=["page", "readme"])
def test_snippets(page: Path, least: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    snippets = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    assert len(snippets) >= least
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    said = 0
    for i, code in enumerate(snippets):
        exec(compile(code, f"snippet {i}", "exec"), names)
        # What an expression is, beside it, and what was printed, below.
        printed = capsys.readouterr().out
        for expression, value in re.findall(r"^(\S.*?) +# (<.*>)$", code, re.MULTILINE):
            assert repr(eval(expression, names)) == value
            said += 1
        for line in re.findall(r"^print\(.*\)\n# (.*)$", code, re.MULTILINE):
            assert line in printed.splitlines()
            said += 1
    assert said > 0


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's first snippets leave the files that they name."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for code in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)[:2]:
        exec(code, names)
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")
    assert (tmp_path / "risk.svg").stat().st_size > 1000
