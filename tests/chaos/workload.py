"""The pods of a chaos run of a joined agent: how they are made, and what each may come to."""

from __future__ import annotations

from dataclasses import dataclass

from tests.support.api_connection import Obj
from tests.support.joined import container, pod

from .model import Sort

SECRET, CONFIG_MAP = "chaos-secret", "chaos-config"
ILL = "/tmp/ill"
"""A file in the container that makes it unready."""
TALKER = "talker"
_PATIENT = {"periodSeconds": 1, "timeoutSeconds": 20}
"""A busy machine is not to be taken for an ill container."""
_TALKS = "n=0; trap 'exit 0' TERM; while :; do echo line $n; n=$((n+1)); sleep 0.5; done"
_SCRIPTS = {"crashes": "sleep 4; exit 1", "succeeds": "sleep 6; exit 0", "fails": "sleep 6; exit 3"}
ENDS = {"succeeds": "Succeeded", "fails": "Failed"}


@dataclass
class Wanted:
    """A pod that was created and not deleted."""

    sort: Sort
    uid: str = ""
    ends: int = 0
    """How often its container may have ended, and been started again: so often it was killed."""
    label: str = "0"


def made(name: str, sort: Sort) -> Obj:
    if sort in ENDS:
        return pod(name, container("main", "sh", "-c", _SCRIPTS[sort]), restartPolicy="Never")
    if sort == "crashes":
        return pod(name, container("main", "sh", "-c", _SCRIPTS[sort]))
    if sort == "calm":
        ready = {"exec": {"command": ["sh", "-c", f"test ! -e {ILL}"]}, "failureThreshold": 1, **_PATIENT}
        alive = {"exec": {"command": ["true"]}, "failureThreshold": 2, **_PATIENT}
        return pod(name, container("main", readinessProbe=ready, livenessProbe=alive))
    labels = {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels['turn']"}}
    volumes: list[Obj] = [
        {"name": "secret", "secret": {"secretName": SECRET}},
        {"name": "config", "configMap": {"name": CONFIG_MAP}},
        {"name": "labels", "downwardAPI": {"items": [labels]}},
    ]
    mounts = [{"name": one["name"], "mountPath": f"/{one['name']}"} for one in volumes]
    return pod(name, container("main", volumeMounts=mounts), volumes=volumes, metadata={"labels": {"turn": "0"}})


def talker() -> Obj:
    return pod(TALKER, container("main", "sh", "-c", _TALKS), terminationGracePeriodSeconds=1)


def files(root_dir: str, uid: str) -> dict[str, str]:
    """Where what a pod of the sort `reads` is told lies on the node."""
    volumes = f"{root_dir}/pods/{uid}/volumes"
    return {
        "secret": f"{volumes}/kubernetes.io~secret/secret/word",
        "config": f"{volumes}/kubernetes.io~configmap/config/word",
        "label": f"{volumes}/kubernetes.io~downward-api/labels/labels",
    }
