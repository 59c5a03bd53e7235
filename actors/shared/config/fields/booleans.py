"""Words for true and false in texts, as in Go's strconv.ParseBool."""

from __future__ import annotations

from typing import Final

TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
FALSE: Final = frozenset({"0", "f", "F", "FALSE", "false", "False"})
