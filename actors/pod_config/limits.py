"""How large a manifest may be."""

from __future__ import annotations

from typing import Final

from supervision.documents.model import Limits

MAX_BYTES: Final = 10 << 20
DOCUMENT: Final = Limits(size=MAX_BYTES, depth=64, nodes=2_000_000, lines=False)
"""A pod needs about 12 levels."""
