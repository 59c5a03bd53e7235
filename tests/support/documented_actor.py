"""The code of docs/write-an-actor.md, written where it can be imported."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs/write-an-actor.md"


def write(directory: Path) -> None:
    """greeter.py and test_greeter.py."""
    actor, test = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.S)
    (directory / "greeter.py").write_text(actor, encoding="utf-8")
    (directory / "test_greeter.py").write_text(test, encoding="utf-8")
