"""A request's way: who, what, may they, does the plan say it fails; then what it asks for."""

from __future__ import annotations

import json
import ssl
import time

from . import discovery
from .authorizer import Attributes, Authorizer
from .errors import StatusError, forbidden
from .faults import Book, Faults, Seen
from .kinds import check_kind
from .kubelet_proxy import KubeletProxy
from .negotiation import negotiated
from .options import Options
from .orders import Orders
from .registry import Registry
from .request import Answer, Drop, Reply, Request, Target, answer, target_of
from .request_body import read_as
from .reviews import review
from .tokens import Tokens
from .users import Users, common_name
from .verbs import Verbs

_PROXIED = ("log", "exec", "attach", "portforward")
_HEALTH = ("/healthz", "/livez", "/readyz")


class Handling:
    """`address` is told to those who discover."""

    def __init__(self, registry: Registry, users: Users, tokens: Tokens, options: Options, proxy: KubeletProxy) -> None:
        self.registry, self.users, self.options = registry, users, options
        self.authorizer, self.faults = Authorizer(registry.store), Faults()
        self.book, self.address = Book(maxlen=50_000), ""
        self._proxy, self.verbs = proxy, Verbs(registry, tokens, options, self.faults)
        self.orders = Orders(self)

    async def __call__(self, request: Request, connection: ssl.SSLObject | None) -> Reply:
        seen = Seen(time.time(), request.method, request.target, request.headers, request.connection, body=request.body)
        seen.user = common_name(connection)
        if not request.path.startswith("/_test/"):
            self.book.append(seen)
        if self.faults.script and (scripted := await self.faults.script(request)) is not None:
            seen.status = scripted.status
            return scripted
        try:
            reply = await self._checked(request, connection, seen)
            if isinstance(reply, Answer):
                reply.headers += [("Warning", f"299 - {json.dumps(text)}") for text in request.warnings]
        except StatusError as error:
            later = [("Retry-After", str(error.retry_after))] if error.retry_after else []
            reply = answer(error.status(), error.code, later)
        seen.status = reply.status
        return negotiated(request, reply)

    async def _checked(self, request: Request, connection: ssl.SSLObject | None, seen: Seen) -> Reply:
        request.user = self.users.of(request, connection)
        target = target_of(request)
        seen.user = request.user.name
        if target is not None:
            seen.verb, seen.resource, seen.name = target.verb, target.described, target.name
            seen.namespace = target.namespace
        if request.path.startswith("/_test/"):
            return await self.orders.obey(request)
        if (faulty := await self.faults.before(request, target)) is not None:
            return faulty
        self._authorize(request, target)
        reply = await self._perform(request, target)
        return Drop(reply.status) if self.faults.find(request, target, "lost") else reply

    def _authorize(self, request: Request, target: Target | None) -> None:
        user = request.user
        if target is None:
            if why := self.authorizer.allows(Attributes(user, request.method.lower(), path=request.path)):
                text = f'forbidden: User "{user.name}" cannot {request.method.lower()} path "{request.path}"'
                raise StatusError(403, f"{text}: {why}")
            return
        attributes = Attributes(user, target.verb, target.resource.group, target.resource.plural, target.subresource,
                                target.namespace, target.name,
                                field_selector=request.query.get("fieldSelector", ""))  # fmt: skip
        if why := self.authorizer.allows(attributes):
            where = f' in the namespace "{target.namespace}"' if target.namespace else " at the cluster scope"
            text = f'User "{user.name}" cannot {target.verb} resource "{target.described}" in API group '
            forbidden(target.resource.qualified, target.name, f'{text}"{target.resource.group}"{where}: {why}')

    async def _perform(self, request: Request, target: Target | None) -> Reply:
        if target is None:
            return self._document(request)
        if target.subresource in _PROXIED:
            return await self._proxy.pod(request, target)
        if target.resource.plural == "nodes" and target.subresource == "proxy":
            return await self._proxy.node(request, target)
        if not target.resource.stored:
            body = request.json()
            check_kind(body, target.resource.api_version, target.resource.kind)
            body = read_as(target.resource.kind, body, request)
            made = review(target.resource, body, request.user, self.users, self.authorizer)
            return answer(made, 201)
        return self.verbs.perform(request, target)

    def _document(self, request: Request) -> Reply:
        if request.path in _HEALTH:
            return Answer(200, b"ok", "text/plain")
        found = discovery.document(request.path, self.address)
        if found is None:
            return Answer(404, b"404 page not found\n", "text/plain; charset=utf-8")
        return answer(found)
