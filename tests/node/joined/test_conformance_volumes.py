"""What Kubernetes' conformance suite asks of volumes: modes, owners, mappings, changes, sub paths, what is refused."""

from __future__ import annotations

import base64
import os
import stat
from pathlib import Path
from typing import Any

from actors.shared.api.errors import AlreadyExists
from tests.node.joined.test_contents import BASE, put, run
from tests.node.joined.test_pod_features import events, gone, waiting, within
from tests.support.joined import ON_NODE, Joined, container, pod
from tests.support.real_cluster import RealCluster

SECONDS = 30.0
BINARY = bytes(range(0x80, 0x90))


def mount(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "mountPath": f"/{name}", **more}


def files(site: Joined, name: str, *paths: str) -> list[str]:
    """Mode, user and group of each, links followed."""
    return run(site, name, "stat", "-L", "-c", "%a %u %g", *paths).splitlines()


def sh(site: Joined, name: str, script: str) -> str:
    return run(site, name, "sh", "-c", script)


def test_files_of_config_maps_and_secrets_have_the_mode_group_and_path_of_the_spec(site: Joined) -> None:
    site.api.call("POST", "/api/v1/namespaces", {"metadata": {"name": "elsewhere"}})
    site.api.call(
        "POST", "/api/v1/namespaces/elsewhere/secrets", {"metadata": {"name": "same"}, "stringData": {"k": "2"}}
    )
    binary = base64.b64encode(BINARY).decode()
    put(site, "configmaps", "same", data={"k": "map", "other": "o"}, binaryData={"bytes": binary}, immutable=True)
    put(site, "secrets", "same", stringData={"k": "1", "other": "o"})
    items = [{"key": "k", "path": "path/to/it", "mode": 0o400}]
    sources = [
        {"configMap": {"name": "same", "items": [{"key": "k", "path": "map"}]}},
        {"secret": {"name": "same", "items": [{"key": "k", "path": "secret", "mode": 0o440}]}},
        {"downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
    ]
    volumes: list[dict[str, Any]] = [
        {"name": "plain", "configMap": {"name": "same"}},
        {"name": "again", "configMap": {"name": "same", "defaultMode": 0o400}},
        {"name": "mapped", "secret": {"secretName": "same", "items": items}},
        {"name": "all", "projected": {"sources": sources}},
    ]
    mounts = [mount(volume["name"]) for volume in volumes]
    user = {"runAsUser": 1000, "fsGroup": 1001}
    site.create(pod("moded", container("main", volumeMounts=mounts), volumes=volumes, securityContext=user))
    site.wait_pods_ready("moded")
    paths = ["/plain/k", "/again/k", "/mapped/path/to/it", "/all/map", "/all/secret", "/plain", "/mapped"]
    wanted = ["644 0 1001", "440 0 1001", "440 0 1001", "644 0 1001", "440 0 1001", "2777 0 1001", "3777 0 1001"]
    assert files(site, "moded", *paths) == wanted
    texts = run(site, "moded", "cat", "/plain/k", "/mapped/path/to/it", "/all/map", "/all/secret", "/all/name")
    assert texts == "map1map1moded"
    assert sh(site, "moded", "ls /mapped /all | tr '\\n' ' '") == "/all: map name secret  /mapped: path "
    assert base64.b64decode(sh(site, "moded", "base64 < /plain/bytes")) == BINARY
    for path in ("/plain", "/mapped", "/all"):
        assert "Read-only file system" in sh(site, "moded", f"touch {path}/new 2>&1; true")
    gone(site, "moded")


def test_other_volumes_are_mounted_below_a_volume_of_files(site: Joined) -> None:
    put(site, "configmaps", "below", data={"k": "1"})
    volumes: list[dict[str, Any]] = [{"name": "map", "configMap": {"name": "below"}}, {"name": "own", "emptyDir": {}}]
    mounts = [mount("map"), {"name": "own", "mountPath": "/map/sub/own"}]
    site.create(pod("below", container("main", volumeMounts=mounts), volumes=volumes))
    site.wait_pods_ready("below")
    assert sh(site, "below", "cat /map/k; echo 2 > /map/sub/own/new; cat /map/sub/own/new") == "12\n"
    put(site, "configmaps", "below", data={"k": "3"})
    within(90, lambda: sh(site, "below", "cat /map/k") == "3", "change")
    assert sh(site, "below", "cat /map/sub/own/new") == "2\n"
    gone(site, "below")


def test_optional_keys_appear_change_and_disappear(site: Joined) -> None:
    def optional(kind: str, name: str, **more: Any) -> dict[str, Any]:
        key = "secretName" if kind == "secret" and not more else "name"
        return {kind: {key: name, "optional": True}}

    for plural in ("configmaps", "secrets"):
        field = "data" if plural == "configmaps" else "stringData"
        put(site, plural, "goes", **{field: {"old": "1"}})
        put(site, plural, "changes", **{field: {"old": "1"}})
    names = ("goes", "changes", "comes")
    volumes = [{"name": f"map-{name}", **optional("configMap", name)} for name in names]
    volumes += [{"name": f"secret-{name}", **optional("secret", name)} for name in names]
    sources = [optional("configMap", name, projected=True) for name in names]
    volumes.append({"name": "all", "projected": {"sources": sources}})
    site.create(pod("opts", container("main", volumeMounts=[mount(one["name"]) for one in volumes]), volumes=volumes))
    site.wait_pods_ready("opts")
    show = "cd /; for f in map-*/* secret-*/* all/*; do [ -f $f ] && echo $f=$(cat $f); done; true"
    both = ["map-changes/old=1", "map-goes/old=1", "secret-changes/old=1", "secret-goes/old=1", "all/old=1"]
    assert sh(site, "opts", show).split() == both
    for plural in ("configmaps", "secrets"):
        site.api.call("DELETE", f"{BASE}/{plural}/goes")
        data = {"new": base64.b64encode(b"2").decode()} if plural == "secrets" else {"new": "2"}
        site.api.merge(f"{BASE}/{plural}/changes", {"data": {"old": None, **data}})
        put(site, plural, "comes", **{"stringData" if plural == "secrets" else "data": {"born": "3"}})
    after = ["map-changes/new=2", "map-comes/born=3", "secret-changes/new=2", "secret-comes/born=3"]
    after += ["all/born=3", "all/new=2"]
    within(SECONDS, lambda: sh(site, "opts", show).split() == after, "change, birth and end of what is optional")
    gone(site, "opts")


def test_a_missing_key_delays_the_pod_and_is_reported(site: Joined) -> None:
    put(site, "configmaps", "short", data={"k": "1"})
    put(site, "secrets", "short", stringData={"k": "1"})
    items = [{"key": "absent", "path": "p"}]
    volumes = [
        {"name": "m", "configMap": {"name": "short", "items": items}},
        {"name": "s", "secret": {"secretName": "short", "items": items}},
    ]
    site.create(pod("keyless", container("main", volumeMounts=[mount("m"), mount("s")]), volumes=volumes))
    begin = "MountVolume.SetUp failed for volume"
    told = {
        ("FailedMount", f'{begin} "m" : configmap references non-existent config key: absent'),
        ("FailedMount", f'{begin} "s" : references non-existent secret key: absent'),
    }  # fmt: skip
    within(SECONDS, lambda: told <= set(events(site, "keyless")), "events")
    within(SECONDS, lambda: waiting(site, "keyless").get("reason") == "ContainerCreating", "reason in the status")
    site.api.merge(f"{BASE}/configmaps/short", {"data": {"absent": "m"}})
    site.api.merge(f"{BASE}/secrets/short", {"data": {"absent": base64.b64encode(b"s").decode()}})
    site.wait_pods_ready("keyless", seconds=SECONDS)
    assert run(site, "keyless", "cat", "/m/p", "/s/p") == "ms"
    gone(site, "keyless")


def test_empty_directories_are_for_everybody_in_memory_and_on_disk(site: Joined) -> None:
    volumes: list[dict[str, Any]] = [
        {"name": "disk", "emptyDir": {}},
        {"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": "2Mi"}},
    ]
    mounts = [mount("disk"), mount("memory")]
    two = [container("main", volumeMounts=mounts), container("other", volumeMounts=mounts)]
    site.create(pod("shares", *two, volumes=volumes, securityContext={"runAsUser": 1000}))
    site.create(pod("grouped", *two, volumes=volumes, securityContext={"runAsUser": 1000, "fsGroup": 123}))
    site.wait_pods_ready("shares", "grouped")
    assert files(site, "shares", "/disk", "/memory") == ["777 0 0", "1777 0 0"]
    assert files(site, "grouped", "/disk", "/memory") == ["2777 0 123", "3777 0 123"]
    sh(site, "grouped", "for d in disk memory; do echo $d > /$d/f; chmod 644 /$d/f; done")
    assert files(site, "grouped", "/disk/f", "/memory/f") == ["644 1000 123", "644 1000 123"]
    assert site.kubectl("exec", "grouped", "-c", "other", "--", "cat", "/disk/f", "/memory/f") == "disk\nmemory\n"
    assert sh(site, "shares", "df -k /memory | tail -1").split()[1] == "2048"
    assert "tmpfs /memory tmpfs" in run(site, "shares", "cat", "/proc/mounts")
    gone(site, "shares")
    gone(site, "grouped")


