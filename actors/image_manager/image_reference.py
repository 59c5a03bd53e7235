"""Image references: their grammar, tag and digest, and the default pull policy. Pure.

Grammar: distribution/reference: [domain[:port]/]path[:tag][@digest], path components in lower case.
"""

from __future__ import annotations

import re

import msgspec

from actors.shared.kube.image_names import NAME

_DIGEST = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
_REFERENCE = re.compile(rf"({NAME})(?::([\w][\w.-]{{0,127}}))?(?:@({_DIGEST}))?\Z", re.ASCII)
_ID = re.compile(r"[a-f0-9]{64}\Z")
MAX_NAME = 255


class Reference(msgspec.Struct, frozen=True):
    name: str
    tag: str
    digest: str

    @property
    def full(self) -> str:
        """The reference for the runtime: with tag `latest` if it has neither tag nor digest."""
        tag = self.tag or ("" if self.digest else "latest")
        return self.name + (f":{tag}" if tag else "") + (f"@{self.digest}" if self.digest else "")


class ReferenceInvalid(ValueError):
    """The image name is invalid (waiting reason InvalidImageName)."""


def parse(image: str) -> Reference:
    """The parts of an image reference. Raises ReferenceInvalid."""
    match = _REFERENCE.match(image)
    if match is None or _ID.match(image):
        remote = _remote(image)
        wanted = f": repository name ({remote[:300]}) must be lowercase" if remote.lower() != remote else ""
        raise ReferenceInvalid(f'couldn\'t parse image name "{image[:300]}": invalid reference format{wanted}')
    name, tag, digest = match.groups()
    if len(name) > MAX_NAME:
        raise ReferenceInvalid(f"image name has over {MAX_NAME} characters")
    return Reference(name, tag or "", digest or "")


def _remote(image: str) -> str:
    """The name of the repository in its registry, as far as it is known; images without a registry are in
    `library`."""
    first, slash, rest = image.partition("/")
    has_registry = bool(slash) and ("." in first or ":" in first or first == "localhost" or first.lower() != first)
    path = (rest if has_registry else image).partition(":")[0]
    return path if has_registry or "/" in path else f"library/{path}"


def pull_policy(policy: str, reference: Reference) -> str:
    """The effective policy: as given, else Always for `latest`, else IfNotPresent (API doc)."""
    if policy:
        return policy
    return "Always" if not reference.digest and reference.tag in ("", "latest") else "IfNotPresent"
