"""Arrays of JAX go in as they are."""

from __future__ import annotations

import numpy as np
import pytest

import candor

jax = pytest.importorskip("jax")

LOGITS = 2 * jax.random.normal(jax.random.key(1), (500, 3))
LABELS = jax.numpy.argmax(LOGITS / 2 + jax.random.gumbel(jax.random.key(2), (500, 3)), axis=1)


def test_is_numpys() -> None:
    want = candor.evaluate(logits=np.asarray(LOGITS), labels=np.asarray(LABELS))
    assert candor.evaluate(logits=LOGITS, labels=LABELS) == want
    assert candor.evaluate(logits=jax.jit(lambda x: x + 0)(LOGITS), labels=LABELS) == want


def test_dlpack_alone() -> None:
    """What says nothing of itself but DLPack."""

    class Capsule:
        def __dlpack__(self, **options: object) -> object:
            return LOGITS.__dlpack__(**options)

        def __dlpack_device__(self) -> object:
            return LOGITS.__dlpack_device__()

    assert candor.evaluate(logits=Capsule(), labels=LABELS) == candor.evaluate(logits=LOGITS, labels=LABELS)


@pytest.mark.parametrize("half", ["bfloat16", "float16"])
def test_half_precision(half: str) -> None:
    x = LOGITS.astype(half)
    assert candor.evaluate(logits=x, labels=LABELS).nll == candor.evaluate(logits=x.astype("float32"), labels=LABELS).nll
