"""OCI image layouts (github.com/opencontainers/image-spec) written without a registry and without a builder.

Deterministic: the same content gives the same digests, so importing twice changes nothing. No layer is compressed,
because the output of zlib differs between its versions.
"""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

_MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
_CONFIG: Final = "application/vnd.oci.image.config.v1+json"
_LAYER: Final = "application/vnd.oci.image.layer.v1.tar"
_INDEX: Final = "application/vnd.oci.image.index.v1+json"
_EPOCH: Final = "1970-01-01T00:00:00Z"


class LayerEntry(msgspec.Struct, frozen=True):
    """A file (`data`), a symbolic link (`target`) or, without either, a directory."""

    path: str
    mode: int = 0o755
    data: bytes | None = None
    target: str = ""


class OciImage(msgspec.Struct, frozen=True, kw_only=True):
    """An image with one layer."""

    reference: str
    """Full name with tag, `docker.io/library/busybox:latest`."""
    entries: tuple[LayerEntry, ...] = ()
    tar: bytes = b""
    """The finished layer, if there is one; then there are no entries."""
    config: dict[str, Any] = {}
    """Entrypoint, Cmd, Env, User, WorkingDir, ... as in the image specification."""


class BuiltImage(msgspec.Struct, frozen=True):
    """`config_digest` is the id by which runtimes know the image."""

    reference: str
    config_digest: str


class OciLayout(msgspec.Struct, frozen=True, kw_only=True):
    """Images as they lie in a layout: its index, and the content by the hexadecimal digits of its digest."""

    images: tuple[BuiltImage, ...]
    index: bytes
    blobs: dict[str, bytes]


def build(images: Iterable[OciImage], arch: str) -> OciLayout:
    """An image layout of all `images`."""
    blobs: dict[str, bytes] = {}
    manifests, built = [], []
    for image in images:
        manifest, names = _image(image, arch, blobs)
        manifests.append(manifest)
        built.append(names)
    index = _json({"schemaVersion": 2, "mediaType": _INDEX, "manifests": manifests})
    return OciLayout(images=tuple(built), index=index, blobs=blobs)


def write(path: str | os.PathLike[str], layout: OciLayout) -> None:
    """Write the layout as a tar. Raises OSError."""
    with Path(path).open("wb") as file:
        _tar(file, _files(layout.index, layout.blobs))


def layer(entries: Iterable[LayerEntry]) -> bytes:
    """The entries as a tar: owned by root, without times."""
    out = io.BytesIO()
    _tar(out, entries)
    return out.getvalue()


def _image(image: OciImage, arch: str, blobs: dict[str, bytes]) -> tuple[dict[str, Any], BuiltImage]:
    content = image.tar or layer(image.entries)
    config = {
        "architecture": arch,
        "os": "linux",
        "created": _EPOCH,
        "config": image.config,
        "rootfs": {"type": "layers", "diff_ids": [_digest(content)]},
    }
    described = _blob(_CONFIG, _json(config), blobs)
    manifest = {
        "schemaVersion": 2,
        "mediaType": _MANIFEST,
        "config": described,
        "layers": [_blob(_LAYER, content, blobs)],
    }
    entry = _blob(_MANIFEST, _json(manifest), blobs)
    names = BuiltImage(image.reference, described["digest"])
    entry["platform"] = {"architecture": arch, "os": "linux"}
    # containerd takes the whole name from its own annotation; the standard one holds the tag only
    entry["annotations"] = {
        "io.containerd.image.name": image.reference,
        "org.opencontainers.image.ref.name": image.reference.rpartition(":")[2],
    }
    return entry, names


def _blob(media_type: str, content: bytes, blobs: dict[str, bytes]) -> dict[str, Any]:
    digest = _digest(content)
    blobs[digest.removeprefix("sha256:")] = content
    return {"mediaType": media_type, "digest": digest, "size": len(content)}


def _files(index: bytes, blobs: dict[str, bytes]) -> list[LayerEntry]:
    files = [LayerEntry(f"blobs/sha256/{name}", 0o644, content) for name, content in sorted(blobs.items())]
    heads = [LayerEntry("oci-layout", 0o644, b'{"imageLayoutVersion":"1.0.0"}'), LayerEntry("index.json", 0o644, index)]
    return [LayerEntry("blobs"), LayerEntry("blobs/sha256"), *heads, *files]


def _tar(file: Any, entries: Iterable[LayerEntry]) -> None:
    with tarfile.open(fileobj=file, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for entry in entries:
            info = tarfile.TarInfo(entry.path)
            info.mode, info.uname, info.gname = entry.mode, "root", "root"
            if entry.data is not None:
                info.size = len(entry.data)
                tar.addfile(info, io.BytesIO(entry.data))
                continue
            info.type, info.linkname = (tarfile.SYMTYPE if entry.target else tarfile.DIRTYPE), entry.target
            tar.addfile(info)


def _digest(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


def _json(value: Any) -> bytes:
    return msgspec.json.encode(value, order="sorted")
