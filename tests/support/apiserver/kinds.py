"""Whether a body is of the kind that its path takes."""

from __future__ import annotations

from .errors import StatusError
from .objects import Obj
from .resources import BY_KIND, Resource

PARTS = {
    "binding": ("v1", "Binding"),
    "eviction": ("policy/v1", "Eviction"),
    "token": ("authentication.k8s.io/v1", "TokenRequest"),
    "scale": ("autoscaling/v1", "Scale"),
}
"""Version and kind of what is sent to a subresource that is not a part of its object."""


def taken(resource: Resource, subresource: str) -> tuple[str, str]:
    """Version and kind of what a path takes."""
    return PARTS.get(subresource, (resource.api_version, resource.kind))


def check_kind(obj: Obj, api_version: str, kind: str) -> None:
    """Fills in what is left out. Raises StatusError 400."""
    said = obj.get("apiVersion") or api_version, obj.get("kind") or kind
    if said != (api_version, kind):
        version = said[0].rpartition("/")[2]
        why = f'no kind "{said[1]}" is registered for version "{said[0]}" in scheme "fake"'
        if said in BY_KIND or said in PARTS.values():
            why = f"converting ({version}.{said[1]}) to ({kind}): unknown conversion"
        raise StatusError(400, f'{said[1]} in version "{version}" cannot be handled as a {kind}: {why}')
    obj["apiVersion"], obj["kind"] = said


def check_delete_options(obj: Obj) -> None:
    """Raises StatusError 400."""
    kind = obj.get("kind", "")
    if kind not in ("", "DeleteOptions"):
        text = f'no kind "{kind}" is registered for version "{obj.get("apiVersion", "")}" in scheme "fake"'
        raise StatusError(400, text)
