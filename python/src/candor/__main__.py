"""`python -m candor` is the command `candor`."""

from __future__ import annotations

import os
import subprocess
import sys

from ._program import program
from .errors import ProgramError


def main() -> int:
    """Run the command with the arguments of this process; return its exit code."""
    try:
        path = program()
    except ProgramError as e:
        print(f"candor: {e}", file=sys.stderr)
        return 70
    if os.name == "posix":
        os.execv(path, ["candor", *sys.argv[1:]])
    return subprocess.run([path, *sys.argv[1:]]).returncode


if __name__ == "__main__":
    sys.exit(main())
