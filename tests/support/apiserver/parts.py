"""Subresources that are verbs of their own: binding, eviction, token."""

from __future__ import annotations

from . import evictions
from .admission import Admission
from .controllers import bind
from .errors import StatusError, conflict
from .kinds import check_kind, taken
from .objects import Obj
from .registry import Registry, key_of
from .request import Reply, Request, Target, answer
from .request_body import read_as
from .tokens import Tokens

SUCCESS: Obj = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}


class Parts:
    def __init__(self, registry: Registry, tokens: Tokens, admission: Admission) -> None:
        self._registry, self._tokens, self._admission = registry, tokens, admission
        self._doers = {"binding": self._bind, "eviction": self._evict, "token": self._token}

    def has(self, subresource: str) -> bool:
        return subresource in self._doers

    def perform(self, request: Request, target: Target) -> Reply:
        """Raises StatusError."""
        body = request.json()
        check_kind(body, *taken(target.resource, target.subresource))
        return self._doers[target.subresource](request, target, body)

    def _bind(self, request: Request, target: Target, binding: Obj) -> Reply:
        _same_name(target, binding)
        pod = self._registry.get(target.resource, target.namespace, target.name)
        if node := pod["spec"].get("nodeName"):
            conflict("pods/binding", target.name, f'pod {target.name} is already assigned to node "{node}"')
        bind(self._registry, ("pods", target.namespace, target.name), binding["target"]["name"])
        return answer({**SUCCESS, "code": 201}, 201)

    def _evict(self, request: Request, target: Target, eviction: Obj) -> Reply:
        _same_name(target, eviction)
        store, key = self._registry.store, key_of(target.resource, target.namespace, target.name)
        pod = self._registry.get(target.resource, target.namespace, target.name)
        evictions.check(store, pod)
        evictions.mark(store, key, pod)
        self._registry.delete(target.resource, key, eviction.get("deleteOptions") or {})
        return answer({**SUCCESS, "code": 201}, 201)

    def _token(self, request: Request, target: Target, wanted: Obj) -> Reply:
        account = self._registry.get(target.resource, target.namespace, target.name)
        wanted = read_as("TokenRequest", wanted, request)
        self._admission.admit(request.user, target, account, wanted)
        return answer(self._tokens.create(account, wanted), 201)


def _same_name(target: Target, body: Obj) -> None:
    if (body.get("metadata") or {}).get("name") != target.name:
        raise StatusError(400, f"name in URL does not match name in {body['kind']} object")
