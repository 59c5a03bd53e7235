"""Variables from a file that another container of the pod wrote (KEP-3721), read when a container is created.

A line is KEY='VALUE'; a value is taken literally and may have several lines. Empty lines and lines that begin with #
are skipped.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Mapping

from actors.pod_workers.errors import ConfigError
from actors.shared.kube.container import Container, FileKeySelector
from actors.shared.linux.beneath import open_beneath, path_of
from supervision.errors import error_reason

MAX_BYTES = 64 * 1024
_SKIPPED = re.compile(r"[ \t]*(#[^\n]*)?(\n|\Z)")
_ENTRY = re.compile(r"[ \t]*([A-Za-z_][A-Za-z0-9_]*)='([^']*)'[ \t]*(\n|\Z)")

Files = Mapping[tuple[str, str], Mapping[str, str] | str]
"""By volume and path: the content of the file, or the error."""


def selectors(container: Container) -> list[FileKeySelector]:
    """The files that the environment of the container refers to. Pure."""
    return [one.valueFrom.fileKeyRef for one in container.env if one.valueFrom and one.valueFrom.fileKeyRef]


def parse(text: str) -> dict[str, str]:
    """Name to value. Pure. Raises ConfigError with the line."""
    found: dict[str, str] = {}
    at = 0
    while at < len(text):
        match = _SKIPPED.match(text, at)
        if match is None:
            match = _ENTRY.match(text, at)
            if match is None:
                number = text.count("\n", 0, at) + 1
                raise ConfigError(f"line {number} of the env file is not of the form KEY='VALUE'")
            found[match[1]] = match[2]
        at = max(match.end(), at + 1)
    return found


def places(wanted: Iterable[FileKeySelector], volumes: Mapping[str, str]) -> dict[tuple[str, str], list[str]]:
    """What `read` takes for each file, by volume and path. `volumes`: host paths by name. Pure."""
    return {(one.volumeName, one.path): [one.volumeName, volumes.get(one.volumeName, ""), one.path] for one in wanted}


def read(files: list[list[str]]) -> list[Mapping[str, str] | str]:
    """The content of each file, or the error. `files`: volume, its host path, path in it. No symlink out of a volume is
    followed: containers write there. Runs in a disposable process: they may mount there what hangs, too."""
    return [_read(*one) for one in files]


def _read(volume: str, host_path: str, path: str) -> Mapping[str, str] | str:
    if not host_path:
        return f'volume "{volume}" is not there'
    try:
        return parse(_text(host_path, path))
    except OSError as error:
        return error_reason(error)
    except ConfigError as error:
        return f"!{error}"


def value(wanted: FileKeySelector, files: Files) -> str | None:
    """The value; None if it is absent and optional. Raises ConfigError. Pure."""
    content = files.get((wanted.volumeName, wanted.path), "not read")
    whole = f'env file "{wanted.path}" of volume "{wanted.volumeName}"'
    if isinstance(content, str):
        if wanted.optional and not content.startswith("!"):
            return None
        raise ConfigError(f"{whole}: {content.lstrip('!')}")
    if wanted.key not in content and not wanted.optional:
        raise ConfigError(f'environment variable key "{wanted.key}" not found in {whole}')
    return content.get(wanted.key)


def _text(volume: str, path: str) -> str:
    root = os.open(volume, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fd = open_beneath(root, path)
    finally:
        os.close(root)
    try:
        about = os.fstat(fd)
        if not stat.S_ISREG(about.st_mode):
            raise ConfigError("is not a regular file")
        if about.st_size > MAX_BYTES:
            raise ConfigError(f"has more than {MAX_BYTES} bytes")
        with open(path_of(fd), "rb") as file:
            return file.read(MAX_BYTES).decode(errors="surrogateescape")
    finally:
        os.close(fd)
