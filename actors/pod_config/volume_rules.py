"""What the API requires of a volume (API reference, Volume v1 core)."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from actors.shared.kube.quantity import QuantityError, parse
from actors.shared.kube.volumes import EmptyDirVolumeSource, HostPathVolumeSource, NFSVolumeSource, Volume

from . import formats
from .check import Check

SOURCES: Final = tuple(field.name for field in msgspec.structs.fields(Volume) if field.name != "name")
HOST_PATH_TYPES: Final = (
    "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice",
)  # fmt: skip


def sources_of(volume: Volume) -> list[str]:
    """The names of the sources that are given."""
    return [name for name in SOURCES if getattr(volume, name) not in (None, msgspec.Raw())]


def check_volume(volume: Volume, check: Check) -> None:
    check.at("name").form(formats.dns_label, volume.name)
    given = sources_of(volume)
    if len(given) > 1:
        check.exactly_one(given, "volume source")
    for name in given:
        rule = _RULES.get(name)
        if rule is not None:
            rule(getattr(volume, name), check.at(name))


def _empty_dir(source: EmptyDirVolumeSource, check: Check) -> None:
    if not (source.medium in ("", "Memory", "HugePages") or source.medium.startswith("HugePages-")):
        check.at("medium").fail(f"{source.medium[:40]!r} is not one of Memory, HugePages, HugePages-<size>")
    if source.sizeLimit is None:
        return
    try:
        if parse(source.sizeLimit) < 0:
            check.at("sizeLimit").fail("must not be negative")
    except QuantityError:
        check.at("sizeLimit").fail(f"{str(source.sizeLimit)[:40]!r} is not a quantity, like 64Mi")


def _host_path(source: HostPathVolumeSource, check: Check) -> None:
    if check.at("path").required(source.path) and ".." in source.path.split("/"):
        check.at("path").fail("must not contain '..'")
    check.at("type").one_of(source.type, HOST_PATH_TYPES)


def _nfs(source: NFSVolumeSource, check: Check) -> None:
    check.at("server").required(source.server)
    if not source.path.startswith("/"):
        check.at("path").fail("must be an absolute path")


def _git_repo(source: Any, check: Check) -> None:
    check.fail("not supported: it runs git as root (CVE-2024-10220)")


def _items(source: Any, check: Check) -> None:
    check.at("defaultMode").between(source.defaultMode, 0, 0o777)
    for index, item in enumerate(getattr(source, "items", ())):
        where = check.at("items").item(index)
        if where.at("path").required(item.path):
            where.at("path").form(formats.inside_path, item.path)
        where.at("mode").between(item.mode, 0, 0o777)


def _downward(source: Any, check: Check) -> None:
    _items(source, check)
    for index, item in enumerate(source.items):
        given = [name for name in ("fieldRef", "resourceFieldRef") if getattr(item, name) is not None]
        check.at("items").item(index).exactly_one(given, "one of fieldRef, resourceFieldRef")


_RULES: Final[dict[str, Any]] = {
    "emptyDir": _empty_dir,
    "hostPath": _host_path,
    "nfs": _nfs,
    "gitRepo": _git_repo,
    "secret": _items,
    "configMap": _items,
    "downwardAPI": _downward,
}
