"""TokenReview, SelfSubjectReview, SubjectAccessReview and SelfSubjectAccessReview: answered, not kept."""

from __future__ import annotations

from .authorizer import Attributes, Authorizer
from .objects import Obj, dig
from .request import User
from .resources import Resource
from .tokens import ISSUER
from .users import Users


def review(resource: Resource, body: Obj, asker: User, users: Users, authorizer: Authorizer) -> Obj:
    """The object with its status."""
    spec = body.get("spec") or {}
    made = {
        "kind": resource.kind,
        "apiVersion": resource.api_version,
        "metadata": {"creationTimestamp": None},
        "spec": spec,
    }
    if resource.plural == "tokenreviews":
        return {**made, "status": _token(spec, users)}
    if resource.plural == "selfsubjectreviews":
        return {
            **made,
            "status": {"userInfo": {"username": asker.name, "uid": asker.uid, "groups": list(asker.groups)}},
        }
    if resource.plural == "subjectaccessreviews":
        asker = User(spec.get("user", ""), tuple(spec.get("groups") or ()), spec.get("uid", ""))
    return {**made, "status": _access(spec, asker, authorizer)}


def _token(spec: Obj, users: Users) -> Obj:
    audiences = tuple(spec.get("audiences") or ())
    user = users.by_token(spec.get("token", ""), audiences)
    if user is None:
        return {"user": {}, "authenticated": False, "error": "invalid bearer token"}
    found: Obj = {"username": user.name, "uid": user.uid, "groups": list(user.groups)}
    if user.extra:
        found["extra"] = user.extra
    return {"authenticated": True, "user": found, "audiences": list(audiences or (ISSUER,))}


def _access(spec: Obj, user: User, authorizer: Authorizer) -> Obj:
    if "nonResourceAttributes" in spec:
        wanted = spec["nonResourceAttributes"]
        attributes = Attributes(user, wanted.get("verb", ""), path=wanted.get("path", ""))
    else:
        wanted = spec.get("resourceAttributes") or {}
        attributes = Attributes(
            user,
            wanted.get("verb", ""),
            group=wanted.get("group", ""),
            resource=wanted.get("resource", ""),
            subresource=wanted.get("subresource", ""),
            namespace=wanted.get("namespace", ""),
            name=wanted.get("name", ""),
            field_selector=_selector(dig(wanted, "fieldSelector", {}) or {}),
        )
    why = authorizer.allows(attributes)
    return {"allowed": False, "reason": why} if why else {"allowed": True, "reason": "RBAC: allowed"}


def _selector(wanted: Obj) -> str:
    """As text, of either form."""
    if wanted.get("rawSelector"):
        return str(wanted["rawSelector"])
    return ",".join(f"{one['key']}={one['values'][0]}" for one in wanted.get("requirements") or ())
