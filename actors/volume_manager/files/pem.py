"""PEM blocks (RFC 7468), as Go's encoding/pem reads and writes them. Pure."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Final

_BLOCK: Final = re.compile(
    r"^-----BEGIN ([^\n]*?)-----[ \t\r]*\n(.*?)^-----END \1-----[ \t\r]*$", re.DOTALL | re.MULTILINE
)
_LINE: Final = 64


def blocks(text: str) -> Iterator[bytes]:
    """The content of each block, whatever its label. Text between blocks, and the headers of blocks, are skipped."""
    for block in _BLOCK.finditer(text):
        lines = block[2].splitlines()
        while lines and (":" in lines[0] or not lines[0].strip()):
            del lines[0]
        try:
            yield base64.b64decode("".join("".join(lines).split()), validate=True)
        except (binascii.Error, ValueError):
            continue


def certificate(der: bytes) -> bytes:
    """A block with the label CERTIFICATE."""
    text = base64.b64encode(der).decode()
    lines = [text[start : start + _LINE] for start in range(0, len(text), _LINE)]
    return "\n".join(["-----BEGIN CERTIFICATE-----", *lines, "-----END CERTIFICATE-----", ""]).encode()
