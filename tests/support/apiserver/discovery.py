"""/version, /api, /apis and what is in each group: what kubectl asks before it asks for anything."""

from __future__ import annotations

from .objects import Obj
from .resources import RESOURCES, Resource

VERSION = {"major": "1", "minor": "36", "gitVersion": "v1.36.0", "gitCommit": "", "gitTreeState": "clean",
           "buildDate": "2026-04-22T00:00:00Z", "goVersion": "go1.26", "compiler": "gc",
           "platform": "linux/amd64"}  # fmt: skip
_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
_OPENAPI: Obj = {
    "swagger": "2.0",
    "info": {"title": "Kubernetes", "version": "v1.36.0"},
    "paths": {},
    "definitions": {},
}


def document(path: str, address: str) -> Obj | None:
    """What is at this path, if it is one of these."""
    path = path.rstrip("/")
    fixed: dict[str, Obj] = {
        "/version": dict(VERSION),
        "/openapi/v2": _OPENAPI,
        "/openapi/v3": {"paths": {base[1:]: {"serverRelativeURL": f"/openapi/v3{base}?hash=1"} for base in _bases()}},
        "/api": {"kind": "APIVersions", "versions": ["v1"],
                 "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]},
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(one) for one in _groups()]},
    }  # fmt: skip
    if path in fixed:
        return fixed[path]
    if path.startswith("/openapi/v3/"):
        return _openapi(path.removeprefix("/openapi/v3"))
    here = [one for one in RESOURCES if one.base == path]
    if here:
        listed = [entry for one in here for entry in _entries(one)]
        return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": here[0].api_version, "resources": listed}
    group = path.removeprefix("/apis/")
    return {**_group(group), "kind": "APIGroup", "apiVersion": "v1"} if group in _groups() else None


def _bases() -> list[str]:
    return sorted({one.base for one in RESOURCES})


def _openapi(base: str) -> Obj:
    """Only what tells kubectl that the server validates fields, so that kubectl need not."""
    paths = {}
    for one in RESOURCES:
        if one.base == base:
            kind = {"group": one.group, "version": one.version, "kind": one.kind}
            parameters = [{"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}]
            patch = {"x-kubernetes-group-version-kind": kind, "parameters": parameters, "responses": {}}
            paths[f"{base}/{one.plural}/{{name}}"] = {"patch": patch}
    return {"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "v1.36.0"}, "paths": paths}


def _groups() -> list[str]:
    return sorted({one.group for one in RESOURCES} - {""})


def _group(name: str) -> Obj:
    found = dict.fromkeys(one.version for one in RESOURCES if one.group == name)
    versions = [{"groupVersion": f"{name}/{version}", "version": version} for version in found]
    return {"name": name, "versions": versions, "preferredVersion": versions[0]}


def _entries(resource: Resource) -> list[Obj]:
    entry: Obj = {"name": resource.plural, "singularName": resource.kind.lower(), "namespaced": resource.namespaced,
                  "kind": resource.kind, "verbs": _VERBS if resource.stored else ["create"]}  # fmt: skip
    if resource.short:
        entry["shortNames"] = list(resource.short)
    if resource.plural in ("pods", "services", "daemonsets", "deployments"):
        entry["categories"] = ["all"]
    parts = [
        {"name": f"{resource.plural}/{part}", "singularName": "", "namespaced": resource.namespaced,
         "kind": resource.kind, "verbs": ["create", "get", "patch", "update"]}
        for part in resource.subresources
    ]  # fmt: skip
    return [entry, *parts]
