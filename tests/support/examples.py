"""How many examples a property is tried with: fewer where a developer waits, in `make test-quick`."""

from __future__ import annotations

import os
from typing import Final

QUICK: Final = "TROUPELET_TEST_QUICK"
"""Environment variable: anything but empty asks for few examples."""
FEWEST: Final = 10


def examples(number: int) -> int:
    """`number`, or a tenth of it, but not less than ten."""
    return max(FEWEST, number // 10) if os.environ.get(QUICK) else number
