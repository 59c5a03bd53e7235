"""Answers for programs, as JSON or YAML."""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec

JSON: Final = "json"
YAML: Final = "yaml"
WIDE: Final = "wide"
"""The value of -o for text with all columns."""
FORMS: Final = (JSON, YAML)
"""The values of -o that ask for a document; the others ask for text."""


def form_of(output: str) -> str:
    """The form of the document that a value of -o asks for; '' for text."""
    return output if output in FORMS else ""


def error_text(text: str, code: int, form: str) -> str:
    """The document of a command that failed, without the last line's end. `code`: its exit code."""
    return document_text({"error": text, "code": code}, form)


def document_text(data: Any, form: str) -> str:
    """Structs and plain values in one of FORMS, indented, without the last line's end."""
    plain = msgspec.to_builtins(data)
    if form == JSON:
        return json.dumps(plain, indent=2, ensure_ascii=False)
    import yaml

    return str(yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=float("inf"))).rstrip()
