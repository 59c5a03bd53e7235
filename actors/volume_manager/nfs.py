"""NFS volumes: what is mounted where, and with which options. Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from .layout import volume_path

NFS: Final = "kubernetes.io~nfs"


class Nfs(msgspec.Struct, frozen=True):
    """A directory of an NFS server, mounted at `path` by the mount program."""

    volume: str
    path: str
    export: str
    """As mount takes it: server:/directory."""
    options: list[str]


def nfs_step(pod_dir: str, volume: str, folder: str, export: str, options: list[str]) -> Nfs:
    """`folder`: the volume's name, or for a claim that of its PersistentVolume."""
    return Nfs(volume, volume_path(pod_dir, NFS, folder), export, options)


def export_of(server: str, directory: str) -> str:
    """Raises ValueError for what mount could take for something else."""
    if not server or server.startswith("-") or any(character.isspace() or character == "/" for character in server):
        raise ValueError(f"{server!r} is not the name or address of a server")
    if not directory.startswith("/") or "\0" in directory:
        raise ValueError(f"path {directory!r} must be absolute")
    host = f"[{server}]" if ":" in server and not server.startswith("[") else server
    return f"{host}:{directory}"


def options_of(mount_options: list[str], *, read_only: bool) -> list[str]:
    """Each once: those of the PersistentVolume, and `ro` for a volume that is only read."""
    return list(dict.fromkeys([*(["ro"] if read_only else []), *(option for option in mount_options if option)]))
