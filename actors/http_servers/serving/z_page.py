"""The formats of /flagz and /statusz: text, and JSON when the Accept header asks for its kind (KEP-4828, KEP-4827)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from .http_error import HttpError

GROUP: Final = "config.k8s.io"
VERSIONS: Final = ("v1beta1", "v1alpha1")
COMPONENT: Final = "kubelet"
WARNING: Final = (
    "Warning: This endpoint is not meant to be machine parseable, "
    "has no formatting compatibility guarantees and is for debugging purposes only.\n"
)
_TEXT: Final = frozenset({"text/plain", "text/*", "*/*"})


def text_page(title: str, lines: Iterable[str]) -> str:
    return f"\n{title}\n{WARNING}\n" + "\n".join(lines) + "\n"


def json_page(kind: str, version: str, fields: Mapping[str, Any]) -> bytes:
    """`version`: as `negotiated` found it."""
    head = {"kind": kind, "apiVersion": f"{GROUP}/{version}", "metadata": {"name": COMPONENT}}
    return msgspec.json.encode({**head, **fields})


def negotiated(accept: str, kind: str) -> str:
    """The version of the JSON form that an Accept header asks for; '' for text. Raises HttpError (406).

    JSON is asked for as `application/json;as=Flagz;v=v1beta1;g=config.k8s.io`, in any order.
    """
    if not accept.strip():
        return ""
    for choice in accept.split(","):
        media, *pairs = (part.strip() for part in choice.split(";"))
        if media in _TEXT:
            return ""
        parameters = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
        wanted = (parameters.get("g"), parameters.get("as"))
        if media == "application/json" and wanted == (GROUP, kind) and parameters.get("v") in VERSIONS:
            return parameters["v"]
    supported = ", ".join(["text/plain", *(f"application/json;g={GROUP};v={one};as={kind}" for one in VERSIONS)])
    raise HttpError(406, f"only the following media types are accepted: {supported}")