def test_a_pod_waits_until_its_host_path_matches_its_type(site: Joined, tmp_path: Path) -> None:
    os.chmod(tmp_path, 0o1777)
    (tmp_path / "file").write_text("here")
    (tmp_path / "file").chmod(0o640)
    host = str(tmp_path)
    volumes = [
        {"name": "dir", "hostPath": {"path": host, "type": "Directory"}},
        {"name": "file", "hostPath": {"path": f"{host}/file", "type": "File"}},
        {"name": "made", "hostPath": {"path": f"{host}/made/below", "type": "DirectoryOrCreate"}},
    ]
    mounts = [mount("dir"), mount("file"), mount("made"), {**mount("dir", subPath="sub/of/it"), "mountPath": "/sub"}]
    site.create(pod("hosted", container("main", volumeMounts=mounts), volumes=volumes))
    wrong = [{"name": "v", "hostPath": {"path": f"{host}/file", "type": "Directory"}}]
    site.create(pod("mistaken", container("main", volumeMounts=[mount("v")]), volumes=wrong))
    site.wait_pods_ready("hosted")
    assert files(site, "hosted", "/dir", "/file", "/made") == ["1777 0 0", "640 0 0", "755 0 0"]
    sh(site, "hosted", "echo deep > /sub/f; echo more >> /file")
    assert (tmp_path / "sub/of/it/f").read_text() == "deep\n"
    assert (tmp_path / "file").read_text() == "heremore\n"
    text = f'MountVolume.SetUp failed for volume "v" : hostPath type check failed: {host}/file is not a directory'
    within(SECONDS, lambda: ("FailedMount", text) in events(site, "mistaken"), "event")
    gone(site, "hosted")
    gone(site, "mistaken")


