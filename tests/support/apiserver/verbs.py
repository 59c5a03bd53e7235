"""What the verbs do with a collection."""

from __future__ import annotations

import msgspec

from . import event_forms, signing, tables
from .admission import Admission
from .errors import generic
from .faults import Faults
from .kinds import check_delete_options, check_kind
from .objects import Obj
from .options import Options
from .parts import SUCCESS, Parts
from .patches import APPLY, FORMS
from .registry import Registry, Update, key_of
from .request import Reply, Request, Stream, Target, User, answer
from .request_body import READ, check_accept, check_content_type, read_as
from .resources import CORE_EVENTS, EVENTS, Resource, core
from .tokens import Tokens
from .watch_stream import Watch, check_options, events

_RETURNED = ("pods", "serviceaccounts", "services", "persistentvolumes", "persistentvolumeclaims")


class Verbs:
    def __init__(self, registry: Registry, tokens: Tokens, options: Options, faults: Faults) -> None:
        self.registry, self._options, self._faults = registry, options, faults
        self._admission = Admission(registry, options)
        self._parts = Parts(registry, tokens, self._admission)

    def perform(self, request: Request, target: Target) -> Reply:
        """Raises StatusError."""
        if target.subresource and target.subresource not in target.resource.subresources:
            raise generic(404)
        if not _allowed(target, self._parts.has(target.subresource)):
            raise generic(405)
        check_accept(request)
        check_content_type(request, FORMS if target.verb == "patch" else READ)
        if self._parts.has(target.subresource):
            return self._parts.perform(request, target)
        if target.verb in ("get", "list", "watch"):
            return self._read(request, target)
        return self._write(request, target)

    # -- reading --------------------------------------------------------------------------------------------------
    def _read(self, request: Request, target: Target) -> Reply:
        resource, accept = target.resource, request.headers.get("accept", "")
        if target.verb == "watch":
            check_options(request.query)
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
            options = request.json() if request.body else {}
            check_delete_options(options)
            options = read_as("DeleteOptions", options, request)
            if "gracePeriodSeconds" in request.query:
                options["gracePeriodSeconds"] = int(request.query["gracePeriodSeconds"])
            return self._deleted(resource, old) if dry else self._delete(resource, target, options)
        return self._changed(request, target, dry)

    def _created(self, request: Request, target: Target, dry: bool = False, body: Obj | None = None) -> Reply:
        obj = request.json() if body is None else body
        check_kind(obj, target.resource.api_version, target.resource.kind)
        obj = read_as(target.resource.kind, stored(target.resource, obj), request)
        return answer(shown(target.resource, self.create(target, obj, request.user, dry)), 201)

    def create(self, target: Target, obj: Obj, user: User, dry: bool = False) -> Obj:
        """May change `obj`. Raises StatusError."""
        obj.setdefault("metadata", {})
        self._admission.admit(user, target, None, obj)
        if target.resource.plural == "certificatesigningrequests":
            signing.check(obj)
        return self.registry.create(kept_as(target.resource), target.namespace, obj, user, dry)

    def _changed(self, request: Request, target: Target, dry: bool) -> Reply:
        resource, key = kept_as(target.resource), key_of(target.resource, target.namespace, target.name)
        form, body = request.headers.get("content-type", ""), request.body

        def read(obj: Obj) -> Obj:
            return read_as(resource.kind, obj, request)

        def admit(old: Obj, new: Obj) -> None:
            self._admission.admit(request.user, target, old, new)

        how = Update(target.subresource, admit, dry)
        if target.verb == "update":
            obj = request.json()
            check_kind(obj, target.resource.api_version, target.resource.kind)
            obj = read(stored(target.resource, obj))
            return answer(shown(target.resource, self.registry.update(resource, key, obj, how)))
        if form.startswith(APPLY) and not target.subresource and self.registry.store.get(key) is None:
            applied = msgspec.yaml.decode(body)
            applied.setdefault("metadata", {})["name"] = target.name
            return self._created(request, target, dry, applied)
        if target.resource.group == EVENTS:
            body = msgspec.json.encode(event_forms.to_core(msgspec.json.decode(body)))
        made = self.registry.patch(resource, key, (form, body, read), how)
        return answer(shown(target.resource, made))

    def _delete(self, resource: Resource, target: Target, options: Obj) -> Reply:
        key = key_of(resource, target.namespace, target.name)
        obj, gone = self.registry.delete(resource, key, options)
        if gone and resource.plural == "namespaces":
            self._empty(target.name)
        return self._deleted(resource, obj) if gone else answer(shown(resource, obj))

    def _deleted(self, resource: Resource, obj: Obj | None) -> Reply:
        if obj is None:
            raise generic(404)
        if resource.plural in _RETURNED:
            return answer(shown(resource, obj))
        details = {"name": obj["metadata"]["name"], "group": resource.group, "kind": resource.plural,
                   "uid": obj["metadata"]["uid"]}  # fmt: skip
        return answer({**SUCCESS, "details": {name: value for name, value in details.items() if value}})

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


def _allowed(target: Target, verb_of_its_own: bool) -> bool:
    """Whether the path has this method."""
    if verb_of_its_own or (target.verb == "create" and target.subresource):
        return target.verb == "create" and verb_of_its_own
    return target.verb != "create" if target.name else target.verb not in ("update", "patch")


def kept_as(resource: Resource) -> Resource:
    """The collection that holds these."""
    return CORE_EVENTS if resource.group == EVENTS else resource


def shown(resource: Resource, obj: Obj) -> Obj:
    return event_forms.to_events_group(obj) if resource.group == EVENTS else obj


def stored(resource: Resource, obj: Obj) -> Obj:
    return event_forms.to_core(obj) if resource.group == EVENTS else obj
