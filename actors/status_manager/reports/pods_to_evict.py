"""The pods as the eviction manager gets them every few seconds: without what can be large and says nothing about their
use of the node, such as environments, commands and labels. Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from actors.shared.kube.names import CONFIG_MIRROR, CONFIG_SOURCE

_KEPT_ANNOTATIONS: Final = (CONFIG_SOURCE, CONFIG_MIRROR)


class _Part(msgspec.Struct, frozen=True, omit_defaults=True):
    """Part of a pod; other fields are dropped."""


class _Container(_Part, frozen=True):
    name: str
    resources: msgspec.Raw = msgspec.Raw()
    restartPolicy: msgspec.Raw = msgspec.Raw()


class _Volume(_Part, frozen=True):
    name: str
    emptyDir: msgspec.Raw = msgspec.Raw()
    hostPath: msgspec.Raw = msgspec.Raw()
    configMap: msgspec.Raw = msgspec.Raw()
    gitRepo: msgspec.Raw = msgspec.Raw()


class _Spec(_Part, frozen=True):
    containers: list[_Container] = []
    initContainers: list[_Container] = []
    volumes: list[_Volume] = []
    priority: msgspec.Raw = msgspec.Raw()
    priorityClassName: msgspec.Raw = msgspec.Raw()
    terminationGracePeriodSeconds: msgspec.Raw = msgspec.Raw()
    overhead: msgspec.Raw = msgspec.Raw()
    resources: msgspec.Raw = msgspec.Raw()


class _Meta(_Part, frozen=True):
    uid: str = ""
    namespace: str = ""
    name: str = ""
    deletionGracePeriodSeconds: msgspec.Raw = msgspec.Raw()
    annotations: dict[str, str] = {}


class _Pod(_Part, frozen=True):
    metadata: _Meta
    spec: _Spec


_decoder: Final = msgspec.json.Decoder(_Pod)
_encoder: Final = msgspec.json.Encoder()


def what_counts(pod: bytes) -> bytes:
    """The pod's JSON, without all that evictions do not read. `pod`: JSON that the pod workers have read."""
    read = _decoder.decode(pod)
    kept = {name: value for name, value in read.metadata.annotations.items() if name in _KEPT_ANNOTATIONS}
    metadata = msgspec.structs.replace(read.metadata, annotations=kept)
    return _encoder.encode(msgspec.structs.replace(read, metadata=metadata))
