"""One attempt to have a certificate signed: a CertificateSigningRequest is sent or found, watched, and its certificate
installed.

Nothing that matters is only in memory: the key waits in its file, the request at the server under a name that follows
from the key. The next attempt, of this process or of another, goes on from there.
"""

from __future__ import annotations

from contextlib import aclosing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from actors.shared.api.access import Access
from actors.shared.api.errors import AlreadyExists, ApiError, NotFound, Unreachable
from supervision.actor import Actor, DisposableError

from . import signing_request
from .certificate_store import Store
from .request_retries import Trouble
from .signing_request import Seen, Standing

if TYPE_CHECKING:
    from actors.shared.api.client import ApiClient

WORK_SECONDS: Final = 20.0
STORE: Final = "actors.cert_manager.certificate_store"
WATCH_SECONDS: Final = 60.0
"""How long one attempt watches a pending request."""


class RequestTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """What is requested, and of which server."""

    store: Store
    signer: str
    usages: tuple[str, ...]
    user: str
    group: str
    names: tuple[str, ...] = ()
    """DNS names and addresses, sorted."""
    access: Access
    """The server, and the credentials to ask with."""


class Pending(msgspec.Struct, frozen=True):
    """The request of this name is neither approved nor denied yet."""

    name: str
    new: bool
    """It is another request than in the attempt before."""


class AttemptFailed(Exception):
    """No certificate. `retry_after`: seconds that the server asks to be left alone."""

    def __init__(self, trouble: Trouble, text: str, retry_after: float = 0.0) -> None:
        self.trouble, self.text, self.retry_after = trouble, text, retry_after
        super().__init__(text)


class RequestAttempts:
    """Keeps the signed request between attempts, so that its key is not read again each time."""

    def __init__(self, actor: Actor) -> None:
        self._actor = actor
        self._signed: tuple[RequestTemplate, dict[str, Any]] | None = None

    async def attempt(self, template: RequestTemplate) -> Pending | None:
        """Returns None when the certificate is installed. Raises AttemptFailed."""
        before = self._signed
        seen, name = await self._submit(template)
        if seen.standing is Standing.PENDING:
            return Pending(name, new=self._signed is not before)
        await self._install(template, seen, name)
        self._signed = None
        return None

    async def _submit(self, template: RequestTemplate) -> tuple[Seen, str]:
        """The request's state after it was sent, found or watched, and its name. Raises AttemptFailed."""
        from actors.shared.api.client import ApiClient

        signed = await self._sign(template)
        client = ApiClient(template.access)
        try:
            seen = await _sent_or_found(client, template, signed)
            if seen.standing is Standing.PENDING:
                seen = await _watched(client, signed["name"], seen)
        except ApiError as error:
            raise AttemptFailed(*_meaning(error), error.retry_after) from None
        finally:
            await client.close()
        if seen.standing is Standing.UNKNOWN:
            text = f"{template.access.server} answered with no CertificateSigningRequest: {seen.text}"
            raise AttemptFailed(Trouble.ERROR, text)
        return seen, signed["name"]

    async def _sign(self, template: RequestTemplate) -> dict[str, Any]:
        """The request, signed once for a template while its key file is there. Raises AttemptFailed."""
        kept = self._signed
        if kept is not None and kept[0] == template and template.store.has_key:
            return kept[1]
        arguments = {
            "key_file": template.store.key_path,
            "in_use": template.store.current_path,
            "signer": template.signer,
            "usages": list(template.usages),
            "user": template.user,
            "group": template.group,
            "names": list(template.names),
        }
        what = "cannot make a key and its request"
        signed: dict[str, Any] = await self._disposable("actors.cert_manager.signing_keys:request", arguments, what)
        self._signed = (template, signed)
        return signed

    async def _install(self, template: RequestTemplate, seen: Seen, name: str) -> None:
        """Raises AttemptFailed for anything but a certificate of our key."""
        if seen.standing is not Standing.ISSUED:
            self._discard_key(template)
            how = "was denied" if seen.standing is Standing.DENIED else "failed"
            text = f"request {name} {how} ({seen.text or 'no reason given'}); the next one has another key"
            raise AttemptFailed(Trouble.REFUSED, text)
        store = template.store
        arguments = {"directory": store.directory, "prefix": store.prefix, "certificate": seen.certificate}
        try:
            await self._disposable(f"{STORE}:install", arguments, "cannot install the certificate")
        except AttemptFailed as failed:
            if failed.trouble is Trouble.REFUSED:
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
            bad = error.kind == "BadCertificate"
            raise AttemptFailed(Trouble.REFUSED if bad else Trouble.ERROR, f"{what}: {error}") from None


async def _sent_or_found(client: ApiClient, template: RequestTemplate, signed: dict[str, Any]) -> Seen:
    """The request at the server: sent now, or there already from an earlier attempt. Raises ApiError."""
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


async def _watched(client: ApiClient, name: str, seen: Seen) -> Seen:
    """The request's state within WATCH_SECONDS. A watch that fails changes nothing: the next attempt reads again."""
    query = {
        "fieldSelector": f"metadata.name={name}",
        "resourceVersion": seen.version,
        "timeoutSeconds": str(round(WATCH_SECONDS)),
    }
    try:
        async with aclosing(client.watch(signing_request.PATH, query, quiet=WATCH_SECONDS)) as events:
            async for event in events:
                seen = signing_request.read(event.object)
                if seen.standing is not Standing.PENDING or event.type == "DELETED":
                    break
    except ApiError:
        pass
    return seen


def _meaning(error: ApiError) -> tuple[Trouble, str]:
    """The kind of trouble, and a text that says what an administrator can do."""
    if isinstance(error, Unreachable):
        return Trouble.AWAY, f"the API server is not reached: {error.message}"
    hint = ""
    if error.status == 401:
        hint = " (the credentials have expired or were revoked; a new bootstrap token: kubeadm token create)"
    elif error.status == 403:
        hint = " (the user needs create, get and watch of certificatesigningrequests)"
    return Trouble.ERROR, f"{error}{hint}"
