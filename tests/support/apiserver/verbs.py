"""What the verbs do with a collection, and the subresources that are verbs of their own."""

from __future__ import annotations

import msgspec

from . import event_forms, signing, tables
from .admission import Admission
from .controllers import bind
from .errors import StatusError
from .faults import Faults
from .objects import Obj
from .options import Options
from .patches import APPLY
from .registry import Registry, key_of
from .request import Reply, Request, Stream, Target, User, answer
from .resources import CORE_EVENTS, EVENTS, Resource, core
from .schemas import typed
from .tokens import Tokens
from .watching import Watch, events

_RETURNED = ("pods", "serviceaccounts", "services", "persistentvolumes", "persistentvolumeclaims")
_SUCCESS: Obj = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}


class Verbs:
    def __init__(self, registry: Registry, tokens: Tokens, options: Options, faults: Faults) -> None:
        self.registry, self._tokens = registry, tokens
        self._options, self._faults = options, faults
        self._admission = Admission(registry, options)
        self._parts = {"binding": self._bind, "eviction": self._evict, "token": self._token}

    def perform(self, request: Request, target: Target) -> Reply:
        """Raises StatusError."""
        if target.subresource in self._parts:
            return self._parts[target.subresource](request, target)
        if target.subresource and target.subresource not in target.resource.subresources:
            raise StatusError(404, "the server could not find the requested resource", reason="NotFound")
        if target.verb in ("get", "list", "watch"):
            return self._read(request, target)
        return self._write(request, target)

    # -- reading --------------------------------------------------------------------------------------------------
    def _read(self, request: Request, target: Target) -> Reply:
        resource, accept = target.resource, request.headers.get("accept", "")
        if target.verb == "watch":
            return Stream(events(self.registry.store, self._watch(request, target)))
        if target.verb == "get":
            found = self.registry.get(resource, target.namespace, target.name)
            return answer(tables.table(resource, [found]) if tables.wanted(accept) else shown(resource, found))
        fault = self._faults.find(request, target, "stale")
        stale = fault.revisions if fault else 0
        listed = self.registry.list(resource, target.namespace, request.query, stale)
        if tables.wanted(accept):
            return answer(tables.table(resource, listed["items"], listed["metadata"]))
        return answer({**listed, "items": [shown(resource, one) for one in listed["items"]]})

    def _watch(self, request: Request, target: Target) -> Watch:
        query = dict(request.query)
        if target.name:
            query["fieldSelector"] = ",".join(
                filter(None, (query.get("fieldSelector"), f"metadata.name={target.name}"))
            )
        seconds = float(query.get("timeoutSeconds") or self._options.watch_seconds)
        if cut := self._faults.find(request, target, "cut"):
            seconds = cut.seconds
        as_table = tables.wanted(request.headers.get("accept", ""))

        def form(obj: Obj) -> Obj:
            return tables.table(target.resource, [obj]) if as_table else shown(target.resource, obj)

        return Watch(target.resource, target.namespace, query, seconds, self._options.bookmark_seconds, form)

    # -- writing --------------------------------------------------------------------------------------------------
    def _write(self, request: Request, target: Target) -> Reply:
        resource, dry = target.resource, request.query.get("dryRun") == "All"
        if target.verb == "create":
            return self._created(request, target, dry)
        if target.verb == "deletecollection":
            return self._delete_collection(request, target)
        key = key_of(resource, target.namespace, target.name)
        old = self.registry.store.get(key)
        if target.verb == "delete":
            self._admission.admit(request.user, target, old, None)
            options = typed("DeleteOptions", request.json() if request.body else {}, strict=not request.user.admin)
            if "gracePeriodSeconds" in request.query:
                options["gracePeriodSeconds"] = int(request.query["gracePeriodSeconds"])
            return self._deleted(resource, old) if dry else self._delete(resource, target, options)
        return self._changed(request, target)

    def _created(self, request: Request, target: Target, dry: bool = False, body: Obj | None = None) -> Reply:
        obj = stored(target.resource, request.json() if body is None else body)
        if dry:
            self._admission.admit(request.user, target, None, obj)
            return answer(obj, 201)
        return answer(shown(target.resource, self.create(target, obj, request.user)), 201)

    def create(self, target: Target, obj: Obj, user: User) -> Obj:
        """May change `obj`. Raises StatusError."""
        obj.setdefault("metadata", {})
        obj = typed(target.resource.kind, obj, strict=not user.admin)
        self._admission.admit(user, target, None, obj)
        if target.resource.plural == "certificatesigningrequests":
            signing.check(obj)
        return self.registry.create(kept_as(target.resource), target.namespace, obj, user)

    def _changed(self, request: Request, target: Target) -> Reply:
        resource, key = kept_as(target.resource), key_of(target.resource, target.namespace, target.name)
        form, body = request.headers.get("content-type", ""), request.body

        def read(obj: Obj) -> Obj:
            return typed(resource.kind, obj, strict=not request.user.admin)

        def admit(old: Obj, new: Obj) -> None:
            self._admission.admit(request.user, target, old, new)

        if target.verb == "update":
            obj = read(stored(target.resource, request.json()))
            return answer(shown(target.resource, self.registry.update(resource, key, obj, target.subresource, admit)))
        if target.verb != "patch":
            raise StatusError(405, "the server does not allow this method on the requested resource")
        if form.startswith(APPLY) and not target.subresource and self.registry.store.get(key) is None:
            applied = msgspec.yaml.decode(body)
            applied.setdefault("metadata", {})["name"] = target.name
            return self._created(request, target, body=applied)
        if target.resource.group == EVENTS:
            body = msgspec.json.encode(event_forms.to_core(msgspec.json.decode(body)))
        made = self.registry.patch(resource, key, (form, body, read), target.subresource, admit)
        return answer(shown(target.resource, made))

    def _delete(self, resource: Resource, target: Target, options: Obj) -> Reply:
        key = key_of(resource, target.namespace, target.name)
        obj, gone = self.registry.delete(resource, key, options)
        if gone and resource.plural == "namespaces":
            self._empty(target.name)
        return self._deleted(resource, obj) if gone else answer(shown(resource, obj))

    def _deleted(self, resource: Resource, obj: Obj | None) -> Reply:
        if obj is None:
            raise StatusError(404, "not found")
        if resource.plural in _RETURNED:
            return answer(shown(resource, obj))
        details = {"name": obj["metadata"]["name"], "group": resource.group, "kind": resource.plural,
                   "uid": obj["metadata"]["uid"]}  # fmt: skip
        return answer({**_SUCCESS, "details": details})

    def _empty(self, namespace: str) -> None:
        """What was in a namespace goes with it; pods that a node has are left for it to end."""
        for plural in ("pods", "secrets", "configmaps", "services", "serviceaccounts", "events"):
            for one in self.registry.store.items(plural, namespace):
                resource = core(plural)
                self.registry.delete(resource, (plural, namespace, one["metadata"]["name"]), {})

    def _delete_collection(self, request: Request, target: Target) -> Reply:
        found = self.registry.list(target.resource, target.namespace, request.query)
        options = request.json() if request.body else {}
        for one in found["items"]:
            metadata = one["metadata"]
            key = key_of(target.resource, metadata.get("namespace", ""), metadata["name"])
            self.registry.delete(target.resource, key, options)
        return answer(found)

    # -- subresources that are verbs ------------------------------------------------------------------------------
    def _bind(self, request: Request, target: Target) -> Reply:
        pod = self.registry.get(target.resource, target.namespace, target.name)
        if pod["spec"].get("nodeName"):
            text = (
                f'Operation cannot be fulfilled on pods/binding "{target.name}": pod {target.name} is already assigned'
            )
            raise StatusError(409, text)
        bind(self.registry, ("pods", target.namespace, target.name), request.json()["target"]["name"])
        return answer({**_SUCCESS, "code": 201}, 201)

    def _evict(self, request: Request, target: Target) -> Reply:
        options = request.json().get("deleteOptions") or {}
        self.registry.delete(target.resource, ("pods", target.namespace, target.name), options)
        return answer({**_SUCCESS, "code": 201}, 201)

    def _token(self, request: Request, target: Target) -> Reply:
        account = self.registry.get(target.resource, target.namespace, target.name)
        wanted = typed("TokenRequest", request.json(), strict=not request.user.admin)
        self._admission.admit(request.user, target, account, wanted)
        return answer(self._tokens.create(account, wanted), 201)


def kept_as(resource: Resource) -> Resource:
    """The collection that holds these."""
    return CORE_EVENTS if resource.group == EVENTS else resource


def shown(resource: Resource, obj: Obj) -> Obj:
    return event_forms.to_events_group(obj) if resource.group == EVENTS else obj


def stored(resource: Resource, obj: Obj) -> Obj:
    return event_forms.to_core(obj) if resource.group == EVENTS else obj
