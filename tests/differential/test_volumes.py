"""Volumes: what the events say of those that cannot be set up, and what is in the files of the others."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

from .row import Difference, Row, Situation, Step, c, changed, has_object, pod, said, said_times, shows, waits
from .table import documented

EVENTS = "events.tsv FailedMount"
WAIT = "SyncPod: the end of the wait for all volumes is logged"
NOWHERE = "/nowhere-at-all"
SETUP = 'Warning FailedMount: MountVolume.SetUp failed for volume "v" : '
ALL = "Warning FailedMount: Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[], "
CLAIM: dict[str, Any] = {"persistentVolumeClaim": {"claimName": "d"}}
HELD: dict[str, Any] = {"phase": "Pending", "containers.a": "waiting ContainerCreating"}


def failing(name: str, volume: dict[str, Any], text: str, *before: Step) -> Row:
    """A pod whose volume `v` fails with this event."""
    return Row(name, EVENTS, mounting(volume), (said(text), shows(HELD)), before)


def mounting(volume: dict[str, Any], **container: Any) -> dict[str, Any]:
    mounts = container or {"volumeMounts": [{"name": "v", "mountPath": "/data"}]}
    return pod(c("a", **mounts), volumes=[{"name": "v", **volume}])


def unbound(name: str, text: str, *before: Step) -> Row:
    """A pod whose claim `d` cannot be used, which is told at once."""
    return failing(name, CLAIM, f"{ALL}failed to process volumes=[v]: {text}", *before)


def claim(phase: str = "Bound", volume: str = "pv", **metadata: Any) -> Step:
    named = {"name": "d", "namespace": "n", "uid": "uid-d", "resourceVersion": "1", **metadata}
    return has_object(
        "PersistentVolumeClaim", "d", metadata=named, spec={"volumeName": volume}, status={"phase": phase}
    )


def volume(**spec: Any) -> Step:
    source = {"hostPath": {"path": "/"}, "claimRef": {"name": "d", "namespace": "n", "uid": "uid-d"}}
    return has_object("PersistentVolume", "pv", spec={**source, **spec})


def projected(*sources: dict[str, Any]) -> dict[str, Any]:
    return {"projected": {"sources": list(sources), "defaultMode": 420}}


def has_files(wanted: dict[str, tuple[int, str]]) -> Step:
    """The visible files of the volume `v`: mode and content by path."""

    async def step(on: Situation) -> None:
        [mount] = [one for one in on.container("a").config.mounts if one.container_path == "/data"]
        top = Path(mount.host_path)
        found = {
            str(path.relative_to(top)): (stat.S_IMODE(path.stat().st_mode), path.read_text())
            for path in sorted(_files(top))
        }
        if found != wanted:
            raise Difference(f"files: reference {wanted}, ours {found}\n{on.story()}")

    return step


def _files(top: Path) -> list[Path]:
    return [
        Path(folder, name)
        for folder, _, names in os.walk(top, followlinks=True)
        for name in names
        if not Path(folder, name).relative_to(top).parts[0].startswith("..")
    ]


def filled(name: str, source: str, given: dict[str, Any], wanted: dict[str, tuple[int, str]], **spec: Any) -> Row:
    """A pod whose volume `v` has these files; the Secret `s` and the ConfigMap `m` are there."""
    return Row(
        name,
        source,
        {**mounting(given), "spec": {**mounting(given)["spec"], **spec}},
        (shows({"phase": "Running"}), has_files(wanted)),
        (
            has_object("Secret", "s", data={"k": "dg==", "l": "dw=="}),
            has_object("ConfigMap", "m", data={"k": "V"}, binaryData={"b": "Qg=="}),
        ),
    )


def field(path: str, name: str, **more: Any) -> dict[str, Any]:
    return {"path": name, "fieldRef": {"apiVersion": "v1", "fieldPath": path}, **more}


ROWS = [
    filled(
        "a Secret with the default mode",
        "API, SecretVolumeSource.defaultMode",
        {"secret": {"secretName": "s", "defaultMode": 0o644}},
        {"k": (0o644, "v"), "l": (0o644, "w")},
    ),
    filled(
        "a Secret of which one key is wanted, below a directory and with a mode of its own",
        "API, KeyToPath.mode",
        {"secret": {"secretName": "s", "defaultMode": 0o644, "items": [{"key": "l", "path": "x/y", "mode": 0o400}]}},
        {"x/y": (0o400, "w")},
    ),
    filled(
        "the group of files may read what the owner may",
        "API, PodSecurityContext.fsGroup",
        {"secret": {"secretName": "s", "defaultMode": 0o400}},
        {"k": (0o440, "v"), "l": (0o440, "w")},
        securityContext={"fsGroup": 1234},
    ),
    filled(
        "the group of files may read what the owner may write",
        "API, PodSecurityContext.fsGroup",
        {"configMap": {"name": "m", "defaultMode": 0o600}},
        {"b": (0o640, "B"), "k": (0o640, "V")},
        securityContext={"fsGroup": 1234},
    ),
    filled(
        "a ConfigMap has its text and its binary keys",
        "API, ConfigMap.binaryData",
        {"configMap": {"name": "m", "defaultMode": 0o644}},
        {"b": (0o644, "B"), "k": (0o644, "V")},
    ),
    filled(
        "optional keys that are missing are left out",
        "API, ConfigMapVolumeSource.optional",
        {
            "configMap": {
                "name": "m",
                "defaultMode": 0o644,
                "optional": True,
                "items": [{"key": "k", "path": "k"}, {"key": "none", "path": "none"}],
            }
        },
        {"k": (0o644, "V")},
    ),
    filled(
        "of two sources with the same path the later one is taken",
        "pkg/volume/projected",
        projected(
            {"secret": {"name": "s", "items": [{"key": "k", "path": "k"}]}},
            {"configMap": {"name": "m", "items": [{"key": "k", "path": "k", "mode": 0o400}]}},
        ),
        {"k": (0o400, "V")},
    ),
    filled(
        "the files of the downward API",
        "API, DownwardAPIVolumeSource",
        {
            "downwardAPI": {
                "defaultMode": 0o644,
                "items": [
                    field("metadata.name", "name"),
                    field("metadata.labels", "labels", mode=0o400),
                    field("metadata.annotations['x']", "x"),
                    {"path": "cpu", "resourceFieldRef": {"containerName": "a", "resource": "requests.cpu"}},
                ],
            }
        },
        {
            "name": (0o644, "p"),
            "labels": (0o400, ""),
            "x": (0o644, ""),
            "cpu": (0o644, "0"),
        },
    ),
    Row(
        "files of labels are sorted and quoted, and follow a change",
        "API, DownwardAPIVolumeFile",
        pod(
            c("a", volumeMounts=[{"name": "v", "mountPath": "/data"}]),
            meta={"labels": {"b": 'two "words"', "a": "1"}},
            volumes=[{"name": "v", "downwardAPI": {"defaultMode": 420, "items": [field("metadata.labels", "l")]}}],
        ),
        (
            has_files({"l": (0o644, 'a="1"\nb="two \\"words\\""')}),
            changed(lambda found: found["metadata"]["labels"].update(c="3")),
            waits(90),
            has_files({"l": (0o644, 'a="1"\nb="two \\"words\\""\nc="3"')}),
        ),
    ),
    failing("a Secret that is missing", {"secret": {"secretName": "s"}}, f'{SETUP}secret "s" not found'),
    failing(
        "a key that the Secret does not have",
        {"secret": {"secretName": "s", "items": [{"key": "k", "path": "k"}]}},
        f"{SETUP}references non-existent secret key: k",
        has_object("Secret", "s", data={"other": "dg=="}),
    ),
    failing(
        "a key that the ConfigMap does not have",
        {"configMap": {"name": "m", "items": [{"key": "k", "path": "k"}]}},
        f"{SETUP}configmap references non-existent config key: k",
        has_object("ConfigMap", "m", data={"other": "v"}),
    ),
    failing(
        "a projected volume tells of one missing source",
        projected({"secret": {"name": "s"}}),
        f'{SETUP}secret "s" not found',
    ),
    failing(
        "a projected volume tells of all its missing sources",
        projected({"secret": {"name": "s"}}, {"configMap": {"name": "m"}}),
        f'{SETUP}[secret "s" not found, configmap "m" not found]',
    ),
    *(
        failing(
            f"hostPath {kind} of another kind",
            {"hostPath": {"path": NOWHERE, "type": kind}},
            f"{SETUP}hostPath type check failed: {NOWHERE} is not a {words}",
        )
        for kind, words in {
            "Directory": "directory",
            "File": "file",
            "Socket": "socket file",
            "CharDevice": "character device",
            "BlockDevice": "block device",
        }.items()
    ),
    unbound(
        "a claim that is missing",
        'error processing PVC n/d: failed to fetch PVC from API server: persistentvolumeclaims "d" not found',
    ),
    unbound("a claim that is not bound", "error processing PVC n/d: PVC is not bound", claim("Pending")),
    unbound(
        "a claim that is being deleted, and not protected",
        "error processing PVC n/d: PVC is being deleted",
        claim(deletionTimestamp="2023-11-14T22:13:00Z"),
    ),
    unbound(
        "a claim without a volume", "error processing PVC n/d: PVC has empty pvc.Spec.VolumeName", claim(volume="")
    ),
    unbound(
        "a volume of which another claim is said",
        "error processing PVC n/d: found PV object pv but its pv.Spec.ClaimRef.UID uid-x does not point to claim.UID "
        "uid-d",
        claim(),
        volume(claimRef={"uid": "uid-x"}),
    ),
    unbound(
        "a volume that names no claim",
        "error processing PVC n/d: found PV object pv but it has a nil pv.Spec.ClaimRef indicating it is not yet bound "
        "to the claim",
        claim(),
        volume(claimRef=None),
    ),
    unbound(
        "a block volume that is to be mounted",
        "volume v has volumeMode Block, but is specified in volumeMounts",
        claim(),
        volume(volumeMode="Block"),
    ),
    Row(
        "a volume with files that is to be a device",
        EVENTS,
        mounting(CLAIM, volumeDevices=[{"name": "v", "devicePath": "/dev/x"}]),
        (
            said(
                f"{ALL}failed to process volumes=[v]: volume v has volumeMode Filesystem, but is specified in "
                "volumeDevices"
            ),
            shows(HELD),
        ),
        (claim(), volume(volumeMode="Filesystem")),
    ),
    Row(
        "a claim that is bound later starts the pod",
        EVENTS,
        mounting(CLAIM),
        (shows(HELD), claim(), volume(), waits(120), shows({"phase": "Running"})),
        (claim("Pending"),),
    ),
    Row(
        "a pod whose volume fails for long has the event of the volume alone",
        WAIT,
        mounting({"secret": {"secretName": "s"}}),
        (
            waits(130),
            said_times(f"{ALL}failed", 0),
            has_object("Secret", "s", data={}),
            waits(125),
            shows({"phase": "Running"}),
        ),
    ),
]

test_the_agent_does_what_the_kubelet_documents = documented(ROWS)
