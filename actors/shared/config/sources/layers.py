"""The documents of a configuration on disk: the file, then its drop-ins in order.

Drop-ins are the *.conf files below --config-dir, in the order of a lexical walk that enters directories in place
(KEP-3983).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import Any, Final

from actors.shared.config.errors import ConfigErrors, ConfigProblem
from actors.shared.config.fields.kubelet_configuration import API_VERSION, KIND
from supervision.errors import error_reason

from .documents import MAX_BYTES, Document, read

SUFFIX: Final = ".conf"
_OTHER_SUFFIXES: Final = (".yaml", ".yml", ".json")
MAX_DROP_INS: Final = 1000

PATH_FIELDS: Final = (
    "staticPodPath",
    "authentication.x509.clientCAFile",
    "tlsCertFile",
    "tlsPrivateKeyFile",
    "resolvConf",
    "volumePluginDir",
    "podLogsDir",
)
"""Fields with paths that are relative to the directory of their file."""


def read_layers(config_file: str, config_dir: str) -> list[Document]:
    """The file (when one is named) and the drop-ins (when a directory is). Raises ConfigErrors with all problems."""
    problems: list[ConfigProblem] = []
    names = [config_file] if config_file else []
    try:
        names += drop_ins(config_dir) if config_dir else []
    except ConfigErrors as error:
        problems.extend(error.problems)
    documents = []
    for name in names:
        try:
            documents.append(_layer(name))
        except ConfigErrors as error:
            problems.extend(error.problems)
    if problems:
        raise ConfigErrors(problems)
    return documents


def drop_ins(directory: str) -> list[str]:
    """The paths of the drop-ins in merge order. Raises ConfigErrors."""
    found = []
    for path in _walk(directory):
        if path.endswith(SUFFIX):
            found.append(path)
        if len(found) > MAX_DROP_INS:
            raise ConfigErrors(
                [ConfigProblem("--config-dir", "", f"must hold at most {MAX_DROP_INS} drop-ins", directory)]
            )
    return found


def unread_drop_ins(directory: str) -> list[str]:
    """Files of a readable --config-dir that look like documents, and are not read because of their names."""
    try:
        return [path for path in _walk(directory) if path.endswith(_OTHER_SUFFIXES) and os.path.isfile(path)]
    except ConfigErrors:
        return []


def _walk(directory: str, depth: int = 0) -> Iterator[str]:
    try:
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
    except OSError as error:
        raise ConfigErrors(
            [ConfigProblem("--config-dir", "", f"cannot be read: {error.strerror}", directory)]
        ) from None
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if depth < 16:
                yield from _walk(entry.path, depth + 1)
        else:
            yield entry.path


def read_bounded(path: str) -> bytes:
    """The bytes of a regular file, at most one more than the limit. Raises OSError; never blocks on a FIFO."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "not a regular file")
        return file.read(MAX_BYTES + 1)


def _layer(path: str) -> Document:
    try:
        raw = read_bounded(path)
    except (OSError, ValueError) as error:
        reason = error_reason(error)
        raise ConfigErrors([ConfigProblem(path, "", f"cannot be read: {reason}")]) from None
    document = read(raw, path)
    check_header(document)
    resolve_paths(document.data, os.path.dirname(path))
    return document


def check_header(document: Document) -> None:
    """Check apiVersion and kind. Raises ConfigErrors."""
    wanted = {"apiVersion": API_VERSION, "kind": KIND}
    problems = [
        ConfigProblem(field, "", f"must be {value}", source_of(document, field))
        for field, value in wanted.items()
        if document.data.get(field) != value
    ]
    if problems:
        raise ConfigErrors(problems)


def source_of(document: Document, path: str) -> str:
    """`file:line` if the line is known."""
    line = document.lines.get(path)
    return f"{document.source}:{line}" if line else document.source


def resolve_paths(data: dict[str, Any], directory: str) -> None:
    """Make the relative paths of PATH_FIELDS absolute, in place; empty ones stay empty."""
    for field in PATH_FIELDS:
        *parents, last = field.split(".")
        owner: Any = data
        for key in parents:
            owner = owner.get(key) if isinstance(owner, dict) else None
        value = owner.get(last) if isinstance(owner, dict) else None
        if isinstance(value, str) and value and not value.startswith("/"):
            owner[last] = os.path.normpath(os.path.join(directory, value))
