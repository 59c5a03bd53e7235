"""The store of signed pairs: <prefix>-<time>.pem has certificate and key, <prefix>-current.pem links to one of them.

The layout is the kubelet's, so that either agent can use the files of the other. Files are written completely or not
at all, and the link is replaced by rename, so that a reader always finds a pair.
"""

from __future__ import annotations

import os
import ssl
import time
from pathlib import Path
from typing import Any, Final

import msgspec

from actors.shared.api.kubeconfig import load, read_bounded
from supervision.state_file import write_private

from .certificate import Certificate, UnusableCertificate, read
from .file_stamp import file_stamp

KEPT_FILES: Final = 3
"""How many files stay, including the current one; older ones are removed."""


class Pair(msgspec.Struct, frozen=True):
    """A certificate with its key, in one file or in two."""

    cert_file: str
    key_file: str
    certificate: Certificate


class CertificateStore(msgspec.Struct, frozen=True):
    """The pairs of one purpose; `prefix` is kubelet-client or kubelet-server."""

    directory: str
    prefix: str

    @property
    def current_path(self) -> str:
        return f"{self.directory}/{self.prefix}-current.pem"

    @property
    def key_path(self) -> str:
        """The key of a pending request."""
        return f"{self.directory}/{self.prefix}.key.tmp"

    @property
    def has_key(self) -> bool:
        return os.path.exists(self.key_path)

    def seconds_left(self, now: float) -> float:
        """Seconds until the current certificate ends; less than 0 when there is none."""
        pair = _pair_or_none(self.current_path)
        return pair.certificate.not_after - now if pair is not None else -1.0

    def repaired(self, now: float) -> Pair | None:
        """The current pair. If it is unusable or expired, the link is set to the newest pair that is valid.

        None without any pair. Raises OSError when the link cannot be set.
        """
        pair = _pair_or_none(self.current_path)
        if pair is not None and now <= pair.certificate.not_after:
            return pair
        for path in self._files():
            other = _pair_or_none(path)
            if other is not None and now <= other.certificate.not_after:
                self._point_to(os.path.basename(path))
                return Pair(self.current_path, self.current_path, other.certificate)
        return pair

    def _files(self) -> list[str]:
        """Newest first, by the time in their names."""
        try:
            names = os.listdir(self.directory)
        except OSError:
            return []
        own = (n for n in names if n.startswith(f"{self.prefix}-2") and n.endswith(".pem"))
        return [os.path.join(self.directory, name) for name in sorted(own, reverse=True)]

    def _point_to(self, name: str) -> None:
        link, temporary = Path(self.current_path), Path(f"{self.directory}/.{self.prefix}-current.{os.getpid()}")
        temporary.unlink(missing_ok=True)
        temporary.symlink_to(name)
        temporary.replace(link)


class WatchedStore:
    """A store that is checked every few seconds, and read only when its link or file has changed."""

    def __init__(self, store: CertificateStore) -> None:
        self._store = store
        self._stamp: object = None
        self._pair: Pair | None = None

    def pair(self, now: float) -> Pair | None:
        """The current pair, as of CertificateStore.repaired. Raises OSError."""
        pair, stamp = self._pair, file_stamp(self._store.current_path)
        if pair is not None and stamp == self._stamp and now <= pair.certificate.not_after:
            return pair
        self._pair = self._store.repaired(now)
        self._stamp = file_stamp(self._store.current_path)
        return self._pair


def install(directory: str, prefix: str, certificate: bytes) -> None:
    """Put a certificate (PEM) and the key of its request into the store, and make them the current pair.

    Run in a disposable process. Raises OSError; UnusableCertificate when key and certificate do not match.
    """
    store = CertificateStore(directory, prefix)
    _put(store, certificate, read_bounded(store.key_path))
    os.unlink(store.key_path)


def store_kubeconfig_pair(directory: str, prefix: str, config: str) -> None:
    """Put the pair of the kubeconfig into the store, and make it the current pair.

    Run in a disposable process. Raises OSError, KubeconfigError, UnusableCertificate.
    """
    access = load(config)
    certificate = access.cert_data or read_bounded(access.cert_file)
    _put(CertificateStore(directory, prefix), certificate, access.key_data or read_bounded(access.key_file))


def _put(store: CertificateStore, certificate: bytes, key: bytes) -> None:
    """Write both to a new file and make it the current pair. Raises OSError, UnusableCertificate."""
    directory, prefix = store.directory, store.prefix
    name = f"{prefix}-{time.strftime('%Y-%m-%d-%H-%M-%S', time.gmtime())}.pem"
    path = f"{directory}/{name}"
    trial = Path(f"{directory}/.{prefix}.new")
    write_private(trial, certificate.strip() + b"\n" + key.strip() + b"\n")
    try:
        load_pair(str(trial), str(trial))
        trial.replace(path)
    finally:
        trial.unlink(missing_ok=True)
    store._point_to(name)
    _sync(directory)
    for old in store._files()[KEPT_FILES:]:
        if os.path.realpath(store.current_path) != os.path.realpath(old):
            os.unlink(old)


def write_file(path: str, text: str) -> None:
    """Write a kubeconfig, readable for its owner only. Run in a disposable process. Raises OSError."""
    write_private(Path(path), text.encode())


def load_pair(cert_file: str, key_file: str) -> Pair:
    """Raises OSError, UnusableCertificate."""
    certificate = read(read_bounded(cert_file))
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(cert_file, key_file, password=_no_password)
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", None) or str(error)
        raise UnusableCertificate(f"certificate and key cannot be used together: {reason}") from None
    return Pair(cert_file, key_file, certificate)


def read_pair(cert_file: str, key_file: str) -> dict[str, Any]:
    """The fields of the pair's Certificate. Run in a disposable process. Raises OSError, UnusableCertificate."""
    certificate: dict[str, Any] = msgspec.to_builtins(load_pair(cert_file, key_file).certificate)
    return certificate


def _no_password() -> str:
    """Refuse encrypted keys: OpenSSL would otherwise prompt at the terminal."""
    raise ValueError("the key is encrypted")


def _pair_or_none(path: str) -> Pair | None:
    try:
        return load_pair(path, path)
    except (OSError, UnusableCertificate):
        return None


def _sync(directory: str) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
