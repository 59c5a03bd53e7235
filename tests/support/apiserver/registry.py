"""Create, read, update, patch and delete of stored objects, as the generic registry of the real server does them."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from . import selectors
from .certificate_requests import request_causes
from .certificate_rules import bundle_causes
from .deletion import delete, finished, new_finalizers
from .errors import StatusError, already_exists, conflict, forbidden, invalid, not_found
from .kinds import check_kind
from .node_rules import address_causes, event_causes, lease_causes, node_causes
from .objects import Obj, copy
from .patches import patched
from .pod_rules import Cause
from .pod_status_rules import keep_status_fields, status_causes
from .request import User
from .resources import CORE_EVENTS, Resource
from .storage import Key, Store
from .strategies import prepare_create, prepare_update

TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)
MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"
Admit = Callable[[Obj, Obj], None]
"""Raises StatusError for a change, old and new, that is not to be."""


@dataclass(frozen=True)
class Update:
    """How an object is changed: which part of it, who may, and whether it is only tried (`dry`)."""

    subresource: str
    admit: Admit
    dry: bool = False


Patching = tuple[str, bytes, Callable[[Obj], Obj]]
"""Content type and body, and what reads the result as its type."""


def key_of(resource: Resource, namespace: str, name: str) -> Key:
    """Events of both groups are the same ones."""
    plural = CORE_EVENTS.plural if resource.plural == "events" else resource.qualified
    return plural, namespace if resource.namespaced else "", name


class Registry:
    def __init__(self, store: Store) -> None:
        self.store = store

    # -- reading --------------------------------------------------------------------------------------------------
    def get(self, resource: Resource, namespace: str, name: str) -> Obj:
        """Raises StatusError 404."""
        found = self.store.get(key_of(resource, namespace, name))
        if found is None:
            not_found(resource.qualified, name)
        return found

    def list(self, resource: Resource, namespace: str, query: dict[str, str], stale: int = 0) -> Obj:
        """A list, paged by `limit` and `continue`. `stale`: as it was that many changes ago."""
        revision, start = self._position(query)
        revision = max(1, revision - stale)
        plural = key_of(resource, "", "")[0]
        if revision == self.store.revision:
            items = self.store.items(plural, namespace)
        else:
            items = self.store.list_at(plural, namespace, revision)
        wanted = selection(resource, query)
        items = [one for one in items if _place(one) > start and wanted(one)]
        metadata: Obj = {"resourceVersion": str(revision)}
        limit = int(query.get("limit") or 0)
        if limit and len(items) > limit:
            metadata["continue"] = _token(revision, items[limit - 1])
            if not (query.get("labelSelector") or query.get("fieldSelector")):
                metadata["remainingItemCount"] = len(items) - limit
            items = items[:limit]
        bare = [{key: value for key, value in one.items() if key not in ("kind", "apiVersion")} for one in items]
        return {"kind": f"{resource.kind}List", "apiVersion": resource.api_version, "metadata": metadata, "items": bare}

    def _position(self, query: dict[str, str]) -> tuple[int, tuple[str, str]]:
        if token := query.get("continue"):
            try:
                revision, namespace, name = msgspec.json.decode(base64.urlsafe_b64decode(token))
            except (ValueError, msgspec.DecodeError) as error:
                raise StatusError(400, f"invalid continue token: continue key is not valid: {error}") from None
            if revision and revision < self.store.compacted:
                expired = StatusError(410, TOO_OLD)
                expired.metadata = {"continue": _encoded(0, namespace, name)}
                raise expired
            return revision or self.store.revision, (namespace, name)
        wanted = version_of(query)
        if wanted > self.store.revision:
            text = f"Timeout: Too large resource version: {wanted}, current: {self.store.revision}"
            causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
            raise StatusError(504, text, reason="Timeout", retry_after=1, causes=causes)
        return self.store.revision, ("", "")

    # -- writing --------------------------------------------------------------------------------------------------
    def create(self, resource: Resource, namespace: str, obj: Obj, user: User, dry: bool = False) -> Obj:
        """Raises StatusError 400, 404 (no such namespace), 409, 422."""
        made: Obj = copy(obj)
        self._identify(resource, namespace, made)
        prepare_create(resource, made, user)
        key = key_of(resource, namespace, made["metadata"]["name"])
        if causes := _RULES.get(resource.kind, _no_causes)(made, None):
            invalid(resource.qualified_kind, key[2], causes)
        if resource.namespaced:
            self._in_namespace(resource, namespace, key[2])
        if self.store.get(key) is not None:
            already_exists(resource.qualified, key[2])
        return made if dry else self.store.put(key, made)

    def _in_namespace(self, resource: Resource, namespace: str, name: str) -> None:
        found = self.store.get(("namespaces", "", namespace))
        if found is None:
            not_found("namespaces", namespace)
        if "deletionTimestamp" in found["metadata"]:
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            forbidden(resource.qualified, name, why)

    def _identify(self, resource: Resource, namespace: str, obj: Obj) -> None:
        """The object is of the kind and namespace that the path says. Raises StatusError 400."""
        check_kind(obj, resource.api_version, resource.kind)
        metadata = obj.setdefault("metadata", {})
        if resource.namespaced and not metadata.get("namespace"):
            metadata["namespace"] = namespace
        if resource.namespaced and metadata["namespace"] != namespace:
            raise StatusError(
                400, "the namespace of the provided object does not match the namespace sent on the request"
            )
        if not resource.namespaced:
            metadata.pop("namespace", None)

    def update(self, resource: Resource, key: Key, obj: Obj, how: Update) -> Obj:
        """PUT."""
        current = self.store.get(key)
        if current is None:
            not_found(resource.qualified, key[2])
        made: Obj = copy(obj)
        self._identify(resource, key[1], made)
        if made["metadata"].get("name", key[2]) != key[2]:
            text = f"the name of the object ({made['metadata']['name']}) does not match the name on the URL ({key[2]})"
            raise StatusError(400, text)
        wanted, has = made["metadata"].get("uid"), current["metadata"]["uid"]
        if wanted and wanted != has:
            place = "/".join(part for part in ("/registry", *key) if part)
            text = f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {has}"
            text = (
                f"StorageError: invalid object, Code: 4, Key: {place}, ResourceVersion: 0, AdditionalErrorMsg: {text}"
            )
            conflict(resource.qualified, key[2], text)
        return self._replace(resource, key, current, made, how)

    def patch(self, resource: Resource, key: Key, patch: Patching, how: Update) -> Obj:
        current = self.store.get(key)
        if current is None:
            not_found(resource.qualified, key[2])
        form, body, read = patch
        made = read(patched(resource.kind, form, current, body))
        check_kind(made, resource.api_version, resource.kind)
        return self._replace(resource, key, current, made, how)

    def _replace(self, resource: Resource, key: Key, current: Obj, made: Obj, how: Update) -> Obj:
        """Who may not is told so before anything else: of a pod of another node nobody learns its version."""
        metadata = made.setdefault("metadata", {})
        how.admit(current, made)
        if metadata.get("resourceVersion") and metadata["resourceVersion"] != current["metadata"]["resourceVersion"]:
            conflict(resource.qualified, key[2], MODIFIED)
        if metadata.get("uid") and metadata["uid"] != current["metadata"]["uid"]:
            text = f'Invalid value: "{metadata["uid"]}": field is immutable'
            invalid(resource.qualified_kind, key[2], [("metadata.uid", "FieldValueInvalid", text)])
        prepare_update(resource, current, made, how.subresource)
        if causes := new_finalizers(current, made):
            invalid(resource.qualified_kind, key[2], causes)
        if resource.plural == "pods" and how.subresource == "status":
            keep_status_fields(current, made)
            if causes := status_causes(current, made) + address_causes(made):
                invalid("Pod", key[2], causes)
        if causes := _RULES.get(resource.kind, _no_causes)(made, current):
            invalid(resource.qualified_kind, key[2], causes)
        if how.dry:
            return made
        if finished(made):
            return self.store.remove(key)
        metadata["resourceVersion"] = current["metadata"]["resourceVersion"]
        return current if made == current else self.store.put(key, made)

    def delete(self, resource: Resource, key: Key, options: Obj) -> tuple[Obj, bool]:
        """The object, and whether it is gone. Raises StatusError 404, 409."""
        if self.store.get(key) is None:
            not_found(resource.qualified, key[2])
        return delete(self.store, resource, key, options)

    def change(self, key: Key, edit: Any) -> Obj:
        """For the server's own controllers: stores a copy that `edit` has changed, if it did."""
        current = self.store.get(key)
        assert current is not None
        made: Obj = copy(current)
        edit(made)
        return current if made == current else self.store.put(key, made)


