"""Every example of docs/engines/README.md runs, on an engine that is installed, and gives the bytes of one run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import candor

pytest.importorskip("pyarrow")

PAGE = os.environ.get("CANDOR_ENGINES_PAGE", str(Path(__file__).parents[2] / "docs" / "engines" / "README.md"))
MODULES = {"Ray": "ray", "Dask": "distributed", "Beam in Python": "apache_beam", "Polars": "polars", "DuckDB": "duckdb"}


def examples() -> dict[str, str]:
    text = Path(PAGE).read_text()
    return {title: code for title, code in re.findall(r"^## ([^\n]*)\n(?:(?!^##).)*?^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)}


def test_all_are_known() -> None:
    assert sorted(examples()) == sorted(MODULES)


@pytest.mark.parametrize("engine", MODULES)
def test_example(engine: str, tmp_path: Path) -> None:
    if MODULES[engine] not in os.environ.get("CANDOR_ENGINES", ""):  # where these are named, each has to be there
        pytest.importorskip(MODULES[engine])
    import pyarrow as pa
    from pyarrow import parquet

    r = np.random.default_rng(2)
    (tmp_path / "predictions").mkdir()
    for i in range(5):
        z = r.normal(size=(2000 + i, 3))
        p = (np.exp(z) / np.exp(z).sum(1, keepdims=True)).astype(np.float32)
        table = pa.table({**{f"p_{k}": p[:, k] for k in range(3)}, "y": r.integers(0, 3, len(p))})
        parquet.write_table(table, tmp_path / "predictions" / f"{i}.parquet", row_group_size=700)
    want = candor.evaluate_files(*sorted((tmp_path / "predictions").iterdir()), prob_prefix="p_", label="y")
    code = examples()[engine] + '\nif __name__ == "__main__":\n    result.state.save("got.state")\n'
    (tmp_path / "example.py").write_text(code)
    # Ray keeps sockets in its folder, whose paths are short, and a key in the home folder.
    home = tempfile.mkdtemp(prefix="c", dir="/tmp")
    env = {**os.environ, "HOME": home, "RAY_TMPDIR": home, "RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}
    try:
        done = subprocess.run([sys.executable, "example.py"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    assert done.returncode == 0, done.stderr
    got = candor.State.load(tmp_path / "got.state")
    assert got == want.state
    assert got.evaluate()["input"]["rows"] == 10010
