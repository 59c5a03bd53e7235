"""Writes lines as one array, each line as it comes, so that a long log is never in memory as a whole."""

from __future__ import annotations

import json
from typing import TextIO

from .document import JSON, document_text


class LineArray:
    """Writes the same text as `document_text` of the list of all lines. Writes nothing before the first line or the
    end."""

    def __init__(self, out: TextIO, form: str = JSON) -> None:
        self._out, self._is_json, self._empty, self._rest = out, form == JSON, True, bytearray()

    def add(self, line: str) -> None:
        if self._is_json:
            self._out.write(f"{'[' if self._empty else ','}\n  {json.dumps(line, ensure_ascii=False)}")
        else:
            self._out.write(f"{document_text([line], 'yaml')}\n")
        self._empty = False

    def add_bytes(self, block: bytes) -> None:
        """Part of a log, which may start and end within a line."""
        self._rest += block
        if b"\n" not in block:
            return
        *whole, rest = self._rest.split(b"\n")
        self._rest = bytearray(rest)
        for line in whole:
            self.add(line.decode(errors="replace"))

    def end_line(self) -> None:
        """A log has ended; its last line may lack its end."""
        if self._rest:
            self.add(self._rest.decode(errors="replace"))
            self._rest.clear()

    def end(self) -> None:
        """End of the log; the last line may be incomplete."""
        self.end_line()
        if self._empty:
            self._out.write("[]\n")
        elif self._is_json:
            self._out.write("\n]\n")
