"""Create, read, update, patch and delete of stored objects, as the generic registry of the real server does them."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import msgspec

from . import selectors
from .deletion import check_preconditions, delete, finished
from .errors import StatusError, conflict, invalid, not_found
from .node_rules import address_causes, event_causes, lease_causes, node_causes
from .objects import Obj, copy
from .patches import patched
from .pod_rules import Cause
from .pod_status_rules import keep_status_fields, status_causes
from .request import User
from .resources import CORE_EVENTS, Resource
from .storage import Key, Store
from .strategies import prepare_create, prepare_update

MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"
Admit = Callable[[Obj, Obj], None]
"""Raises StatusError for a change, old and new, that is not to be."""
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
            metadata |= {"continue": _token(revision, items[limit - 1]), "remainingItemCount": len(items) - limit}
            items = items[:limit]
        bare = [{key: value for key, value in one.items() if key not in ("kind", "apiVersion")} for one in items]
        return {"kind": f"{resource.kind}List", "apiVersion": resource.api_version, "metadata": metadata, "items": bare}

    def _position(self, query: dict[str, str]) -> tuple[int, tuple[str, str]]:
        if token := query.get("continue"):
            revision, namespace, name = msgspec.json.decode(base64.urlsafe_b64decode(token))
            if revision < self.store.compacted:
                raise StatusError(410, "The provided continue parameter is too old to display a consistent list result")
            return revision, (namespace, name)
        wanted = int(query.get("resourceVersion") or 0)
        if wanted > self.store.revision:
            text = f"Too large resource version: {wanted}, current: {self.store.revision}"
            causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
            raise StatusError(504, text, reason="Timeout", retry_after=1, causes=causes)
        return self.store.revision, ("", "")

    # -- writing --------------------------------------------------------------------------------------------------
    def create(self, resource: Resource, namespace: str, obj: Obj, user: User) -> Obj:
        """Raises StatusError 400, 404 (no such namespace), 409, 422."""
        made: Obj = copy(obj)
        self._identify(resource, namespace, made)
        generated = not made["metadata"].get("name")
        prepare_create(resource, made, user)
        key = key_of(resource, namespace, made["metadata"]["name"])
        if causes := _RULES.get(resource.kind, _no_causes)(made, None):
            invalid(resource.kind, key[2], causes)
        if resource.namespaced:
            self._in_namespace(resource, namespace, key[2])
        if self.store.get(key) is not None:
            reason, text = "AlreadyExists", f'{resource.qualified} "{key[2]}" already exists'
            raise StatusError(409, text, reason=reason, name=key[2], kind=resource.plural, generated=generated)
        return self.store.put(key, made)

    def _in_namespace(self, resource: Resource, namespace: str, name: str) -> None:
        found = self.store.get(("namespaces", "", namespace))
        if found is None:
            not_found("namespaces", namespace)
        if "deletionTimestamp" in found["metadata"]:
            raise StatusError(403, f'{resource.qualified} "{name}" is forbidden: unable to create new content in '
                                   f"namespace {namespace} because it is being terminated")  # fmt: skip

    def _identify(self, resource: Resource, namespace: str, obj: Obj) -> None:
        """The object is of the kind and namespace that the path says. Raises StatusError 400."""
        for field, wanted in (("kind", resource.kind), ("apiVersion", resource.api_version)):
            if obj.setdefault(field, wanted) != wanted:
                raise StatusError(
                    400, f"the {field} in the data ({obj[field]}) does not match the expected one ({wanted})"
                )
        metadata = obj.setdefault("metadata", {})
        if resource.namespaced and not metadata.get("namespace"):
            metadata["namespace"] = namespace
        if resource.namespaced and metadata["namespace"] != namespace:
            raise StatusError(
                400, "the namespace of the provided object does not match the namespace sent on the request"
            )
        if not resource.namespaced:
            metadata.pop("namespace", None)

    def update(self, resource: Resource, key: Key, obj: Obj, subresource: str, admit: Admit) -> Obj:
        """PUT."""
        current = self.store.get(key)
        if current is None:
            not_found(resource.qualified, key[2])
        made: Obj = copy(obj)
        self._identify(resource, key[1], made)
        if made["metadata"].get("name", key[2]) != key[2]:
            text = f"the name of the object ({made['metadata']['name']}) does not match the name on the URL ({key[2]})"
            raise StatusError(400, text)
        if made["metadata"].get("uid"):
            check_preconditions(resource, current, {"preconditions": {"uid": made["metadata"]["uid"]}})
        return self._replace(resource, key, current, made, (subresource, admit))

    def patch(self, resource: Resource, key: Key, how: Patching, subresource: str, admit: Admit) -> Obj:
        current = self.store.get(key)
        if current is None:
            not_found(resource.qualified, key[2])
        form, body, read = how
        made = read(patched(resource.kind, form, current, body))
        return self._replace(resource, key, current, made, (subresource, admit))

    def _replace(self, resource: Resource, key: Key, current: Obj, made: Obj, how: tuple[str, Admit]) -> Obj:
        """Who may not is told so before anything else: of a pod of another node nobody learns its version."""
        subresource, admit = how
        metadata = made.setdefault("metadata", {})
        admit(current, made)
        if metadata.get("resourceVersion") and metadata["resourceVersion"] != current["metadata"]["resourceVersion"]:
            conflict(resource.qualified, key[2], MODIFIED)
        if metadata.get("uid") and metadata["uid"] != current["metadata"]["uid"]:
            text = f'Invalid value: "{metadata["uid"]}": field is immutable'
            invalid(resource.kind, key[2], [("metadata.uid", "FieldValueInvalid", text)])
        prepare_update(resource, current, made, subresource)
        if resource.plural == "pods" and subresource == "status":
            keep_status_fields(current, made)
            if causes := status_causes(current, made) + address_causes(made):
                invalid("Pod", key[2], causes)
        if causes := _RULES.get(resource.kind, _no_causes)(made, current):
            invalid(resource.kind, key[2], causes)
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
    return base64.urlsafe_b64encode(msgspec.json.encode([revision, *_place(last)])).decode()
