"""Reads static pods from the bytes of a file or an HTTP answer: parses, validates, fills in defaults and identity.

Pure, with plain data in and out, so that a disposable process can read a large manifest (`read_in_process`).
"""

from __future__ import annotations

import os
from typing import Any, Final

import msgspec

from actors.shared.kube import codec
from actors.shared.kube.names import CONFIG_HASH, SOURCE_FILE, SOURCE_HTTP
from actors.shared.kube.pod import Pod
from supervision.documents.model import DocumentError
from supervision.documents.reader import read

from ..validation.errors import FieldError, ManifestError, document_error
from ..validation.limits import DOCUMENT, MAX_BYTES, beyond_limits
from ..validation.pod_rules import always_refused, pod_errors, reference_errors
from ..validation.shape import check_shape, unrelated
from .defaults import fill
from .field_lines import with_lines
from .identity import make_static

_OF_PODS: Final = ("", "pod", "podlist", "list")
"""Kinds, in lower case, of what is a pod, pods, or meant to be."""


class Origin(msgspec.Struct, frozen=True):
    """The source of a manifest, and the node it is for."""

    source: str
    """file or http."""
    place: str
    """Path of the file, or URL."""
    node: str
    allow_references: bool = False
    """The gate PreventStaticPodAPIReferences is off."""


class StaticPod(msgspec.Struct, frozen=True):
    """A static pod of this node. `data` is its JSON, without the time it was first seen."""

    uid: str
    full_name: str
    """`name_namespace`."""
    hash: str
    data: bytes


def read_manifest(data: bytes, origin: Origin) -> list[StaticPod]:
    """The pod of a file; the pod or the PodList of an HTTP answer. Raises ManifestError with all errors, their lines
    included.
    """
    try:
        return _read(data, origin)
    except ManifestError as error:
        raise ManifestError(with_lines(error.errors, data)) from None


def _read(data: bytes, origin: Origin) -> list[StaticPod]:
    document = codec.without_nulls(_document(data))
    if not isinstance(document, dict):
        raise document_error("must be a mapping: a Pod")
    kind = document.get("kind")
    if isinstance(kind, str) and kind.lower() not in _OF_PODS:  # it is another object, whose fields are not a pod's
        raise ManifestError([FieldError("kind", f"must be 'Pod', not {kind[:40]!r}")])
    if origin.source == SOURCE_HTTP and document.get("kind") in ("PodList", "List"):
        return _read_list(document, origin)
    return [_read_pod(document, origin)]


def _document(data: bytes) -> Any:
    try:
        document, _ = read(data, DOCUMENT)
    except DocumentError as error:
        raise ManifestError(FieldError(one.path, one.rule, one.line) for one in error.problems) from None
    if document is None:
        raise document_error("empty")
    return document


def _read_list(document: dict[str, Any], origin: Origin) -> list[StaticPod]:
    items = document.get("items", [])
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise ManifestError([FieldError("items", "must be a list of pods")])
    pods: list[StaticPod] = []
    errors: list[FieldError] = []
    for index, item in enumerate(items):
        try:
            pods.append(_read_pod({"apiVersion": "v1", "kind": "Pod", **item}, origin))
        except ManifestError as error:
            errors += [FieldError(f"items[{index}].{each.path}".rstrip("."), each.text) for each in error.errors]
    if errors:
        raise ManifestError(errors)
    return pods


def _read_pod(plain: dict[str, Any], origin: Origin) -> StaticPod:
    errors = [FieldError(name, "required") for name in ("apiVersion", "kind") if not plain.get(name)]
    wrong, valid = check_shape(plain, Pod)
    errors += wrong
    try:
        pod = codec.decode_pod(codec.encode(fill(msgspec.json.decode(codec.encode(valid)))))
    except (codec.ObjectError, TypeError, AttributeError, KeyError, ValueError):
        if errors:
            raise ManifestError(errors) from None  # a value in a raw field prevents further checks
        raise
    if too_large := list(beyond_limits(pod.spec)):
        raise ManifestError(too_large)
    broken = pod_errors(pod)
    broken += always_refused(pod) if origin.allow_references else reference_errors(pod)
    if errors or broken:
        raise ManifestError([*errors, *unrelated(broken, errors)])
    return _static(plain, origin)


def _static(plain: dict[str, Any], origin: Origin) -> StaticPod:
    # the UID is a hash of the manifest as written, so it is set before the defaults are filled in
    filled = fill(make_static({"metadata": {}, "spec": {}, **plain}, origin.node, origin.source, origin.place))
    meta = filled["metadata"]
    full_name = f"{meta['name']}_{meta['namespace']}"
    return StaticPod(meta["uid"], full_name, meta["annotations"][CONFIG_HASH], codec.encode(filled))


_SAMPLE = b"""\
apiVersion: v1
kind: Pod
metadata: {name: sample, labels: {app: sample}}
spec:
  containers:
  - name: main
    image: sample
    command: [sleep, "1"]
    env: [{name: A, value: b}]
    resources: {limits: {cpu: 200m, memory: 64Mi}}
    volumeMounts: [{name: work, mountPath: /work}]
  volumes: [{name: work, emptyDir: {}}]
"""


def prepare() -> None:
    """Read a sample manifest in the fork server, so that the first real one is not slower than others."""
    read_manifest(_SAMPLE, Origin(SOURCE_FILE, "sample", "node"))


def read_in_process(path: bytes, data: bytes, origin: list[Any]) -> dict[str, Any]:
    """`read_manifest` of `data`, or of the file at `path`, as plain data: `pods` or `errors`. Raises OSError.

    `origin` has the fields of Origin, its place as bytes.
    """
    if path:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    source, place, node, allow_references = origin
    try:
        pods = read_manifest(data, Origin(source, os.fsdecode(place), node, allow_references))
    except ManifestError as error:
        return {"errors": [[each.path, each.text, each.line] for each in error.errors]}
    return {"pods": [[pod.uid, pod.full_name, pod.hash, pod.data] for pod in pods]}


def from_process(result: dict[str, Any]) -> list[StaticPod]:
    """The static pods from the result of `read_in_process`. Raises ManifestError."""
    if "errors" in result:
        raise ManifestError([FieldError(*fields) for fields in result["errors"]])
    return [StaticPod(*fields) for fields in result["pods"]]


__all__ = ["SOURCE_FILE", "SOURCE_HTTP", "Origin", "StaticPod", "from_process", "read_in_process", "read_manifest"]
