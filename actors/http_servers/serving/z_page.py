"""The formats of /flagz and /statusz: text, and JSON or YAML when the Accept header asks for its kind (KEP-4828,
KEP-4827)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from .http_error import HttpError

GROUP: Final = "config.k8s.io"
VERSIONS: Final = ("v1beta1", "v1alpha1")
DEPRECATED: Final = frozenset({"v1alpha1"})
STRUCTURED: Final = ("application/json", "application/yaml")
COMPONENT: Final = "kubelet"
WARNING: Final = (
    "Warning: This endpoint is not meant to be machine parseable, "
    "has no formatting compatibility guarantees and is for debugging purposes only.\n"
)
_TEXT: Final = frozenset({"text/plain", "text/*", "*/*"})


def text_page(title: str, lines: Iterable[str]) -> str:
    return f"\n{title}\n{WARNING}\n" + "\n".join(lines) + "\n"


class Form(msgspec.Struct, frozen=True):
    """`version` of the API in which `kind` is asked for, as `media`."""

    media: str
    version: str
    kind: str

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the answer."""
        page = self.kind.lower()
        text = f'299 - "This version of the {page} endpoint is deprecated. Please use a newer version."'
        content_type = f"{self.media};g={GROUP};v={self.version};as={self.kind}"
        return {"Content-Type": content_type, **({"Warning": text} if self.version in DEPRECATED else {})}

    def page(self, fields: Mapping[str, Any]) -> bytes:
        head = {"kind": self.kind, "apiVersion": f"{GROUP}/{self.version}", "metadata": {"name": COMPONENT}}
        whole = {**head, **fields}
        if self.media == "application/yaml":
            return msgspec.yaml.encode(whole)
        return msgspec.json.format(msgspec.json.encode(whole), indent=2)


def negotiated(accept: str, kind: str) -> Form | None:
    """The form that an Accept header asks for; None for text. Raises HttpError (406).

    JSON is asked for as `application/json;as=Flagz;v=v1beta1;g=config.k8s.io`, in any order.
    """
    if not accept.strip():
        return None
    for choice in accept.split(","):
        media, *pairs = (part.strip() for part in choice.split(";"))
        if media in _TEXT:
            return None
        parameters = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
        wanted = (parameters.get("g"), parameters.get("as"))
        if media in STRUCTURED and wanted == (GROUP, kind) and parameters.get("v") in VERSIONS:
            return Form(media, parameters["v"], kind)
    structured = (f"{media};g={GROUP};v={one};as={kind}" for one in VERSIONS for media in STRUCTURED)
    supported = ", ".join(["text/plain", *structured])
    raise HttpError(406, f"only the following media types are accepted: {supported}\n")
