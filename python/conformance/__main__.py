"""Compares candor with other programs, by their own calls, and writes docs/conformance.md.

    python python/conformance FOLDER            installs candor and all peers in FOLDER, where they stay for the next time, and writes the page;
                                                needs Go, Python 3.11, and Debian's PyTorch in /usr/bin/python3
    python python/conformance --check NAME...   compares with the page what these peers, which are installed here, and candor compute
    python python/conformance --print NAME      prints what the page has of a peer that is installed here

A figure that is worse than on the page fails the check, and so does a peer of another version.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "conformance.md"

HEAD = """\
# Conformance

Candor's values compared with those of other programs. Each row is computed twice on the same data: by the program's own call and by candor's
[Python package](python.md). `python python/conformance FOLDER` installs all programs and writes this page; CI repeats a part of it.

*Absolute* and *relative* bound the largest observed difference: twice that difference, rounded up to a power of ten. Values near 1e-15 are float64
rounding. Where programs differ, the row shows both values on the first data set and the reason.
[Where programs differ](where-programs-differ.md) and [where scores differ](where-scores-differ.md) give the definitions.

Data:

{legend}

"""


def main(words: list[str]) -> int:
    if len(words) == 1 and not words[0].startswith("-"):
        write(Path(words[0]).resolve())
        return 0
    if words[0] == "--print" and len(words) == 2:
        print(json.dumps(section(words[1])))
        return 0
    if words[0] == "--check" and len(words) > 1:
        faults = [f for name in words[1:] for f in check(name)]
        print("\n".join(faults or [f"{', '.join(words[1:])}: as on the page"]))
        return bool(faults)
    print(__doc__, file=sys.stderr)
    return 2


def section(name: str) -> dict[str, Any]:
    """Return what the page has of a peer, by running it here."""
    from peers import PEERS
    from rows import Rows

    rows = Rows()
    warnings.simplefilter("ignore")
    PEERS[name][1](rows)
    return {"name": name, "version": version(name), "rows": rows.document()}


def bound(x: float) -> float:
    """Return a power of ten that is at least twice a difference, so that another CPU's rounding stays below it."""
    return 10.0 ** math.ceil(math.log10(max(2 * x, 1e-15)))


def tables(found: dict[str, Any]) -> str:
    """Return the section of the page."""
    equal = [r for r in found["rows"] if r["theirs"] is None]
    differ = [r for r in found["rows"] if r["theirs"] is not None]
    lines = [f"## {found['name']} {found['version']}", ""]
    if equal:
        lines += ["| its call | candor | absolute | relative | on | |", "| --- | --- | --- | --- | --- | --- |"]
        lines += [f"| `{r['call']}` | `{r['metric']}` | {bound(r['absolute']):.0e} | {bound(r['relative']):.0e} | {r['sets']} | {r['note']} |" for r in equal]
        lines.append("")
    if differ:
        lines += ["| differs | candor | its figure | candor's | on | because |", "| --- | --- | --- | --- | --- | --- |"]
        lines += [f"| `{r['call']}` | `{r['metric']}` | {r['theirs']:.5g} | {r['ours']:.5g} | {r['sets']} | {r['note']} |" for r in differ]
        lines.append("")
    return "\n".join(lines)


def check(name: str) -> list[str]:
    """Return what is worse than on the page, or otherwise not as there."""
    page = PAGE.read_text(encoding="utf-8")
    now = tables(section(name)).splitlines()
    if now[0] not in page:
        return [f"{now[0]}: the page has another version; install those of {HERE}/requirements*.txt, or write the page anew"]
    then = page[page.index(now[0]) :].split("\n\n## ")[0].rstrip().splitlines()
    if len(now) != len(then):
        return [f"{name}: the page has other comparisons; write it anew"]
    return [f"{name}: now    {a}\nbut the page has {b}" for a, b in zip(now, then) if worse(a.split(" | "), b.split(" | "))]


def worse(now: list[str], then: list[str]) -> bool:
    """Tell whether a line is not what the page has. Smaller differences are as good."""
    if len(now) != len(then):
        return True
    return any(a != b and not (i in (2, 3) and "e-" in a and "e-" in b and float(a) < float(b)) for i, (a, b) in enumerate(zip(now, then)))


def write(folder: Path) -> None:
    """Install everything that is not there yet, run every peer in a process of its own, and write the page."""
    os.environ["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as wheels:
        _run(sys.executable, HERE.parent / "wheels.py", "--here", wheels)
        (wheel,) = Path(wheels).glob("*.whl")
        pythons = {}
        for file, site, pip in (("requirements.txt", [], []), ("requirements-torch.txt", ["--system-site-packages"], ["--no-deps"])):
            pythons[file] = folder / file / "bin" / "python"
            install = [pythons[file], "-m", "pip", "install", "-q", "--disable-pip-version-check"]
            if not pythons[file].exists():
                _run("/usr/bin/python3", "-m", "venv", *site, folder / file)
            _run(*install, *pip, "-r", HERE / file)
            _run(*install, "--no-deps", "--force-reinstall", wheel)
    # What the peers are is read where they are.
    listing = _run(pythons["requirements.txt"], "-c", "import json, peers, data; print(json.dumps([data.LEGEND, {k: v[0] for k, v in peers.PEERS.items()}]))")
    legend, peers = json.loads(listing)
    parts = [HEAD.format(legend=legend)]
    for name, file in peers.items():
        print(name, file=sys.stderr)
        parts.append(tables(json.loads(_run(pythons[file], "-W", "ignore", HERE, "--print", name).splitlines()[-1])) + "\n")
    PAGE.write_text("".join(parts).rstrip() + "\n", encoding="utf-8")


def _run(*words: Any) -> str:
    return subprocess.run([str(w) for w in words], cwd=HERE, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
