"""Every snippet of docs/python.md and of the two README.md runs, and gives what is said beside it; test_torchmetrics has those of PyTorch, and
test_transformers that of a trainer."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(os.environ.get("CANDOR_PYTHON_PAGE", Path(__file__).parents[2] / "docs" / "python.md"))
README = PAGE.parents[1] / "python" / "README.md"
FRONT = PAGE.parents[1] / "README.md"

OTHERS = ("python torch", "python transformers")
"""Snippets that other tests run, each one of its page."""


def python_in(text: str) -> list[str]:
    """Return what is wrong with the marks of blocks, so that code would not be run."""
    wrong, mark = [], None
    for line in text.splitlines():
        fence = re.match(r"\s*(```+|~~~+)(.*)", line)
        if fence and mark is None:
            mark = line
            if line not in ("```", "```python", *(f"```{o}" for o in OTHERS)):
                wrong.append(line)
        elif fence:
            mark = None
        elif mark == "```" and re.match(r"\s*(import |from \w|>>> |\w+(\.\w+)* = |(candor|np)\.\w+\()", line):
            wrong.append(line)
        elif mark is None and line.startswith(("    ", "\t")) and re.match(r"(import |from \w|>>> )", line.strip()):
            wrong.append(line)
    return wrong


@pytest.mark.parametrize("page", [PAGE, README, FRONT], ids=["page", "readme", "front"])
def test_no_code_is_left_out(page: Path) -> None:
    assert not python_in(page.read_text())
    for code in ("```py\na\n```", "``` python\na\n```", "~~~python\na\n~~~", "  ```python\n  a\n  ```", "```\nimport candor\n```", "```\nr = f(x)\n```", "    import candor\n"):
        assert python_in(f"```python\na\n```\n{code}\n"), code


def test_front_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Snippets of README.md, with the arrays that readers have, and the commands that are beside them."""
    naive_bayes = pytest.importorskip("sklearn.naive_bayes")
    monkeypatch.chdir(tmp_path)
    r = np.random.default_rng(0)
    X = r.normal(size=(200, 3))
    y = np.array(["ant", "bee", "cat"])[X.argmax(axis=1)]
    clf = naive_bayes.GaussianNB().fit(X[:100], y[:100])
    names = {"np": np, "probs": r.dirichlet(np.ones(3), 100), "labels": r.integers(0, 3, 100), "clf": clf, "X_test": X[100:], "y_test": y[100:]}
    snippets = re.findall(r"^```python\n(.*?)^```", FRONT.read_text(), re.DOTALL | re.MULTILINE)
    mine = [code for code in snippets if "torch." not in code]
    assert len(mine) >= 3
    assert len(snippets) - len(mine) == 1, "test_torchmetrics runs one"
    for code in mine:
        exec(code, names)
        for command in re.findall(r"# candor (eval .*)", code) or ["eval probs.npy --labels labels.npy"] * ("probs.npy" in code):
            subprocess.run([sys.executable, "-m", "candor", *command.split()], check=True, stdout=subprocess.DEVNULL)


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