def test_a_sub_path_is_kept_until_its_container_is_restarted(site: Joined) -> None:
    put(site, "configmaps", "parts", data={"one": "old", "resolv": "nameserver 192.0.2.1\n"})
    put(site, "secrets", "hidden", stringData={"key": "s"})
    annotations = {"path": "metadata", "fieldRef": {"fieldPath": "metadata.annotations['a']"}}
    volumes = [
        {"name": "map", "configMap": {"name": "parts"}},
        {"name": "hidden", "secret": {"secretName": "hidden", "items": [{"key": "key", "path": "in/key"}]}},
        {"name": "down", "downwardAPI": {"items": [annotations]}},
        {"name": "all", "projected": {"sources": [{"configMap": {"name": "parts"}}]}},
    ]
    mounts = [
        {"name": "map", "mountPath": "/one", "subPath": "one"},
        {"name": "map", "mountPath": "/etc/resolv.conf", "subPath": "resolv"},
        {"name": "hidden", "mountPath": "/in", "subPath": "in"},
        {"name": "down", "mountPath": "/note", "subPath": "metadata"},
        {"name": "all", "mountPath": "/also", "subPath": "one"},
        mount("map"),
    ]
    until_told = ["sh", "-c", "trap 'exit 1' USR1; trap 'exit 0' TERM; while :; do sleep 0.1; done"]
    made = pod("parted", container("main", *until_told, volumeMounts=mounts), volumes=volumes)
    made["metadata"]["annotations"] = {"a": "noted"}
    site.create(made)
    site.wait_pods_ready("parted")
    paths = ["cat", "/one", "/in/key", "/note", "/also"]
    assert run(site, "parted", *paths) == "oldsnotedold"
    assert run(site, "parted", "cat", "/etc/resolv.conf") == "nameserver 192.0.2.1\n"
    site.api.merge(f"{BASE}/configmaps/parts", {"data": {"one": "new"}})
    within(SECONDS, lambda: run(site, "parted", "cat", "/map/one") == "new", "change in the volume")
    assert run(site, "parted", *paths) == "oldsnotedold"
    told = site.cluster.run_kubectl("exec", "parted", "--", "sh", "-c", "kill -USR1 1")
    assert told.returncode in (0, 137), told.stderr  # the end of the container may meet the shell that asked for it
    within(SECONDS, lambda: site.restarts().get("default/parted") == 1, "restart")
    site.wait_pods_ready("parted")
    assert run(site, "parted", *paths) == "newsnotednew"
    gone(site, "parted")


