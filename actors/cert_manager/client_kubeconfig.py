"""Reads a kubeconfig and its client certificate; again only when one of its files has changed."""

from __future__ import annotations

import os
from typing import Final

import msgspec

from actors.shared.api import kubeconfig
from actors.shared.api.access import ServerAccess
from actors.shared.api.credentials import ClientKeyPair
from actors.shared.api.errors import NoCredentials
from actors.shared.api.tls import context
from supervision.errors import error_text

from .certificate import Certificate, UnusableCertificate, read
from .file_stamp import file_stamp

FRESH_SECONDS: Final = 5.0


class KubeconfigState(msgspec.Struct, frozen=True):
    """The state of a kubeconfig."""

    access: ServerAccess | None = None
    """None when the kubeconfig is missing or unusable."""
    certificate: Certificate | None = None
    """None when it has other credentials."""
    problem: str = ""
    """Why it is unusable, with file and field."""
    absent: bool = False


class KubeconfigFile:
    """A kubeconfig. `path` may be empty: not given."""

    def __init__(self, path: str, loaded: ServerAccess | None = None) -> None:
        """`loaded`: its content when the agent started, if it existed."""
        self._path, self._loaded = path, loaded
        self._stamps: tuple[object, ...] = ()
        self._state: KubeconfigState | None = None

    @property
    def stamps(self) -> tuple[object, ...]:
        """Changes when one of the kubeconfig's files does."""
        return self._stamps

    async def read(self) -> KubeconfigState:
        """The current state. An unusable kubeconfig is read each time, since any missing file may have appeared."""
        state = self._state
        if state is None or state.access is None or self._stamps_now(state) != self._stamps:
            state = self._state = await self._read()
            self._stamps = self._stamps_now(state)
        return state

    def is_fresh(self, now: float) -> bool:
        """Whether it was written within the last few seconds."""
        try:
            return 0 <= now - os.stat(self._path).st_mtime < FRESH_SECONDS
        except OSError:
            return False

    def _stamps_now(self, state: KubeconfigState) -> tuple[object, ...]:
        files = state.access.files if state.access is not None else (self._path,)
        return tuple((path, file_stamp(path)) for path in files)

    async def _read(self) -> KubeconfigState:
        if not self._is_there():
            return KubeconfigState(absent=True)
        try:
            self._loaded = await kubeconfig.load_later(self._path, self._loaded)
        except kubeconfig.KubeconfigError as error:
            return KubeconfigState(problem=str(error))
        return _state_of(self._path, self._loaded)

    def _is_there(self) -> bool:
        return bool(self._path) and os.path.exists(self._path)


def _state_of(path: str, access: ServerAccess) -> KubeconfigState:
    """Check the credentials of a kubeconfig, and read its certificate."""
    if not access.has_credentials and access.server.startswith("https:"):
        return KubeconfigState(problem=f"{path}: users: has no credentials")
    if not (access.cert_data or access.cert_file):
        return KubeconfigState(access)
    try:
        context(access, ClientKeyPair(access.cert_file, access.key_file, access.cert_data, access.key_data))
        return KubeconfigState(access, read(access.cert_data or kubeconfig.read_bounded(access.cert_file)))
    except (NoCredentials, UnusableCertificate, OSError) as error:
        text = error.message if isinstance(error, NoCredentials) else error_text(error)
        return KubeconfigState(problem=f"{path}: client-certificate: {text}")
