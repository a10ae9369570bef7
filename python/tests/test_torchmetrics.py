"""The drop-in for torchmetrics gives torchmetrics' values, in one process and in two."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
theirs = pytest.importorskip("torchmetrics.classification")

import candor  # noqa: E402
from candor import torchmetrics as ours  # noqa: E402

PAGE = os.environ.get("CANDOR_PYTHON_PAGE", str(Path(__file__).parents[2] / "docs" / "python.md"))

torch.manual_seed(3)
LOGITS = torch.randn(1000, 5) * 2
TARGET = (LOGITS / 2 - torch.empty(1000, 5).exponential_().log()).argmax(1)
BINARY, OUTCOME = torch.rand(1000), torch.randint(0, 2, (1000,))

MULTICLASS = [
    ("MulticlassCalibrationError", {"n_bins": 15, "norm": "l1"}),
    ("MulticlassCalibrationError", {"n_bins": 10, "norm": "l2"}),
    ("MulticlassCalibrationError", {"norm": "max"}),
    ("MulticlassCalibrationError", {"ignore_index": 2}),
    ("MulticlassAccuracy", {}),
    ("MulticlassAccuracy", {"average": "micro"}),
    ("MulticlassAccuracy", {"average": "micro", "top_k": 2}),
    ("MulticlassAUROC", {}),
    ("MulticlassAUROC", {"average": "weighted"}),
]


@pytest.mark.parametrize("name, arguments", MULTICLASS)
@pytest.mark.parametrize("form", ["logits", "probabilities", "images"])
def test_multiclass(name: str, arguments: dict[str, Any], form: str) -> None:
    x, y = LOGITS, TARGET
    if form == "probabilities":
        x = x.softmax(1)
    if form == "images":
        x, y = x.reshape(250, 2, 2, 5).movedim(3, 1), y.reshape(250, 2, 2)
    a = getattr(theirs, name)(num_classes=5, **arguments)
    b = getattr(ours, name)(num_classes=5, **arguments)
    for i in range(0, len(x), 100):
        a.update(x[i : i + 100], y[i : i + 100])
        b.update(x[i : i + 100], y[i : i + 100])
    assert b.compute().dtype == torch.float32
    torch.testing.assert_close(b.compute(), a.compute(), rtol=1e-5, atol=1e-6)
    b.reset()
    with pytest.warns(UserWarning, match="before update"):
        assert b.compute().isnan()


@pytest.mark.parametrize("name", ["BinaryCalibrationError", "BinaryAccuracy", "BinaryAUROC"])
@pytest.mark.parametrize("form", ["probabilities", "logits"])
def test_binary(name: str, form: str) -> None:
    x = BINARY if form == "probabilities" else BINARY.logit() * 2
    a, b = getattr(theirs, name)(), getattr(ours, name)()
    for metric in (a, b):
        metric.update(x[:400], OUTCOME[:400])
        metric.update(x[400:].reshape(60, 10), OUTCOME[400:].reshape(60, 10))
    torch.testing.assert_close(b.compute(), a.compute(), rtol=1e-5, atol=1e-6)


def test_forward_merge_and_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ours.CalibrationError(task="multiclass", num_classes=5)
    batch = whole(LOGITS[:300], TARGET[:300])
    torch.testing.assert_close(batch, theirs.MulticlassCalibrationError(5)(LOGITS[:300], TARGET[:300]), rtol=1e-5, atol=1e-6)
    whole.update(LOGITS[300:], TARGET[300:])
    want = whole.compute()
    monkeypatch.setattr(ours, "FOLD", 1000)
    folded, other = ours.MulticlassCalibrationError(5), ours.MulticlassCalibrationError(5)
    for i in range(0, 1000, 100):
        (folded if i < 600 else other).update(LOGITS[i : i + 100], TARGET[i : i + 100])
    folded.merge_state(pickle.loads(pickle.dumps(other)))
    assert folded.compute() == want
    with pytest.raises(ValueError, match="another kind"):
        folded.merge_state(ours.MulticlassAUROC(5))


def test_snippet() -> None:
    (code,) = re.findall(r"^```python torch\n(.*?)^```", Path(PAGE).read_text(), re.DOTALL | re.MULTILINE)
    logits = np.random.default_rng(0).normal(size=(2000, 3))
    names: dict[str, Any] = {"logits": logits, "labels": logits.argmax(1)}
    exec(code, names)
    assert abs(names["calibration"].compute().item() - names["everything"].compute().ece) < 1e-6


def test_front_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The snippet of README.md, and the command that is beside it."""
    monkeypatch.chdir(tmp_path)
    text = (Path(PAGE).parents[1] / "README.md").read_text()
    (code,) = [c for c in re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE) if "torch." in c]
    loader = [(LOGITS[:600], TARGET[:600]), (LOGITS[600:], TARGET[600:])]
    exec(code, {"np": np, "torch": torch, "loader": loader, "model": lambda x: x.bfloat16(), "labels": TARGET})
    (command,) = re.findall(r"# candor (eval .*)", code)
    out = subprocess.run([sys.executable, "-m", "candor", *command.split(), "--json"], check=True, stdout=subprocess.PIPE).stdout
    assert json.loads(out)["metrics"]["nll"]["value"] == candor.evaluate(logits=LOGITS.bfloat16().float(), labels=TARGET).nll


