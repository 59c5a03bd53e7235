"""The claims of this node and their file, dra_manager_state."""

from __future__ import annotations

from actors.shared.kube.resource_claims import ResourceClaimError
from actors.shared.state_files import StateFiles
from supervision.errors import error_reason
from supervision.metrics import Metrics
from supervision.state_file import NotAFileError, read_private

from .checkpoint import ClaimCheckpointError, decode, encode
from .claims import Claims


class ClaimStore:
    """`claims`: the claims of the file, with their state."""

    def __init__(self, files: StateFiles, metrics: Metrics | None = None) -> None:
        """`metrics`: where claims are counted."""
        self._file = files.file("dra_manager_state")
        self.path = self._file.path
        self._metrics = metrics
        self._written_data = b""
        self.claims = Claims()
        self._drivers: frozenset[str] = frozenset()

    def load(self) -> None:
        """Read the file, or create a missing one. Raises ResourceClaimError: the prepared claims are not known;
        OSError."""
        self._file.prepare()
        raw = self._read()
        if raw is None:
            self._write(encode(Claims()), "ResourceClaim cache")
            return
        try:
            self.claims, self._written_data = decode(raw), raw
        except ClaimCheckpointError as error:
            raise self._damaged(str(error)) from None
        self._count()

    def error(self) -> ResourceClaimError | None:
        """Why the file cannot be used; None if it can, or does not exist."""
        try:
            if (raw := self._read()) is not None:
                decode(raw)
        except ClaimCheckpointError as error:
            return self._damaged(str(error))
        except ResourceClaimError as error:
            return error
        return None

    def _read(self) -> bytes | None:
        """None: there is no file. Raises ResourceClaimError."""
        try:
            return read_private(self._file.newest())
        except FileNotFoundError:
            return None
        except NotAFileError as error:
            raise self._damaged(str(error.strerror)) from None
        except OSError as error:  # the file may be valid: do not advise the operator to delete it
            raise ResourceClaimError(f"{self.path}: {error_reason(error)}") from None

    def _damaged(self, text: str) -> ResourceClaimError:
        """The kubelet's error at its start, with the file and a remedy."""
        advice = f'please drain this node and delete the file "{self.path}" before restarting the agent'
        whole = f"create ResourceClaim cache: failed to get checkpoint dra_manager_state: {text}, {advice}"
        return ResourceClaimError(whole, str(self.path))

    def save(self, claims: Claims, what: str = "ResourceClaim state") -> None:
        """Raises ResourceClaimError, and changes nothing then."""
        data = encode(claims)
        if data != self._written_data:
            self._write(data, what)
        self.claims = claims
        self._count()

    def _write(self, data: bytes, what: str) -> None:
        try:
            self._file.write(data, sync=True)
        except OSError as error:
            raise ResourceClaimError(
                f"checkpoint {what}: could not save checkpoint {self.path}: {error.strerror}"
            ) from None
        self._written_data = data

    def _count(self) -> None:
        if self._metrics is None:
            return
        counts = self.claims.in_use()
        for gone in self._drivers - counts.keys():
            self._metrics.drop("dra_resource_claims_in_use", driver_name=gone)
        for driver, count in counts.items():
            self._metrics.gauge("dra_resource_claims_in_use", count, driver_name=driver)
        self._drivers = frozenset(counts)
