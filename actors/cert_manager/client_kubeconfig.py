"""A kubeconfig and its client certificate, read again only when one of its files has changed."""

from __future__ import annotations

import os
from typing import Final

import msgspec

from actors.shared.api import kubeconfig
from actors.shared.api.access import Access
from actors.shared.api.credentials import Certificate as Presented
from actors.shared.api.errors import NoCredentials
from actors.shared.api.tls import context

from .certificate import BadCertificate, Certificate, read
from .file_stamp import file_stamp

FRESH_SECONDS: Final = 5.0


class Reading(msgspec.Struct, frozen=True):
    """What was found."""

    access: Access | None = None
    """None: not there, or unusable."""
    certificate: Certificate | None = None
    """None: it has other credentials."""
    problem: str = ""
    """Why it is unusable, with file and field."""
    absent: bool = False


class ConfigFile:
    """One kubeconfig. `path` may be empty: not given."""

    def __init__(self, path: str, loaded: Access | None = None) -> None:
        """`loaded`: what it came to when the agent started, if it was there."""
        self._path, self._loaded = path, loaded
        self._stamps: tuple[object, ...] = ()
        self._reading: Reading | None = None

    @property
    def stamps(self) -> tuple[object, ...]:
        """Changes when one of the kubeconfig's files does."""
        return self._stamps

    async def read(self) -> Reading:
        """As the files are now. An unusable kubeconfig is read each time: the file that it lacks may be any."""
        known = self._reading
        if known is None or known.access is None or self._stamps_now(known) != self._stamps:
            known = self._reading = await self._read()
            self._stamps = self._stamps_now(known)
        return known

    def is_fresh(self, now: float) -> bool:
        """Whether it was written within the last few seconds."""
        try:
            return 0 <= now - os.stat(self._path).st_mtime < FRESH_SECONDS
        except OSError:
            return False

    def _stamps_now(self, reading: Reading) -> tuple[object, ...]:
        files = reading.access.files if reading.access is not None else (self._path,)
        return tuple((path, file_stamp(path)) for path in files)

    async def _read(self) -> Reading:
        if not self._is_there():
            return Reading(absent=True)
        try:
            self._loaded = await kubeconfig.load_later(self._path, self._loaded)
        except kubeconfig.KubeconfigError as error:
            return Reading(problem=str(error))
        return _reading_of(self._path, self._loaded)

    def _is_there(self) -> bool:
        return bool(self._path) and os.path.exists(self._path)


def _reading_of(path: str, access: Access) -> Reading:
    """Whether its credentials can be used, and what its certificate is worth."""
    if not access.has_credentials and access.server.startswith("https:"):
        return Reading(problem=f"{path}: users: has no credentials")
    if not (access.cert_data or access.cert_file):
        return Reading(access)
    try:
        context(access, Presented(access.cert_file, access.key_file, access.cert_data, access.key_data))
        return Reading(access, read(access.cert_data or kubeconfig.read_bounded(access.cert_file)))
    except (NoCredentials, BadCertificate, OSError) as error:
        text = error.message if isinstance(error, NoCredentials) else str(error)
        return Reading(problem=f"{path}: client-certificate: {text}")
