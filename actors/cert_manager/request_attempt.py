"""One attempt to get a certificate signed: create or find a CertificateSigningRequest, watch it, and install its
certificate.

No state is in memory only: the key waits in its file, the request at the server under a name that follows
from the key. The next attempt, of this process or of another, continues there.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from actors.shared.api.access import ServerAccess
from actors.shared.api.errors import AlreadyExists, ApiError, NotFound, Unreachable
from supervision.actor import Actor, DisposableError

from . import remedies, signing_request
from .certificate_store import CertificateStore
from .request_retries import FailureKind
from .signing_request import RequestState, SigningRequest

if TYPE_CHECKING:
    from actors.shared.api.client import ApiClient

WORK_SECONDS: Final = 20.0
STORE: Final = "actors.cert_manager.certificate_store"
_WHY: Final = {
    401: "the credentials have expired or were revoked",
    403: "the user needs create, get and watch of certificatesigningrequests",
}
"""By the HTTP status of the answer."""
WATCH_SECONDS: Final = 60.0
"""How long one attempt watches a pending request."""


class RequestTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """The certificate to request, and the server to request it from."""

    store: CertificateStore
    signer: str
    usages: tuple[str, ...]
    user: str
    group: str
    names: tuple[str, ...] = ()
    """DNS names and addresses, sorted."""
    access: ServerAccess
    """The server, and the credentials for the request."""
    content_type: str
    """What the request travels as."""


class PendingRequest(msgspec.Struct, frozen=True):
    """The request of this name is neither approved nor denied yet."""

    name: str
    new: bool
    """It is not the request of the previous attempt."""


class AttemptFailed(Exception):
    """The attempt brought no certificate. `retry_after`: the pause that the server asks for, in seconds; `remedy`: what
    an administrator can do."""

    def __init__(self, kind: FailureKind, text: str, retry_after: float = 0.0, remedy: str = "") -> None:
        self.kind, self.text, self.retry_after, self.remedy = kind, text, retry_after, remedy
        super().__init__(text)


class RequestAttempts:
    """Keeps the signed request between attempts, so that its key is not read again each time. `waits` is called with
    the name of a request before it is watched."""

    def __init__(self, actor: Actor, waits: Callable[[str], None]) -> None:
        self._actor, self._waits = actor, waits
        self._signed: tuple[RequestTemplate, dict[str, Any]] | None = None

    async def attempt(self, template: RequestTemplate) -> PendingRequest | None:
        """Returns None when the certificate is installed. Raises AttemptFailed."""
        before = self._signed
        request, name = await self._submit(template)
        if request.state is RequestState.PENDING:
            return PendingRequest(name, new=self._signed is not before)
        await self._install(template, request, name)
        self._signed = None
        return None

    async def _submit(self, template: RequestTemplate) -> tuple[SigningRequest, str]:
        """The request after it was created or found, and watched; and its name. Raises AttemptFailed."""
        from actors.shared.api.client import ApiClient

        signed = await self._sign(template)
        client = ApiClient(template.access, content_type=template.content_type)
        try:
            request = await _create_or_get(client, template, signed)
            if request.state is RequestState.PENDING:
                self._waits(signed["name"])
                request = await _watch(client, signed["name"], request)
        except ApiError as error:
            raise _failure(error) from None
        finally:
            await client.close()
        if request.state is RequestState.UNKNOWN:
            text = f"{template.access.server} did not answer with a CertificateSigningRequest: {request.text}"
            raise AttemptFailed(FailureKind.ERROR, text)
        return request, signed["name"]

    async def _sign(self, template: RequestTemplate) -> dict[str, Any]:
        """The request, signed once for a template while its key file is there. Raises AttemptFailed."""
        cached = self._signed
        if cached is not None and cached[0] == template and template.store.has_key:
            return cached[1]
        arguments = {
            "key_file": template.store.key_path,
            "in_use": template.store.current_path,
            "signer": template.signer,
            "usages": list(template.usages),
            "user": template.user,
            "group": template.group,
            "names": list(template.names),
        }
        what = "cannot create a key and its request"
        signed: dict[str, Any] = await self._disposable("actors.cert_manager.signing_keys:request", arguments, what)
        self._signed = (template, signed)
        return signed

    async def _install(self, template: RequestTemplate, request: SigningRequest, name: str) -> None:
        """Install the certificate. Raises AttemptFailed when the request has none, or one of another key."""
        if request.state is not RequestState.ISSUED:
            self._discard_key(template)
            how = "was denied" if request.state is RequestState.DENIED else "failed"
            text = f"request {name} {how} ({request.text or 'no reason given'}); the next request uses a new key"
            raise AttemptFailed(FailureKind.REFUSED, text)
        store = template.store
        arguments = {"directory": store.directory, "prefix": store.prefix, "certificate": request.certificate}
        try:
            await self._disposable(f"{STORE}:install", arguments, "cannot install the certificate")
        except AttemptFailed as failed:
            if failed.kind is FailureKind.REFUSED:
                self._discard_key(template)
            raise

    def _discard_key(self, template: RequestTemplate) -> None:
        """The next request has another key, and so another name."""
        self._signed = None
        with suppress(OSError):
            Path(template.store.key_path).unlink()

    async def _disposable(self, function: str, arguments: dict[str, Any], what: str) -> Any:
        try:
            return await self._actor.disposable(function, arguments, deadline=WORK_SECONDS)
        except DisposableError as error:
            bad = error.kind == "UnusableCertificate"
            raise AttemptFailed(FailureKind.REFUSED if bad else FailureKind.ERROR, f"{what}: {error}") from None


async def _create_or_get(client: ApiClient, template: RequestTemplate, signed: dict[str, Any]) -> SigningRequest:
    """Create the request, or get it if an earlier attempt created it. Raises ApiError."""
    path = f"{signing_request.PATH}/{signed['name']}"
    try:
        return signing_request.read((await client.call("GET", path)).body)
    except NotFound:
        pass
    body = signing_request.body(signed["name"], signed["request"], template.signer, signed["usages"])
    try:
        return signing_request.read((await client.call("POST", signing_request.PATH, body=body)).body)
    except AlreadyExists:
        return signing_request.read((await client.call("GET", path)).body)


async def _watch(client: ApiClient, name: str, request: SigningRequest) -> SigningRequest:
    """The request's state within WATCH_SECONDS. A watch that fails changes nothing: the next attempt reads again."""
    query = {
        "fieldSelector": f"metadata.name={name}",
        "resourceVersion": request.version,
        "timeoutSeconds": str(round(WATCH_SECONDS)),
    }
    try:
        async with aclosing(client.watch(signing_request.PATH, query, quiet=WATCH_SECONDS)) as events:
            async for event in events:
                request = signing_request.read(event.object)
                if request.state is not RequestState.PENDING or event.type == "DELETED":
                    break
    except ApiError:
        pass
    return request


def _failure(error: ApiError) -> AttemptFailed:
    if isinstance(error, Unreachable):
        text = f"cannot reach the API server: {error.message}"
        return AttemptFailed(FailureKind.UNREACHABLE, text, error.retry_after)
    why = _WHY.get(error.status, "")
    remedy = remedies.of_status(error.status)
    return AttemptFailed(FailureKind.ERROR, f"{error}{f' ({why})' if why else ''}", error.retry_after, remedy)
