"""The identity for a credential plug-in: a token of the pod's service account, and annotations (KEP-4412).

A token serves all images of its pod until a fifth of its lifetime is left, so that a plug-in whose answers count for
one token is not run for each of them.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import quote

import msgspec

from actors.api_clients.kube_client.messages import ApiAnswer, ApiCall
from actors.shared.api.permission import when_permitted
from actors.shared.config.sources.credential_providers import Provider, TokenAttributes
from actors.shared.kube.meta import Api, ObjectMeta
from supervision.errors import UNREADABLE

from .credential_plugins import Account, Identity
from .plugin_process import PluginFailed

REMAINING_SHARE: Final = 0.2
"""A token is replaced when this share of its lifetime is left."""
OLDEST_SECONDS: Final = 24 * 3600.0

Call = Callable[[ApiCall], Awaitable[ApiAnswer]]


class _ServiceAccount(Api, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


class _Status(msgspec.Struct):
    token: str
    expirationTimestamp: str


class _Token(msgspec.Struct):
    status: _Status


class _TokenKey(msgspec.Struct, frozen=True):
    account: Account
    account_uid: str
    audience: str


class _CachedToken(msgspec.Struct, frozen=True):
    """Times are seconds since 1970."""

    token: str
    requested_at: float
    replace_at: float
    expires_at: float


class Identities:
    """`call` sends a request to the API server; `clock`: seconds since 1970."""

    def __init__(self, call: Call, clock: Callable[[], float] = time.time) -> None:
        self._call, self._clock = call, clock
        self._tokens: dict[_TokenKey, _CachedToken] = {}

    async def identify(self, provider: Provider, account: Account) -> Identity | None:
        """The pod's identity; without a token if it has no service account and the plug-in requires none. None: the
        plug-in is not for this pod, which has no service account, or one without a required annotation. Raises
        PluginFailed."""
        wanted = provider.tokenAttributes
        assert wanted is not None  # noqa: S101 - asked for those only
        if not account.name:
            return None if wanted.requireServiceAccount else Identity()
        path = _account_path(account)
        answer = await self._ask(ApiCall(method="GET", path=path))
        try:
            meta = msgspec.json.decode(answer.body, type=_ServiceAccount).metadata
        except UNREADABLE:
            raise PluginFailed(f"service account {account.namespace}/{account.name} cannot be read") from None
        annotations = chosen(meta.annotations, wanted)
        if annotations is None:
            return None
        token = await self._token(_TokenKey(account, meta.uid, wanted.serviceAccountTokenAudience))
        return Identity(meta.uid, token, annotations)

    async def _token(self, key: _TokenKey) -> str:
        """The cached token, or a new one. While none can be had, the cached one serves until it expires. Raises
        PluginFailed."""
        cached, now = self._tokens.get(key), self._clock()
        if cached is not None and cached.requested_at <= now < cached.replace_at:
            return cached.token
        try:
            cached = await self._fetch(key, now)
        except PluginFailed:
            if cached is None or self._clock() >= cached.expires_at:
                raise
            return cached.token
        self._tokens = {other: token for other, token in self._tokens.items() if now < token.expires_at}
        self._tokens[key] = cached
        return cached.token

    async def _fetch(self, key: _TokenKey, now: float) -> _CachedToken:
        request = ApiCall(method="POST", path=f"{_account_path(key.account)}/token", body=token_request(key))
        answer = await self._ask(request)
        try:
            status = msgspec.json.decode(answer.body, type=_Token).status
            expires_at = datetime.datetime.fromisoformat(status.expirationTimestamp.replace("Z", "+00:00")).timestamp()
        except UNREADABLE:
            raise PluginFailed("the API server gave no token") from None
        replace_at = min(expires_at - REMAINING_SHARE * (expires_at - now), now + OLDEST_SECONDS)
        return _CachedToken(status.token, now, replace_at, expires_at)

    async def _ask(self, request: ApiCall) -> ApiAnswer:
        answer = await when_permitted(lambda: self._call(request))
        if not answer.ok:
            raise PluginFailed(f"service account: {answer.reason}: {answer.message}")
        return answer


def chosen(annotations: dict[str, str], wanted: TokenAttributes) -> dict[str, str] | None:
    """None: a required annotation is missing. Pure."""
    if not annotations.keys() >= set(wanted.requiredServiceAccountAnnotationKeys):
        return None
    keys = (*wanted.requiredServiceAccountAnnotationKeys, *wanted.optionalServiceAccountAnnotationKeys)
    return {key: annotations[key] for key in keys if key in annotations}


def token_request(key: _TokenKey) -> bytes:
    """A TokenRequest bound to the pod, for this account and no later one of its name, with the server's usual lifetime.
    Pure."""
    bound = {"apiVersion": "v1", "kind": "Pod", "name": key.account.pod, "uid": key.account.uid}
    body = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "metadata": {"uid": key.account_uid},
        "spec": {"audiences": [key.audience], "boundObjectRef": bound},
    }
    return msgspec.json.encode(body)


def _account_path(account: Account) -> str:
    namespace, name = quote(account.namespace, safe=""), quote(account.name, safe="")
    return f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}"
