"""Words for true and false in texts: those that Go's strconv.ParseBool takes."""

from __future__ import annotations

from typing import Final

TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
FALSE: Final = frozenset({"0", "f", "F", "FALSE", "false", "False"})
