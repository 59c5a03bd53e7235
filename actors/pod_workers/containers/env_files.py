"""Variables from a file that another container of the pod wrote (KEP-3721), read when a container is created.

A line is KEY='VALUE'; a value is taken literally and may have several lines. Empty lines and comments (from # on, on a
line of their own or after a value) are skipped.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping, Sequence

from actors.pod_workers.errors import ConfigError
from actors.shared.kube.container import Container, FileKeySelector
from actors.shared.linux.confined_paths import open_beneath, path_of
from supervision.errors import error_reason, told_as

MAX_BYTES = 64 * 1024
REST = ""
"""The key of the first invalid line's error; no variable can have this name."""
_BLANKS = " \t"
_ANY_BYTES = "surrogateescape"

Files = Mapping[tuple[str, str], Mapping[str, str] | str]
"""By volume and path: the content of the file, or the error."""


def selectors(container: Container) -> list[FileKeySelector]:
    """The files that the environment of the container refers to. Pure."""
    return [one.valueFrom.fileKeyRef for one in container.env if one.valueFrom and one.valueFrom.fileKeyRef]


def parse(text: str) -> dict[str, str]:
    """Values by name; the first line of a name counts. Pure. Reading stops at an invalid line: `REST` then has the
    error, and the variables before it are still valid.
    """
    found: dict[str, str] = {}
    lines = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
    at = 0
    while at < len(lines):
        try:
            entry, after = _entry(lines, at)
        except ConfigError as error:
            return {**found, REST: f"line {at + 1} of the env file: {error}"}
        if entry is not None:
            found.setdefault(*entry)
        at = after
    return found


def _entry(lines: Sequence[str], at: int) -> tuple[tuple[str, str] | None, int]:
    """Name and value of the line with that index, or None if it has none, and the index of the next line. Raises
    ConfigError."""
    line = lines[at].lstrip(_BLANKS)
    if not line or line.startswith("#"):
        return None, at + 1
    name, equals, rest = line.partition("=")
    if not equals:
        raise ConfigError("there is no '='")
    if not name or name[-1] in _BLANKS:
        raise ConfigError("there is no name right before '='")
    if rest and rest[0] in _BLANKS:
        return (name, ""), at + 1  # as in a shell
    if not rest.startswith("'"):
        raise ConfigError("the value is not in single quotes")
    parts = [rest[1:]]
    while "'" not in parts[-1]:
        at += 1
        if at == len(lines):
            raise ConfigError("the quote is not closed")
        parts.append(lines[at])
    last, _, more = parts.pop().partition("'")
    if more.lstrip(_BLANKS)[:1] not in ("", "#"):
        raise ConfigError("something follows the value")
    return (name, "\n".join([*parts, last])), at + 1


def places(wanted: Iterable[FileKeySelector], volumes: Mapping[str, str]) -> dict[tuple[str, str], list[str]]:
    """The argument of `read` for each file, by volume and path. `volumes`: host paths by name. Pure."""
    return {(one.volumeName, one.path): [one.volumeName, volumes.get(one.volumeName, ""), one.path] for one in wanted}


def read(files: list[list[str]]) -> list[Mapping[bytes, bytes] | str]:
    """The content of each file, as bytes, because it may be no UTF-8 (see `received`), or the error. `files`: volume,
    its host path, path in it. Symlinks out of a volume are not followed, because containers write there. Runs in a
    disposable process, because they may also mount a file system there that hangs."""
    return [_in_bytes(_read(*one)) for one in files]


def _in_bytes(content: Mapping[str, str] | str) -> Mapping[bytes, bytes] | str:
    if isinstance(content, str):
        return content
    return {key.encode(errors=_ANY_BYTES): text.encode(errors=_ANY_BYTES) for key, text in content.items()}


def received(found: Mapping[bytes, bytes] | str) -> Mapping[str, str] | str:
    """An entry of the result of `read` as text. Pure."""
    if isinstance(found, str):
        return found
    return {key.decode(errors=_ANY_BYTES): text.decode(errors=_ANY_BYTES) for key, text in found.items()}


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
    """The value; None if it is absent and optional. An empty value counts as absent, as in the kubelet. Raises
    ConfigError. Pure."""
    content = files.get((wanted.volumeName, wanted.path), "not read")
    whole = f'env file "{wanted.path}" of volume "{wanted.volumeName}"'
    if isinstance(content, str):
        if wanted.optional and not content.startswith("!"):
            return None
        raise ConfigError(f"{whole}: {content.lstrip('!')}")
    found = content.get(wanted.key)
    if found is None and REST in content:
        raise ConfigError(f"{whole}: {content[REST]}")
    if not found and not wanted.optional:
        raise ConfigError(f'environment variable key "{wanted.key}" not found in {whole}')
    return found or None


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
        with told_as(path_of(fd), f"{volume}/{path}"), open(path_of(fd), "rb") as file:
            return file.read(MAX_BYTES).decode(errors=_ANY_BYTES)
    finally:
        os.close(fd)
