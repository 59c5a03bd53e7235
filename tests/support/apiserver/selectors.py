"""labelSelector and fieldSelector: text to a predicate."""

from __future__ import annotations

import re
from collections.abc import Callable

from .errors import StatusError
from .objects import Obj, dig

Predicate = Callable[[Obj], bool]
_TERM = re.compile(r"\s*(!?)\s*([A-Za-z0-9_./-]+)\s*(?:(==|=|!=)\s*([^,()]*)|\s+(in|notin)\s*\(([^)]*)\))?\s*(?:,|$)")

FIELDS = {
    "pods": ("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
             "spec.hostNetwork", "status.phase", "status.podIP", "status.nominatedNodeName"),
    "nodes": ("spec.unschedulable",),
    "secrets": ("type",),
    "namespaces": ("status.phase",),
    "events": ("involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
               "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath", "reason",
               "reportingComponent", "source", "type"),
    "certificatesigningrequests": ("spec.signerName",),
    "podcertificaterequests": ("spec.signerName", "spec.podName", "spec.nodeName"),
    "resourceslices": ("spec.nodeName", "spec.driver"),
}  # fmt: skip


def labels(text: str) -> Predicate:
    """Raises StatusError 400."""
    terms, position = [], 0
    while position < len(text):
        found = _TERM.match(text, position)
        if found is None or found.end() == position:
            raise StatusError(400, f"unable to parse requirement: {text!r}")
        terms.append(_label_term(found))
        position = found.end()
    return lambda obj: all(term(dig(obj, "metadata.labels", None) or {}) for term in terms)


def _label_term(found: re.Match[str]) -> Callable[[dict[str, str]], bool]:
    absent, key, sign, value, word, among = found.groups()
    if word:
        values = {one.strip() for one in among.split(",")}
        if word == "in":
            return lambda has: has.get(key) in values
        return lambda has: key not in has or has[key] not in values
    if sign in ("=", "=="):
        return lambda has: has.get(key) == value.strip()
    if sign == "!=":
        return lambda has: has.get(key) != value.strip()
    return (lambda has: key not in has) if absent else (lambda has: key in has)


def matches(selector: Obj, has: dict[str, str]) -> bool:
    """metav1.LabelSelector; an empty one takes all."""
    for key, value in (selector.get("matchLabels") or {}).items():
        if has.get(key) != value:
            return False
    return all(
        _EXPRESSIONS[one["operator"]](has.get(one["key"]), one) for one in selector.get("matchExpressions") or []
    )


_EXPRESSIONS: dict[str, Callable[[str | None, Obj], bool]] = {
    "In": lambda value, one: value in one["values"],
    "NotIn": lambda value, one: value not in one["values"],
    "Exists": lambda value, one: value is not None,
    "DoesNotExist": lambda value, one: value is None,
}


def field_terms(text: str) -> list[tuple[str, bool, str]]:
    """(field, equal, value) of each term."""
    terms = []
    for part in filter(None, (one.strip() for one in text.split(","))):
        found = re.fullmatch(r"([^=!]+)(!=|==|=)(.*)", part)
        if found is None:
            raise StatusError(400, f"invalid selector: '{text}'; can't understand '{part}'")
        terms.append((found[1].strip(), found[2] != "!=", found[3].strip()))
    return terms


def fields(plural: str, text: str) -> Predicate:
    """Raises StatusError 400 for fields that this kind cannot be selected by."""
    terms = field_terms(text)
    known = ("metadata.name", "metadata.namespace", *FIELDS.get(plural, ()))
    for field, _, _ in terms:
        if field not in known:
            unknown = f'"{field}" is not a known field selector: only "metadata.name", "metadata.namespace"'
            raise StatusError(400, f"field label not supported: {field}" if plural in FIELDS else unknown)
    return lambda obj: all((_text(dig(obj, field, "")) == value) is equal for field, equal, value in terms)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