def test_a_directory_of_a_volume_that_is_removed_is_no_hindrance(site: Joined) -> None:
    """A link that a container planted leads nowhere outside; what is gone does not keep the pod from ending."""
    planting = container("plants", "sh", "-c", "ln -s /etc /data/out; mkdir /data/dir", volumeMounts=[mount("data")])
    main = container("main", volumeMounts=[mount("data"), {"name": "data", "mountPath": "/x", "subPath": "dir"}])
    bad = container("main", volumeMounts=[{"name": "data", "mountPath": "/x", "subPath": "out"}])
    volumes: list[dict[str, Any]] = [{"name": "data", "emptyDir": {}}]
    site.create(pod("cuts", main, initContainers=[planting], volumes=volumes))
    site.create(pod("flees", bad, initContainers=[planting], volumes=volumes))
    site.wait_pods_ready("cuts")
    sh(site, "cuts", "rm -r /data/dir")
    gone(site, "cuts")
    within(SECONDS, lambda: waiting(site, "flees").get("reason") == "CreateContainerConfigError", "refusal")
    text = 'failed to prepare subPath for volumeMount "data" of container "main"'
    assert waiting(site, "flees")["message"] == text  # and nothing of the host's files
    gone(site, "flees")


def test_many_wrapped_volumes_are_in_one_pod(site: Joined) -> None:
    for number in range(25):
        put(site, "configmaps", f"race-{number}", data={"data": f"{number}"})
    volumes: list[dict[str, Any]] = [
        {"name": f"v{number}", "configMap": {"name": f"race-{number}"}} for number in range(25)
    ]
    volumes.append({"name": "same", "emptyDir": {}})
    mounts = [mount(volume["name"]) for volume in volumes]
    names = [f"racer-{number}" for number in range(3)]
    site.create(*(pod(name, container("main", volumeMounts=mounts), volumes=volumes) for name in names))
    site.wait_pods_ready(*names, seconds=60.0)
    assert sh(site, names[0], "cat /v*/data | wc -c") == f"{10 + 15 * 2}\n"
    for name in names:
        gone(site, name)


def test_volumes_follow_their_objects_after_the_volume_manager_died(site: Joined) -> None:
    put(site, "configmaps", "outlives", data={"k": "old"})
    volumes = [{"name": "m", "configMap": {"name": "outlives"}}, {"name": "t", "emptyDir": {"medium": "Memory"}}]
    site.create(pod("stays", container("main", volumeMounts=[mount("m"), mount("t")]), volumes=volumes))
    site.wait_pods_ready("stays")
    sh(site, "stays", "echo kept > /t/f")
    before = site.node.actors()["volume_manager"].incarnation
    site.node.inject("volume_manager", "crash")
    site.node.wait_replaced("volume_manager", before)
    site.api.merge(f"{BASE}/configmaps/outlives", {"data": {"k": "new"}})
    within(SECONDS, lambda: run(site, "stays", "cat", "/m/k") == "new", "change after the restart")
    assert run(site, "stays", "cat", "/t/f") == "kept\n"
    uid = site.pod("stays")["metadata"]["uid"]
    gone(site, "stays")
    site.node.until(lambda: not Path(site.node.home, "root", "pods", uid).exists(), "the pod's directory removed")
    assert uid not in Path("/proc/mounts").read_text()


