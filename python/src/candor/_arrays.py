"""Arrays of any library as NumPy arrays, without a copy where that is possible, and what is checked of them here."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from numbers import Number
from typing import Any, Optional, Union

import numpy as np
import numpy.typing as npt

from .errors import DataError

Array = npt.NDArray[Any]
Names = Sequence[Any]

BLOCK = 4 << 20
"""Bytes that are converted at a time."""


class Rows:
    """Rows that are made block by block, where an array of all of them would be a copy.

    Args:
        shape: as of an array; the first axis is that of rows.
        dtype: what they are made of.
        make: returns the rows from one number up to another, as an array of that type.
    """

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], make: Callable[[int, int], Array]) -> None:
        self.shape, self.ndim, self.dtype, self.make = shape, len(shape), dtype, make
        self.row = dtype.itemsize * int(np.prod(shape[1:], dtype=np.int64))
        self.nbytes = self.row * shape[0]

    def __len__(self) -> int:
        return self.shape[0]


Data = Union[Array, Rows]


def wrong(name: str, what: str, **place: Any) -> DataError:
    """Return an error about an argument, or about a column of one, as in groups['site']."""
    return DataError(f"{name}: {what}", {"file": name.split("[")[0] if name.endswith("']") else name, **place})


def column_of(argument: str, key: object) -> str:
    """Return what messages call one of the arrays of an argument."""
    return f"{argument}['{key}']"


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
        return _of_torch(name, value)
    if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
        return _of_dlpack(name, value)
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as e:
        if hasattr(value, "__dlpack__"):  # CuPy's arrays are copied only by those who ask for it
            return _of_dlpack(name, value)
        raise wrong(name, str(e)) from e
    if array.ndim == 0 and array.dtype.kind == "O":
        raise wrong(name, f"it is {type(value).__name__}, not an array" + ("; make a list of it" if isinstance(value, Iterable) else ""))
    if array.dtype.name == "bfloat16":
        return array.view(np.uint16)
    return array


def _of_torch(name: str, value: Any) -> Array:
    torch = sys.modules["torch"]
    try:
        value = value.detach().cpu()
        if value.dtype == torch.bfloat16:
            return np.asarray(value.view(torch.int16).numpy()).view(np.uint16)
        return np.asarray(value.numpy())
    except (NotImplementedError, RuntimeError, TypeError) as e:  # sparse, quantised, without data
        raise wrong(name, f"{e}; make it a dense tensor with data first") from e


def _of_dlpack(name: str, value: Any) -> Array:
    try:
        return np.asarray(np.from_dlpack(value))
    except (BufferError, RuntimeError, TypeError, ValueError) as e:
        try:
            return np.asarray(np.from_dlpack(value, device="cpu"))  # a copy; NumPy 2.1 asks for it
        except Exception:
            raise wrong(name, f"{e}; copy it to the host's memory first") from e


def is_bfloat16(value: Any) -> bool:
    """Report whether a tensor or an array is of bfloat16."""
    return str(getattr(value, "dtype", "")) in ("bfloat16", "torch.bfloat16")


def scores(name: str, value: Any) -> Data:
    """Return scores, shape (N,), (N, K) or, for ensembles, (M, N, K), as floating-point numbers."""
    rows = _on_device(name, value)
    a: Data = as_array(name, value) if rows is None else rows
    if a.dtype.kind == "O":
        raise wrong(name, "it holds objects, not numbers; convert it, as in numpy.asarray(a, dtype=float)")
    if a.dtype.kind not in "f" and not is_bfloat16(value):
        raise wrong(name, f"it holds {a.dtype}, and scores are floating-point numbers" + ("; are these the labels?" if a.dtype.kind in "iub" else ""))
    if a.dtype.kind == "f" and a.dtype.itemsize > 8:
        raise wrong(name, f"it holds {a.dtype}; convert it to float64, as in a.astype(float)")
    if not 1 <= a.ndim <= 3:
        raise wrong(name, f"its shape is {a.shape}; scores are (N,), (N, K), or (M, N, K) for an ensemble")
    return a


def _on_device(name: str, value: Any) -> Optional[Rows]:
    """Return a tensor of PyTorch on a GPU as rows that are copied block by block; None for anything else."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.Tensor) or value.device.type in ("cpu", "meta") or value.layout != torch.strided or value.ndim < 1:
        return None
    return Rows(tuple(value.shape), _of_torch(name, value[:0]).dtype, lambda i, j: _of_torch(name, value[i:j]))


def labels(name: str, value: Any, classes: Optional[Names]) -> Data:
    """Return labels, shape (N,) or (N, K), as numbers of classes.

    With `classes`, labels that are text, or numbers where classes are, are looked up among them. Whole numbers beside the names of classes are
    numbers of classes already.
    """
    a = as_array(name, value)
    if a.ndim == 0:
        raise wrong(name, "it is one value; labels are (N,), one for each row")
    if a.dtype.kind in "SUOT":
        if classes is None:
            texts(name, a)
            raise wrong(name, "it holds text; pass the classes in the order of the scores, such as classes=clf.classes_")
        return _numbered(name, a, [str(c) for c in classes])
    if a.dtype.kind not in "biuf":
        raise wrong(name, f"it holds {a.dtype}; labels are numbers of classes, or text with classes=")
    if classes is not None and len(classes) and not any(isinstance(c, str) for c in classes):
        known = list(classes)
        if a.dtype.kind not in "iu" or known != list(range(len(known))):
            return _numbered(name, a, known)
    return a.view(np.uint8) if a.dtype.kind == "b" else a