def _no_causes(new: Obj, old: Obj | None) -> list[Cause]:
    return []


_RULES: dict[str, Callable[[Obj, Obj | None], list[Cause]]] = {
    "Node": node_causes,
    "Lease": lambda new, old: lease_causes(new),
    "Event": lambda new, old: event_causes(new),
    "ClusterTrustBundle": bundle_causes,
    "PodCertificateRequest": request_causes,
}


def selection(resource: Resource, query: dict[str, str]) -> selectors.Predicate:
    """Raises StatusError 400."""
    labelled, has_fields = query.get("labelSelector", ""), query.get("fieldSelector", "")
    by_label = selectors.labels(labelled) if labelled else None
    by_field = selectors.fields(resource.plural, has_fields) if has_fields else None
    return lambda obj: (by_label is None or by_label(obj)) and (by_field is None or by_field(obj))


def _place(obj: Obj) -> tuple[str, str]:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def _token(revision: int, last: Obj) -> str:
    return _encoded(revision, *_place(last))


def _encoded(revision: int, namespace: str, name: str) -> str:
    """A continue token. Revision 0: as it is then, so the list is not of one moment."""
    return base64.urlsafe_b64encode(msgspec.json.encode([revision, namespace, name])).decode()


def version_of(query: dict[str, str]) -> int:
    """`resourceVersion`. Raises StatusError 400."""
    text = query.get("resourceVersion") or "0"
    if not text.isdigit():
        why = f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
        raise StatusError(400, f"invalid resource version: {why}")
    return int(text)
