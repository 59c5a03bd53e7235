"""Pods in protobuf, as Kubernetes' API writes them, from their JSON. Pure. Imported for the first client.

Fields that proto/k8s_pod.proto lacks are omitted, as in a program built with that version of the API.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from actors.shared.kube.protobuf.writing import write
from proto import k8s_pod_pb2 as core


class EncodedPod(NamedTuple):
    data: bytes
    left_out: list[str]
    """Paths of fields whose value is not of the field's type, such as `spec.hostUsers`."""


def encoded(pod: bytes) -> EncodedPod:
    """`pod`: JSON of a v1 Pod. Raises msgspec.DecodeError."""
    written = write(core.Pod.DESCRIPTOR, msgspec.json.decode(pod, type=dict[str, Any]))
    return EncodedPod(written.data, written.unfit)
