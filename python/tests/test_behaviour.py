"""Processes, threads and signals; other libraries' arrays; a command that is missing; what notebooks show."""

from __future__ import annotations

import errno
import gc
import multiprocessing
import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
import types
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import candor
from candor import _command, _memory, _pipe, _program, _progress

R = np.random.default_rng(2)
P = R.dirichlet(np.ones(4), 200)
Y = R.integers(0, 4, 200)
LARGE = np.resize(P.astype("f4"), (2_000_000, 4))

unix = pytest.mark.skipif(sys.platform == "win32", reason="it is about signals and forks")


def children() -> set[str]:
    out = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(os.getpid())], stdout=subprocess.PIPE, text=True)
    return {line for line in out.stdout.splitlines() if "candor" in line}


def value(_: int) -> float:
    return float(candor.evaluate(P, labels=Y).nll)


@unix
@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_processes(how: str) -> None:
    want = value(0)
    with multiprocessing.get_context(how).Pool(2) as pool:
        assert pool.map(value, range(4)) == [want] * 4


def test_threads() -> None:
    want = value(0)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(value, range(12))) == [want] * 12


def slow_program(folder: Path, then: str) -> str:
    """Return a program that says candor's version and then does something else."""
    path = folder / "candor"
    path.write_text(f'#!/bin/sh\nif [ "$1" = version ]; then exec "{_program.program()}" version; fi\n{then}\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.fixture(params=[True, False], ids=["memory", "folder"])
def files(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Both ways of arrays to the command. Neither leaves a file, a descriptor or a process."""
    folder = tmp_path_factory.mktemp("files")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(_command, "in_memory", request.param and _command.in_memory)
    gc.collect()  # what other tests have left open
    before = set(os.listdir("/dev/fd"))
    yield
    assert not list(folder.iterdir())
    assert set(os.listdir("/dev/fd")) == before
    assert not children()


@unix
@pytest.mark.usefixtures("files")
def test_interrupt_ends_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANDOR_BINARY", slow_program(tmp_path, "exec sleep 60"))
    was = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            candor.evaluate(P, labels=Y)
    finally:
        signal.signal(signal.SIGINT, was)
    assert time.monotonic() - start < 20
    timer.join()


@unix
@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("scores", [P, LARGE], ids=["small", "large"])
def test_killed_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scores: np.ndarray) -> None:
    monkeypatch.setenv("CANDOR_BINARY", slow_program(tmp_path, "kill -9 $$"))
    with pytest.raises(candor.ProgramError, match="killed by SIGKILL"):
        candor.evaluate(scores, labels=np.resize(Y, len(scores)))


@unix
@pytest.mark.usefixtures("files")
def test_closed_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANDOR_BINARY", slow_program(tmp_path, "echo 'candor: enough' >&2; exit 3"))
    with pytest.raises(candor.DataError, match="enough"):
        candor.evaluate(LARGE, labels=np.resize(Y, len(LARGE)))


def test_closed_pipe_of_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which has another name for it."""

    def refuse(_fd: int, _data: memoryview) -> int:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(_pipe, "os", types.SimpleNamespace(write=refuse, strerror=os.strerror))
    with pytest.raises(OSError, match="Invalid argument"):
        _pipe.write(-1, memoryview(b"a"))
    monkeypatch.setattr(_pipe, "sys", types.SimpleNamespace(platform="win32"))
    with pytest.raises(BrokenPipeError):
        _pipe.write(-1, memoryview(b"a"))


@unix
@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("code", [1, 3, 70])
def test_a_command_that_says_nothing(code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one that was killed on Windows."""
    monkeypatch.setenv("CANDOR_BINARY", slow_program(tmp_path, f"exit {code}"))
    with pytest.raises(candor.ProgramError, match=f"code {code}"):
        candor.evaluate(P, labels=Y)


@unix
@pytest.mark.usefixtures("files")
def test_other_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANDOR_BINARY", str(tmp_path / "none"))
    with pytest.raises(candor.ProgramError, match="CANDOR_BINARY"):
        candor.evaluate(P, labels=Y)
    other = tmp_path / "other"
    other.write_text("#!/bin/sh\necho candour 9.9\n")
    other.chmod(0o755)
    monkeypatch.setenv("CANDOR_BINARY", str(other))
    with pytest.raises(candor.ProgramError, match="candour 9.9"):
        candor.evaluate(P, labels=Y)


def test_other_arrays() -> None:
    want = candor.evaluate(P, labels=Y, weights=np.arange(1.0, 201.0))
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    weights = np.arange(1.0, 201.0)
    for frame, labels, w in (
        (pandas.DataFrame(P), pandas.Series(Y), pandas.Series(weights)),
        (polars.DataFrame(P), polars.Series(Y), polars.Series(weights)),
        (P.tolist(), pyarrow.array(Y), pyarrow.chunked_array([weights[:100], weights[100:]])),
    ):
        assert candor.evaluate(frame, labels=labels, weights=w) == want

    class Tensor:
        """An array that is known by DLPack alone."""

        def __init__(self, a: np.ndarray) -> None:
            self.a = a

        def __dlpack__(self, **options: object) -> object:
            return self.a.__dlpack__(**options)

        def __dlpack_device__(self) -> object:
            return self.a.__dlpack_device__()

    assert candor.evaluate(Tensor(P), labels=Tensor(Y), weights=weights) == want


class Bar:
    """What tqdm returns."""

    made: list[Bar] = []

    def __init__(self, total: int, **_: object) -> None:
        self.total, self.done, self.closed = total, 0, False
        Bar.made.append(self)

    def update(self, n: int) -> None:
        assert not self.closed
        self.done += n

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        self.closed = True


@pytest.mark.usefixtures("files")
def test_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """In notebooks, of much data, or where it is asked for; without tqdm there is none."""
    labels = np.resize(Y, len(LARGE))
    monkeypatch.setattr(Bar, "made", [])
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=Bar))
    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setattr(_progress, "LONG", LARGE.nbytes)
    candor.evaluate(LARGE, labels=labels, metrics="nll")
    assert not Bar.made
    for scores in (LARGE, np.asfortranarray(LARGE)):
        candor.evaluate(scores, labels=labels, metrics="nll", progress=True)
    candor.compare({"a": LARGE, "b": LARGE}, labels=labels, metrics="nll", progress=True)
    with pytest.raises(candor.DataError):
        candor.evaluate(LARGE, labels=labels + 1, metrics="nll", progress=True)
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    candor.evaluate(LARGE, labels=labels, metrics="nll")
    assert len(Bar.made) == 5
    candor.evaluate(LARGE[1:], labels=labels[1:], metrics="nll")
    candor.evaluate(LARGE, labels=labels, metrics="nll", progress=False)
    assert len(Bar.made) == 5
    assert all(b.closed and b.total == LARGE.nbytes for b in Bar.made)
    assert [b.done for b in Bar.made[:3] + Bar.made[4:]] == [LARGE.nbytes] * 4
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    candor.evaluate(LARGE, labels=labels, metrics="nll", progress=True)


def test_groups_of_a_frame() -> None:
    pandas = pytest.importorskip("pandas")
    site = pandas.DataFrame({"site": np.where(np.arange(200) < 80, "a", "b")})
    groups = candor.evaluate(P, labels=Y, groups=site).groups
    assert [g["input"]["rows"] for g in groups] == [80, 120]
    assert groups[0].nll == candor.evaluate(P[:80], labels=Y[:80]).nll


def test_notebooks(tmp_path: Path) -> None:
    result = candor.evaluate(P, labels=Y)
    page = result.to_html(tmp_path / "page.html")
    assert page == (tmp_path / "page.html").read_text()
    assert "<script>" not in page
    assert result._repr_html_().startswith("<iframe sandbox srcdoc=")
    assert result.plot("reliability")._repr_svg_().startswith("<svg")
    result.plot("reliability", tmp_path / "r.png")
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG")
    frame = result.to_frame()
    assert frame.loc["nll", "value"] == result.nll
    assert result.verdict in repr(result)


NOT_PROBABILITIES = {
    **dict.fromkeys(
        [
            "check_dtype_object",
            "check_estimators_dtypes",
            "check_estimators_fit_returns_self",
            "check_estimators_nan_inf",
            "check_estimators_overwrite_params",
            "check_estimators_pickle",
            "check_n_features_in_after_fitting",
            "check_pipeline_consistency",
            "check_readonly_memmap_input",
            "check_sample_weight_equivalence_on_dense_data",
            "check_transformer_data_not_an_array",
            "check_transformer_general",
            "check_transformer_preserve_dtypes",
        ],
        "its X has other columns than the classes of y",
    ),
    **dict.fromkeys(
        [
            "check_dict_unchanged",
            "check_dont_overwrite_parameters",
            "check_f_contiguous_array_estimator",
            "check_fit2d_1feature",
            "check_fit2d_predict1d",
            "check_fit_check_is_fitted",
            "check_fit_idempotent",
            "check_fit_score_takes_y",
            "check_methods_sample_order_invariance",
            "check_methods_subset_invariance",
            "check_n_features_in",
            "check_positive_only_tag_during_fit",
            "check_sample_weights_list",
            "check_sample_weights_not_an_array",
            "check_sample_weights_not_overwritten",
            "check_sample_weights_pandas_series",
            "check_sample_weights_shape",
        ],
        "its X holds numbers that are no probabilities",
    ),
}
"""Checks of scikit-learn that a map over probabilities fails, because they hand it something else."""


def test_scikit_learn_checks() -> None:
    pytest.importorskip("sklearn")
    from sklearn.linear_model import LogisticRegression
    from sklearn.utils.estimator_checks import check_estimator

    check_estimator(candor.CalibratedClassifier(LogisticRegression()), on_skip=None)
    checks = check_estimator(candor.Recalibrator("platt(smoothed)"), expected_failed_checks=NOT_PROBABILITIES, on_skip=None)
    passed = {c["check_name"] for c in checks if c["status"] == "passed"}
    failed = {c["check_name"] for c in checks if c["status"] == "xfail"}
    assert failed == NOT_PROBABILITIES.keys()
    assert len(passed) > 15


@pytest.fixture
def large() -> tuple[np.ndarray, np.ndarray]:
    r = np.random.default_rng(5)
    p = r.random((60_000, 20), dtype="f4")
    return p / p.sum(axis=1, keepdims=True), r.integers(0, 20, 60_000)


def names(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that gets the names under which arrays are read in memory."""
    given: list[str] = []
    name = _memory.Memory.name

    def noted(self: _memory.Memory, data: object) -> str:
        given.append(name(self, data))  # type: ignore[arg-type]
        return given[-1]

    monkeypatch.setattr(_memory.Memory, "name", noted)
    return given


@pytest.mark.skipif(sys.platform != "linux" or _memory._scope() > 1, reason="this system does not let the command read memory")
def test_memory(large: tuple[np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch) -> None:
    p, y = large
    given = names(monkeypatch)
    w = np.linspace(1, 2, 600_000)
    direct = candor.evaluate(p, labels=y)
    twice = candor.compare({"a": p, "b": p}, labels=y)
    binary = candor.evaluate(w - 1, labels=np.arange(600_000) % 2, weights=w)
    forecasts = candor.evaluate_forecast(mean=w, std=w, observed=w + 1)
    assert sum(map(bool, given)) == 8 and not _memory.Memory._refused
    monkeypatch.setattr(_memory, "LEAST", 1 << 60)
    assert dict(candor.evaluate(p, labels=y)) == dict(direct)
    assert dict(candor.compare({"a": p, "b": p}, labels=y)) == dict(twice)
    assert dict(candor.evaluate(w - 1, labels=np.arange(600_000) % 2, weights=w)) == dict(binary)
    assert dict(candor.evaluate_forecast(mean=w, std=w, observed=w + 1)) == dict(forecasts)


def test_memory_refused(large: tuple[np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system does not allow it, the array goes through a pipe, and so do all later ones."""
    p, y = large
    given = names(monkeypatch)
    monkeypatch.setattr(_memory.Memory, "_refused", False)
    monkeypatch.setattr(_memory, "_scope", lambda: 0)
    monkeypatch.setattr(os, "getpid", lambda: 1)  # another process than the one that starts the command
    want = candor.evaluate(p, labels=y)
    assert _memory.Memory._refused and any(given)
    given.clear()
    assert dict(candor.evaluate(p, labels=y)) == dict(want) and not any(given)


def test_memory_named(large: tuple[np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system wants to know the reader, one run of several at a time is read in memory, and the others through pipes."""
    p, y = large
    given = names(monkeypatch)
    monkeypatch.setattr(_memory.Memory, "_refused", False)
    monkeypatch.setattr(_memory, "_scope", lambda: 1)
    want = dict(candor.evaluate(p, labels=y))
    assert given[0]
    got: list[object] = []
    threads = [threading.Thread(target=lambda: got.append(dict(candor.evaluate(p, labels=y)))) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert got == [want] * 4
    assert not _memory.Memory._named.locked()
    with pytest.raises(candor.CandorError):
        candor.evaluate(p - 1, labels=y)
    assert not _memory.Memory._named.locked()