def test_keeps_its_own_copy() -> None:
    metric = ours.Evaluation(num_classes=5)
    x = LOGITS.softmax(1)
    metric.update(x, TARGET)
    x.zero_()
    assert metric.compute() == candor.evaluate(LOGITS.softmax(1), labels=TARGET)


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_half_precision(half: torch.dtype) -> None:
    x = LOGITS.to(half)
    assert candor.evaluate(logits=x, labels=TARGET).nll == candor.evaluate(logits=x.float(), labels=TARGET).nll
    metric = ours.Evaluation(num_classes=5)
    metric.update(x, TARGET)
    assert metric.compute().nll == pytest.approx(candor.evaluate(logits=x, labels=TARGET).nll, rel=1e-6)


def test_refuses() -> None:
    metric = ours.MulticlassCalibrationError(5)
    for x, y, says in (
        (LOGITS[:, :4], TARGET, "4 classes"),
        (LOGITS[:9], TARGET, "they are"),
        (TARGET, TARGET, "not classes"),
        (LOGITS, LOGITS, "numbers of classes"),
    ):
        with pytest.raises(ValueError, match=says):
            metric.update(x, y)
    with pytest.raises(ValueError, match="l1, l2 or max"):
        ours.BinaryCalibrationError(norm="l3")


def test_update_is_cheap() -> None:
    metric = ours.MulticlassCalibrationError(1000)
    x, y = torch.rand(32, 1000).softmax(1), torch.randint(0, 1000, (32,))
    best = min(_seconds(metric, x, y) for _ in range(200))
    assert best < 100e-6


def _seconds(metric: Any, x: Any, y: Any) -> float:
    start = time.perf_counter()
    metric.update(x, y)
    return time.perf_counter() - start


class Scored(torch.utils.data.Dataset):
    """Batches whose NLL is computed by the worker that loads them."""

    def __len__(self) -> int:
        return 8

    def __getitem__(self, i: int) -> float:
        rows = slice(100 * i, 100 * (i + 1))
        return float(candor.evaluate(logits=LOGITS[rows].numpy(), labels=TARGET[rows].numpy()).nll)


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_workers_of_a_data_loader(how: str) -> None:
    loader = torch.utils.data.DataLoader(Scored(), batch_size=2, num_workers=2, multiprocessing_context=how)
    assert torch.cat(list(loader)).tolist() == [Scored()[i] for i in range(8)]


def _rank(rank: int, address: str, queue: Any) -> None:
    torch.distributed.init_process_group("gloo", init_method=f"file://{address}", rank=rank, world_size=2)
    metric = ours.MulticlassCalibrationError(5)
    metric.update(LOGITS[rank::2], TARGET[rank::2])
    queue.put((rank, metric.compute().item()))
    torch.distributed.destroy_process_group()


def test_two_processes(tmp_path: Any) -> None:
    whole = ours.MulticlassCalibrationError(5)
    whole.update(LOGITS, TARGET)
    context = multiprocessing.get_context("spawn")  # PyTorch's own threads do not survive a fork
    queue = context.SimpleQueue()
    ranks = [context.Process(target=_rank, args=(i, str(tmp_path / "meet"), queue)) for i in range(2)]
    for p in ranks:
        p.start()
    values = dict(queue.get() for _ in ranks)
    for p in ranks:
        p.join()
    assert np.unique(list(values.values())) == [whole.compute().item()]
