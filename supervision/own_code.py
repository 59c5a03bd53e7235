"""Command lines that run code of this project in another Python. The working directory is not on its path, as with `-m`
or `-c` alone: anybody may have put modules there, and the agent is root."""

from __future__ import annotations

import os
import sys
from typing import Final

_HOME: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
"""The directory of this project's packages."""


def own_code(code: str) -> list[str]:
    """The words of a command that runs `code`, in which `sys` is imported; what is appended to them is in sys.argv[1:].
    The packages are those of this process."""
    return [sys.executable, "-P", "-c", f"import sys; {_HOME!r} in sys.path or sys.path.insert(0, {_HOME!r}); {code}"]
