"""The fake's image store and the registry it pulls from."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from proto import cri_pb2 as cri

from .world import RpcFailure

PAUSE = "registry.k8s.io/pause:3.9"
BUSYBOX = "docker.io/library/busybox:latest"


def normalised(name: str) -> str:
    """`busybox` is docker.io/library/busybox:latest, as containerd has it."""
    if not name or name != name.strip() or "//" in name or name.startswith(("/", ":")):
        raise RpcFailure("UNKNOWN", f'failed to parse image reference "{name}": invalid reference format')
    first, slash, _ = name.partition("/")
    if not slash:
        name = f"docker.io/library/{name}"
    elif "." not in first and ":" not in first and first != "localhost":
        name = f"docker.io/{name}"
    last = name.rsplit("/", 1)[1]
    return name if ":" in last or "@" in last else f"{name}:latest"


def image_id(name: str) -> str:
    return "sha256:" + hashlib.sha256(name.encode()).hexdigest()


@dataclass
class Images:
    """`here` are on the node, `registry` can be pulled; names with all parts, to bytes."""

    here: dict[str, int] = field(default_factory=lambda: {PAUSE: 300_000, BUSYBOX: 1_100_000})
    registry: dict[str, int] = field(default_factory=dict)
    private: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Of the registry, those that need this user and password."""
    info: str = ""
    """What a verbose status has of each: JSON with its OCI configuration."""

    def find(self, name: str) -> str | None:
        """The name under which it is here; `name` may be an id too."""
        for known in self.here:
            if name == image_id(known):
                return known
        full = normalised(name)
        return full if full in self.here else None

    def described(self, name: str) -> cri.Image:
        return cri.Image(
            id=image_id(name), repo_tags=[name], size=self.here[name], pinned=name == PAUSE, spec=cri.ImageSpec()
        )

    def pull(self, name: str, auth: cri.AuthConfig) -> str:
        """Its id. Raises RpcFailure as a registry's answers come through containerd."""
        full = normalised(name)
        if full not in self.registry:
            if full in self.here:
                return image_id(full)
            raise RpcFailure("NOT_FOUND", f'failed to pull and unpack image "{full}": {full}: not found')
        wanted = self.private.get(full)
        if wanted is not None and (auth.username, auth.password) != wanted:
            raise RpcFailure(
                "UNKNOWN", f'failed to pull and unpack image "{full}": pull access denied: 401 Unauthorized'
            )
        self.here[full] = self.registry[full]
        return image_id(full)

    def remove(self, name: str) -> None:
        found = self.find(name)
        if found is not None:
            del self.here[found]
