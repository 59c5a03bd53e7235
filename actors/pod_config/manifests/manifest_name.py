"""The name that a manifest gives to its pod, also where the manifest is refused. Pure."""

from __future__ import annotations

from supervision.documents.model import DocumentError
from supervision.documents.reader import read

from ..validation.limits import DOCUMENT


def name_in(data: bytes) -> str:
    """`metadata.name`; '' if the document cannot be read, or has none."""
    try:
        document, _ = read(data, DOCUMENT)
    except DocumentError:
        return ""
    metadata = document.get("metadata") if isinstance(document, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else ""
