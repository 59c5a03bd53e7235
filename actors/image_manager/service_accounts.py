"""The identity for a credential plug-in: a token of the pod's service account, and annotations (KEP-4412)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import quote

import msgspec

from actors.api_clients.messages import ApiAnswer, ApiCall
from actors.shared.api.permission import when_permitted
from actors.shared.config.sources.credential_providers import Provider, TokenAttributes
from actors.shared.kube.meta import Api, ObjectMeta
from supervision.errors import UNREADABLE

from .credential_plugins import Account, Identity
from .plugin_process import PluginFailed

TOKEN_SECONDS: Final = 600

Call = Callable[[ApiCall], Awaitable[ApiAnswer]]


class _ServiceAccount(Api, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


class _Status(msgspec.Struct):
    token: str


class _Token(msgspec.Struct):
    status: _Status


async def identify(call: Call, provider: Provider, account: Account) -> Identity:
    """Raises PluginFailed if a requirement of the plug-in cannot be met. The token is empty if the pod has no service
    account and the plug-in requires none."""
    wanted = provider.tokenAttributes
    assert wanted is not None  # noqa: S101 - asked for those only
    if not account.name:
        if wanted.requireServiceAccount:
            raise PluginFailed("the pod has no service account, which requireServiceAccount needs")
        return Identity()
    path = f"/api/v1/namespaces/{quote(account.namespace, safe='')}/serviceaccounts/{quote(account.name, safe='')}"
    answer = await _call_api(call, ApiCall(method="GET", path=path))
    try:
        meta = msgspec.json.decode(answer.body, type=_ServiceAccount).metadata
    except UNREADABLE:
        raise PluginFailed(f"service account {account.namespace}/{account.name} cannot be read") from None
    annotations = chosen(meta.annotations, wanted)
    request = token_request(account, wanted.serviceAccountTokenAudience)
    answer = await _call_api(call, ApiCall(method="POST", path=f"{path}/token", body=request))
    try:
        token = msgspec.json.decode(answer.body, type=_Token).status.token
    except UNREADABLE:
        raise PluginFailed("the API server gave no token") from None
    return Identity(meta.uid, token, annotations)


def chosen(annotations: dict[str, str], wanted: TokenAttributes) -> dict[str, str]:
    """Raises PluginFailed when a required annotation is missing. Pure."""
    missing = [key for key in wanted.requiredServiceAccountAnnotationKeys if key not in annotations]
    if missing:
        raise PluginFailed(f"the service account lacks the annotations {', '.join(missing)}")
    keys = (*wanted.requiredServiceAccountAnnotationKeys, *wanted.optionalServiceAccountAnnotationKeys)
    return {key: annotations[key] for key in keys if key in annotations}


def token_request(account: Account, audience: str) -> bytes:
    """A TokenRequest bound to the pod. Pure."""
    bound = {"apiVersion": "v1", "kind": "Pod", "name": account.pod, "uid": account.uid}
    spec = {"audiences": [audience], "expirationSeconds": TOKEN_SECONDS, "boundObjectRef": bound}
    return msgspec.json.encode({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec})


async def _call_api(call: Call, request: ApiCall) -> ApiAnswer:
    answer = await when_permitted(lambda: call(request))
    if not answer.ok:
        raise PluginFailed(f"service account: {answer.reason}: {answer.message}")
    return answer