def claim(site: Joined, name: str, path: Path, **more: Any) -> None:
    """A claim that is bound to a local volume at `path`, whose owner may be a pod."""
    modes, size = {"accessModes": ["ReadWriteOnce"]}, {"storage": "1Gi"}
    spec = {**modes, "volumeName": f"pv-{name}", "resources": {"requests": size}}
    claims = f"{BASE}/persistentvolumeclaims"
    try:
        made = site.api.call("POST", claims, {"metadata": {"name": name, **more}, "spec": spec})
    except AlreadyExists:  # a controller of the cluster has made it for the pod
        made = site.api.call("GET", f"{claims}/{name}")
    uid = made["metadata"]["uid"]
    bound = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": name, "uid": uid}
    source = {**modes, "capacity": size, "claimRef": bound, "local": {"path": str(path)}, "nodeAffinity": ON_NODE}
    site.api.call("POST", "/api/v1/persistentvolumes", {"metadata": {"name": f"pv-{name}"}, "spec": source})
    site.api.merge(f"{claims}/{name}/status", {"status": {"phase": "Bound"}})


def test_claims_belong_to_the_group_or_are_only_read_and_may_be_made_for_the_pod(site: Joined, tmp_path: Path) -> None:
    for name in ("write", "read", "own"):
        (tmp_path / name).mkdir(mode=0o755)
        (tmp_path / name / "f").write_text(name)
    os.chmod(tmp_path, 0o755)
    claim(site, "write", tmp_path / "write")
    claim(site, "read", tmp_path / "read")
    template = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    volumes: list[dict[str, Any]] = [
        {"name": "write", "persistentVolumeClaim": {"claimName": "write"}},
        {"name": "read", "persistentVolumeClaim": {"claimName": "read", "readOnly": True}},
        {"name": "own", "ephemeral": {"volumeClaimTemplate": template}},
    ]
    mounts = [mount(volume["name"]) for volume in volumes]
    user = {"runAsUser": 1000, "fsGroup": 1001}
    site.create(pod("owns", container("main", volumeMounts=mounts), volumes=volumes, securityContext=user))
    text = (
        'error processing PVC default/owns-own: failed to fetch PVC from API server: persistentvolumeclaims "owns-own"'
    )
    if not isinstance(site.cluster, RealCluster):  # there a controller makes the claim at once
        within(SECONDS, lambda: any(text in message for _, message in events(site, "owns")), "event")
    owner = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": "owns",
        "uid": site.api.call("GET", f"{BASE}/pods/owns")["metadata"]["uid"],
    }
    claim(site, "owns-own", tmp_path / "own", ownerReferences=[{**owner, "controller": True}])
    site.wait_pods_ready("owns", seconds=SECONDS)
    assert files(site, "owns", "/write", "/write/f", "/own/f", "/read") == [
        "2775 0 1001", "664 0 1001", "664 0 1001", "755 0 0"
    ]  # fmt: skip
    sh(site, "owns", "echo more > /write/more")
    assert (tmp_path / "write/more").stat().st_gid == 1001
    assert "Read-only file system" in sh(site, "owns", "touch /read/new 2>&1; true")
    gone(site, "owns")
    assert stat.S_IMODE((tmp_path / "read").stat().st_mode) == 0o755


def test_a_token_is_for_the_one_user_of_the_pod_or_for_all(site: Joined) -> None:
    token = {"serviceAccountToken": {"path": "token", "audience": "vault"}}
    volumes = [{"name": "t", "projected": {"sources": [token]}}]
    two = [container("main", volumeMounts=[mount("t")]), container("other", volumeMounts=[mount("t")])]
    mixed = [{**two[0], "securityContext": {"runAsUser": 1000}}, {**two[1], "securityContext": {"runAsUser": 1001}}]
    site.create(pod("anybody", *two, volumes=volumes), pod("mixed", *mixed, volumes=volumes))
    site.create(pod("single", *two, volumes=volumes, securityContext={"runAsUser": 1000}))
    site.wait_pods_ready("anybody", "mixed", "single")
    found = [files(site, name, "/t/token")[0] for name in ("anybody", "mixed", "single")]
    assert found == ["644 0 0", "644 0 0", "600 1000 0"]
    for name in ("anybody", "mixed", "single"):
        gone(site, name)
