"""Arrays of any library as NumPy arrays, without a copy where that is possible, and what is checked of them here."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

from .errors import DataError

Array = npt.NDArray[Any]
Names = Sequence[Any]

BLOCK = 4 << 20
"""Bytes that are converted at a time."""


def wrong(name: str, what: str, **place: Any) -> DataError:
    """Return an error about an argument."""
    return DataError(f"{name}: {what}", {"file": name, **place})


def as_array(name: str, value: Any) -> Array:
    """Return what is called `name` as a NumPy array.

    Tensors on a GPU are copied to memory. bfloat16, which NumPy lacks, becomes uint16 of the same bits.

    Raises:
        DataError: it is a masked array, a name of a file, or nothing that is an array.
    """
    if isinstance(value, np.ma.MaskedArray):
        raise wrong(name, "it is a masked array; leave the masked rows out, as in a[~a.mask]")
    if isinstance(value, (str, bytes)):
        raise wrong(name, f"it is {type(value).__name__}, not an array; evaluate_files reads files")
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        if value.dtype == torch.bfloat16:
            return np.asarray(value.view(torch.int16).numpy()).view(np.uint16)
        return np.asarray(value.numpy())
    if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
        try:
            return np.asarray(np.from_dlpack(value))
        except (BufferError, RuntimeError, TypeError) as e:
            raise wrong(name, f"{e}; copy it to memory first") from e
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as e:
        raise wrong(name, str(e)) from e
    if array.dtype.name == "bfloat16":
        return array.view(np.uint16)
    return array


def is_bfloat16(value: Any) -> bool:
    """Report whether a tensor or an array is of bfloat16."""
    return str(getattr(value, "dtype", "")) in ("bfloat16", "torch.bfloat16")


def scores(name: str, value: Any) -> Array:
    """Return scores, shape (N,), (N, K) or, for ensembles, (M, N, K), as floating-point numbers."""
    a = as_array(name, value)
    if a.dtype.kind == "O":
        raise wrong(name, "it holds objects, not numbers; convert it, as in numpy.asarray(a, dtype=float)")
    if a.dtype.kind not in "f" and not is_bfloat16(value):
        raise wrong(name, f"it holds {a.dtype}, and scores are floating-point numbers; are these the labels?")
    if a.dtype.kind == "f" and a.dtype.itemsize > 8:
        raise wrong(name, f"it holds {a.dtype}; convert it to float64, as in a.astype(float)")
    if not 1 <= a.ndim <= 3:
        raise wrong(name, f"its shape is {a.shape}; scores are (N,), (N, K), or (M, N, K) for an ensemble")
    return a


def labels(name: str, value: Any, classes: Optional[Names]) -> Array:
    """Return labels, shape (N,) or (N, K), as numbers of classes.

    With `classes`, labels that are text, or numbers where classes are, are looked up among them. Whole numbers beside the names of classes are
    numbers of classes already.
    """
    a = as_array(name, value)
    if a.dtype.kind in "SUOT":
        a = texts(name, a)
        if classes is None:
            raise wrong(name, "it holds text; pass the classes in the order of the scores, such as classes=clf.classes_")
        return _numbered(name, a, [str(c) for c in classes])
    if a.dtype.kind not in "biuf":
        raise wrong(name, f"it holds {a.dtype}; labels are numbers of classes, or text with classes=")
    if classes is not None and len(classes) and not any(isinstance(c, str) for c in classes):
        return _numbered(name, a, list(classes))
    return a.view(np.uint8) if a.dtype.kind == "b" else a


def _numbered(name: str, a: Array, classes: list[Any]) -> Array:
    order = np.argsort(np.asarray(classes), kind="stable")
    sorted_ = np.asarray(classes)[order]
    if len(np.unique(sorted_)) < len(sorted_):
        raise wrong("classes", f"one is named twice: {classes}")
    at = np.minimum(np.searchsorted(sorted_, a), len(classes) - 1)
    bad = np.flatnonzero(np.ravel(sorted_[at] != a))
    if bad.size:
        row = int(bad[0])
        value = np.ravel(a)[row].item()
        raise wrong(name, f"row {row}: {value!r} is none of the classes {_listed(classes)}", row=row, value=value)
    return order[at]


def _listed(classes: list[Any]) -> str:
    return ", ".join(map(repr, classes[:6])) + (f" and {len(classes) - 6} more" if len(classes) > 6 else "")


def texts(name: str, a: Array) -> Array:
    """Return an array of text, or of objects that are all text, as one of str."""
    if a.dtype.kind == "S":
        return np.char.decode(a, "utf-8")
    if a.dtype.kind == "O":
        for row, value in enumerate(a.flat):
            if not isinstance(value, str):
                raise wrong(name, f"row {row}: {value!r} is neither a number nor text; leave rows out where a value is missing", row=row)
    return a.astype(str)


def column(name: str, value: Any) -> Array:
    """Return a value for each row, shape (N,): numbers or text."""
    a = as_array(name, value)
    if a.ndim != 1:
        raise wrong(name, f"its shape is {a.shape}; it has one value a row, (N,)")
    if a.dtype.kind in "SOT":
        a = texts(name, a)
    if a.dtype.kind not in "biufU":
        raise wrong(name, f"it holds {a.dtype}; pass numbers or text")
    return a.view(np.uint8) if a.dtype.kind == "b" else a


def numbers(name: str, value: Any) -> Array:
    """Return a number for each row, shape (N,)."""
    a = column(name, value)
    if a.dtype.kind == "U":
        raise wrong(name, "it holds text; pass numbers")
    return a


def named_columns(name: str, value: Any) -> dict[str, Any]:
    """Return columns by name: of a mapping, of a data frame, or the one array under its own name."""
    if isinstance(value, Mapping):
        return {str(k): v for k, v in value.items()}
    if hasattr(value, "columns"):
        return {str(k): value[k] for k in value.columns}
    return {name: value}


def same_length(first: str, rows: int, **others: Optional[Array]) -> None:
    """Check that arrays have as many rows as the first."""
    for name, a in others.items():
        if a is not None and len(a) != rows:
            raise wrong(name, f"it has {len(a):,} rows, and {first} {rows:,}; do they belong together?")


def blocks(a: Array) -> Iterator[Array]:
    """Yield an array in C order: itself, or copies of up to `BLOCK` bytes, a row of the first axis at least."""
    if a.flags.c_contiguous:
        yield a
    elif a.ndim > 1 and a[:1].nbytes > BLOCK:
        for row in a:
            yield from blocks(row)
    else:
        step = max(1, BLOCK // max(1, a[:1].nbytes))
        for i in range(0, len(a), step):
            yield np.ascontiguousarray(a[i : i + step])


def npy_header(a: Array) -> bytes:
    """Return the header of an .npy file of the array in C order."""
    shape = "".join(f"{n}, " for n in a.shape)
    text = f"{{'descr': {a.dtype.str!r}, 'fortran_order': False, 'shape': ({shape}), }}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text
