"""The files that a kubeconfig names: their paths, and the content of those with PEM."""

from __future__ import annotations

import base64
import binascii
import os
from typing import Final, NamedTuple

from supervision.errors import error_reason

from . import key_pair
from .fields import Fields

MAX_BYTES: Final = 4 << 20
BEGIN_CERTIFICATE: Final = b"-----BEGIN CERTIFICATE-----"
BEGIN_KEY: Final = b"PRIVATE KEY-----"


def read_bounded(path: str) -> bytes:
    """Raises OSError, also if it is not a regular file or has more than MAX_BYTES."""
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if not os.path.isfile(f"/proc/self/fd/{file.fileno()}"):
            raise OSError(0, "not a regular file")
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise OSError(0, f"more than {MAX_BYTES >> 20} MiB")
    return data


class GivenPem(NamedTuple):
    """A certificate or a key that a kubeconfig gives."""

    field: str
    file: str
    """'' for data in the kubeconfig itself."""
    data: bytes


class KubeconfigFiles:
    """`path`: of the kubeconfig, to whose directory the names are relative."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._content: dict[str, bytes] = {}
        """The content of the PEM files, by field."""
        self._usable: dict[str, GivenPem] = {}
        """What is given and is PEM, by the field that names a file."""

    def command(self, command: str) -> str:
        """The program of a plugin: a path, or a name that is looked up in PATH."""
        return self.absolute(command) if "/" in command else command

    def absolute(self, name: str) -> str:
        """The path of a file that the kubeconfig names."""
        return os.path.normpath(os.path.join(os.path.dirname(self._path), name))

    def check_pem(self, fields: Fields, name: str, mark: bytes) -> bool:
        """Whether `name-data` or the file `name` is given; data takes precedence. It must be PEM."""
        if fields.has(f"{name}-data"):
            where, file = f"{name}-data", ""
            try:
                data = base64.b64decode("".join(fields.text(where).split()), validate=True)
            except (binascii.Error, ValueError):
                fields.problem(where, "not base64")
                return True
        elif fields.has(name):
            where, file = name, self.absolute(fields.text(name))
            try:
                data = read_bounded(file)
            except OSError as error:
                fields.problem(where, f"{file}: {error_reason(error)}")
                return True
            self._content[where] = data
        else:
            return False
        if mark in data:
            self._usable[name] = GivenPem(where, file, data)
        else:
            text = "not PEM: it has no " + mark.decode().strip("-").removeprefix("BEGIN ")
            fields.problem(where, f"{file}: {text}" if file else text)
        return True

    def check_pair(self, user: Fields) -> None:
        """The client certificate and the key, where `check_pem` found both, must belong together."""
        certificate, key = self._usable.get("client-certificate"), self._usable.get("client-key")
        if certificate is None or key is None:
            return
        if text := key_pair.problem(certificate.data, key.data):
            file = f"{certificate.file}: " if certificate.file else ""
            user.problem(certificate.field, f"{file}cannot be used with {f'{key.field} {key.file}'.rstrip()}: {text}")

    def included(self) -> list[bytes]:
        """The files whose content is copied into an Access: the authorities, and one half of a key pair whose other
        half is data."""
        pair = [name for name in ("client-certificate", "client-key") if name in self._content]
        names = [name for name in ("certificate-authority",) if name in self._content]
        return [self._content[name] for name in names + (pair if len(pair) == 1 else [])]
