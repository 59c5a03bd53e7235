"""Image references: their grammar, tag and digest, and the default pull policy. Pure.

Grammar: distribution/reference: [domain[:port]/]path[:tag][@digest], path components in lower case.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from actors.shared.kube.image_names import NAME

_DIGEST = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
_REFERENCE = re.compile(rf"({NAME})(?::([\w][\w.-]{{0,127}}))?(?:@({_DIGEST}))?\Z", re.ASCII)
_ID = re.compile(r"[a-f0-9]{64}\Z")
MAX_PATH: Final = 255
"""The most characters of a name without its registry."""
DEFAULT_REGISTRY: Final = "docker.io"
_OLD_DEFAULT_REGISTRY: Final = "index.docker.io"
_DIGITS: Final = {"sha256": 64, "sha384": 96, "sha512": 128}
"""The algorithms of digests, and the digits of each."""
_HEX: Final = re.compile(r"[a-f0-9]*\Z", re.ASCII)


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
    """The parts of an image reference. Raises ReferenceInvalid, with the words of distribution/reference."""
    if _ID.match(image):
        raise _invalid(image, f"invalid repository name ({image}), cannot specify 64-byte hexadecimal strings")
    match = _REFERENCE.match(image)
    if match is None:
        remote = _split(image)[1].partition(":")[0]
        wanted = f": repository name ({remote[:300]}) must be lowercase" if remote.lower() != remote else ""
        raise _invalid(image, f"invalid reference format{wanted}")
    name, tag, digest = match.groups()
    if len(_split(name)[1]) > MAX_PATH:
        raise _invalid(image, f"repository name must not be more than {MAX_PATH} characters")
    if wrong := _wrong_digest(digest or ""):
        raise _invalid(image, wrong)
    return Reference(name, tag or "", digest or "")


def _invalid(image: str, why: str) -> ReferenceInvalid:
    return ReferenceInvalid(f'couldn\'t parse image name "{image[:300]}": {why}')


def _wrong_digest(digest: str) -> str:
    """Why no image has this digest; '' if one may have it."""
    algorithm, _, digits = digest.partition(":")
    if not digest:
        return ""
    if algorithm not in _DIGITS:
        return "unsupported digest algorithm"
    if len(digits) != _DIGITS[algorithm]:
        return "invalid checksum digest length"
    return "" if _HEX.match(digits) else "invalid checksum digest format"


def qualified(name: str) -> str:
    """The name with its registry: `busybox` is `docker.io/library/busybox`."""
    return "/".join(_split(name))


def _split(name: str) -> tuple[str, str]:
    """The registry of an image, and its name there; images of the default one without a folder are in `library`."""
    first, slash, rest = name.partition("/")
    has_registry = bool(slash) and ("." in first or ":" in first or first == "localhost" or first.lower() != first)
    registry, path = (first, rest) if has_registry else (DEFAULT_REGISTRY, name)
    if registry == _OLD_DEFAULT_REGISTRY:
        registry = DEFAULT_REGISTRY
    return registry, f"library/{path}" if registry == DEFAULT_REGISTRY and "/" not in path else path


def pull_policy(policy: str, reference: Reference) -> str:
    """The effective policy: as given, else Always for `latest`, else IfNotPresent (API doc)."""
    if policy:
        return policy
    return "Always" if not reference.digest and reference.tag in ("", "latest") else "IfNotPresent"