def _numbered(name: str, a: Array, classes: list[Any]) -> Rows:
    order = np.argsort(np.asarray(classes), kind="stable").astype(np.min_scalar_type(len(classes)))
    known = np.asarray(classes)[order]
    if len(np.unique(known)) < len(known):
        raise wrong("classes", f"one is named twice: {classes}")

    def make(i: int, j: int) -> Array:
        block = a[i:j]
        if block.dtype.kind in "SUOT":
            block = texts(name, block, i)
        at = np.minimum(np.searchsorted(known, block), len(classes) - 1)
        bad = np.argwhere(known[at] != block)
        if len(bad):
            value, row = block[tuple(bad[0])].item(), i + int(bad[0][0])
            raise wrong(name, f"row {row}: {value!r} is none of the classes {_listed(classes)}", row=row, value=value)
        return order[at]

    return Rows(a.shape, order.dtype, make)


def _listed(classes: list[Any]) -> str:
    return ", ".join(map(repr, classes[:6])) + (f" and {len(classes) - 6} more" if len(classes) > 6 else "")


def texts(name: str, a: Array, first: int = 0) -> Array:
    """Return an array of text, or of objects that are all text, as one of str. Its first row is that of this number."""
    if a.dtype.kind == "S":
        return np.char.decode(a, "utf-8")
    if a.dtype.kind == "O":
        for row, value in enumerate(a.flat):
            if not isinstance(value, str):
                row = first + row // max(1, a[:1].size)
                if isinstance(value, Number) and value == value:
                    raise wrong(name, f"row {row}: {value!r} is a number among objects; convert them all, as in numpy.asarray(a, dtype=int)", row=row)
                raise wrong(name, f"row {row}: {value!r} is neither a number nor text; leave rows out where a value is missing", row=row)
    return a.astype(str)


def column(name: str, value: Any) -> Data:
    """Return a value for each row, shape (N,): numbers or text."""
    a = as_array(name, value)
    if a.ndim != 1:
        raise wrong(name, f"its shape is {a.shape}; it has one value a row, (N,)")
    if a.dtype.kind in "SOT":
        # What a row takes is that of the longest text.
        step = max(1, BLOCK // 64)
        types = [texts(name, a[i : i + step], i).dtype for i in range(0, len(a), step)]
        longest = max(types, key=lambda t: t.itemsize, default=np.dtype("U1"))
        return Rows(a.shape, longest, lambda i, j: texts(name, a[i:j], i).astype(longest))
    if a.dtype.kind not in "biufU":
        raise wrong(name, f"it holds {a.dtype}; pass numbers or text")
    return a.view(np.uint8) if a.dtype.kind == "b" else a


def numbers(name: str, value: Any) -> Data:
    """Return a number for each row, shape (N,)."""
    a = column(name, value)
    if a.dtype.kind == "U":
        raise wrong(name, "it holds text; pass numbers")
    return a


def named_columns(argument: str, name: str, value: Any) -> dict[str, tuple[str, Any]]:
    """Return columns by name, each with what messages call it: of a mapping, of a data frame, or the one array under a name of its own."""
    if isinstance(value, Mapping):
        return {str(k): (column_of(argument, k), v) for k, v in value.items()}
    if hasattr(value, "columns"):
        return {str(k): (column_of(argument, k), value[k]) for k in value.columns}
    return {name: (argument, value)}


def same_length(first: str, rows: int, **others: Optional[Data]) -> None:
    """Check that arrays have as many rows as the first."""
    for name, a in others.items():
        if a is not None and len(a) != rows:
            raise wrong(name, f"it has {len(a):,} rows, and {first} {rows:,}; do they belong together?")


def narrow(a: Data) -> Data:
    """Return whole numbers as rows of the smallest type that has them all; anything else, and what one byte holds, as it is."""
    if isinstance(a, Rows) or a.dtype.kind not in "iu" or a.dtype.itemsize == 1 or not a.size:
        return a
    least = np.promote_types(np.min_scalar_type(a.min()), np.min_scalar_type(a.max()))
    if least.kind not in "iu" or least.itemsize >= a.dtype.itemsize:
        return a
    return Rows(a.shape, least, lambda i, j: a[i:j].astype(least))


def blocks(a: Data) -> Iterator[Array]:
    """Yield rows in C order: an array itself, or copies of up to `BLOCK` bytes, a row of the first axis at least."""
    if isinstance(a, Rows):
        step = max(1, BLOCK // max(64, a.row))  # what they are made from may take more
        for i in range(0, len(a), step):
            yield np.ascontiguousarray(a.make(i, min(i + step, len(a))))
    elif a.flags.c_contiguous:
        yield a
    elif a.ndim > 1 and a[:1].nbytes > BLOCK:
        for row in a:
            yield from blocks(row)
    else:
        step = max(1, BLOCK // max(1, a[:1].nbytes))
        for i in range(0, len(a), step):
            yield np.ascontiguousarray(a[i : i + step])


def npy_header(a: Data) -> bytes:
    """Return the header of an .npy file of the array in C order."""
    shape = "".join(f"{n}, " for n in a.shape)
    text = f"{{'descr': {a.dtype.str!r}, 'fortran_order': False, 'shape': ({shape}), }}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text
