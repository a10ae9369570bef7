"""The snippet of docs/python.md for the trainer of Hugging Face's transformers runs: a model of its own config, without a download."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers")

PAGE = os.environ.get("CANDOR_PYTHON_PAGE", str(Path(__file__).parents[2] / "docs" / "python.md"))


@pytest.mark.filterwarnings("default")
def test_snippet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"^```python transformers\n(.*?)^```", Path(PAGE).read_text(), re.DOTALL | re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(code, names)
    result, predicted = names["result"], names["predicted"]
    assert result.input["rows"] == len(predicted.label_ids) == 200
    assert predicted.predictions.shape == (200, 3)
    # What the trainer logs is what candor says.
    assert predicted.metrics["test_nll"] == result.nll
    assert predicted.metrics["test_loss"] == pytest.approx(result.nll, rel=1e-5)
