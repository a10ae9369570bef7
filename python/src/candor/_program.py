"""Where the command is."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from functools import lru_cache

from ._build import PROGRAM
from .errors import ProgramError

VARIABLE = "CANDOR_BINARY"


def program() -> str:
    """Return the path of the command: what CANDOR_BINARY says, or what was installed with this package, or what is on PATH.

    Raises:
        ProgramError: there is none, or none that belongs to this version of the package.
    """
    return _checked(os.environ.get(VARIABLE, ""))


@lru_cache(maxsize=None)
def _checked(named: str) -> str:
    others = []
    for path in [named] if named else _places():
        if not os.path.isfile(path):
            continue
        says = _says(path)
        if says.startswith(f"{PROGRAM} " if PROGRAM else "candor "):
            return path
        others.append(f"{path} says {says!r}")
    where = f"{VARIABLE}={named}" if named else "the folder of scripts, PATH"
    if others:
        raise ProgramError(f"{'; '.join(others)}; this package needs {PROGRAM!r}: install it again, or unset {VARIABLE}")
    raise ProgramError(f"the command candor is not there ({where}); install candor-metrics again, or set {VARIABLE} to its path")


def _says(path: str) -> str:
    try:
        out = subprocess.run([path, "version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as e:
        return str(e)
    return out.stdout.decode(errors="replace").strip()


def _places() -> Iterator[str]:
    name = "candor.exe" if sys.platform == "win32" else "candor"
    yield os.path.join(sysconfig.get_path("scripts"), name)
    yield os.path.join(sysconfig.get_path("scripts", _user_scheme()), name)
    # pip install --target
    yield os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bin", name)
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        yield os.path.join(folder, name)


def _user_scheme() -> str:
    if sys.version_info >= (3, 10):
        return sysconfig.get_preferred_scheme("user")
    if sys.platform == "darwin" and sysconfig.get_config_var("PYTHONFRAMEWORK"):
        return "osx_framework_user"
    return f"{os.name}_user"
