"""What pods of the API ask of a node besides running: files of several sources, names, restarts, handlers."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

from tests.node.joined.test_contents import BASE, put, run
from tests.support.joined import NODE, ON_NODE, Joined, container, pod, status

TOKEN = {"serviceAccountToken": {"path": "token", "audience": "vault", "expirationSeconds": 900}}
LABELS = {"downwardAPI": {"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}}


def within(seconds: float, condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"no {what} within {seconds} s"
        time.sleep(0.2)


def gone(site: Joined, name: str) -> None:
    site.delete(name, 0)
    site.wait_no_pod(name)


def waiting(site: Joined, name: str) -> dict[str, str]:
    statuses = status(site.pod(name)).get("containerStatuses") or [{}]
    found: dict[str, str] = statuses[0].get("state", {}).get("waiting") or {}
    return found


def events(site: Joined, name: str) -> list[tuple[str, str]]:
    found = json.loads(site.kubectl("get", "events", "-o", "json"))["items"]
    return [(one["reason"], one["message"]) for one in found if one["involvedObject"]["name"] == name]


def test_projected_files_belong_to_the_group_and_follow_the_labels(site: Joined) -> None:
    put(site, "configmaps", "parts", data={"a": "1", "b": "2"})
    items = [{"key": "a", "path": "deep/a", "mode": 0o400}]
    sources = [TOKEN, LABELS, {"configMap": {"name": "parts", "items": items}},
               {"secret": {"name": "none", "optional": True}}]  # fmt: skip
    volume = {"name": "p", "projected": {"sources": sources, "defaultMode": 0o440}}
    main = container("main", volumeMounts=[{"name": "p", "mountPath": "/p"}])
    made = pod("mixed", main, volumes=[volume], securityContext={"runAsUser": 1000, "fsGroup": 2000})
    made["metadata"]["labels"] = {"tier": "one"}
    site.create(made)
    site.wait_pods_ready("mixed")
    modes = run(site, "mixed", "stat", "-L", "-c", "%a %u %g", "/p/token", "/p/labels", "/p/deep/a").split("\n")
    assert modes[:3] == ["640 1000 2000", "440 0 2000", "440 0 2000"]
    assert run(site, "mixed", "cat", "/p/deep/a", "/p/labels") == '1tier="one"'
    assert len(run(site, "mixed", "cat", "/p/token").split(".")) == 3
    site.kubectl("label", "pod", "mixed", "tier=two", "--overwrite")
    within(60, lambda: run(site, "mixed", "cat", "/p/labels") == 'tier="two"', "new labels in the file")
    gone(site, "mixed")


def test_a_volume_waits_for_its_secret_and_is_mounted_when_it_exists(site: Joined) -> None:
    volume = {"name": "s", "secret": {"secretName": "tardy"}}
    site.create(pod("patient", container("main", volumeMounts=[{"name": "s", "mountPath": "/s"}]), volumes=[volume]))
    text = 'MountVolume.SetUp failed for volume "s" : secret "tardy" not found'
    within(60, lambda: ("FailedMount", text) in events(site, "patient"), "event")
    within(60, lambda: waiting(site, "patient").get("reason") == "ContainerCreating", "reason in the status")
    time.sleep(5.0)  # it has waited for a while, and tries seldom by now
    put(site, "secrets", "tardy", stringData={"k": "v"})
    site.wait_pods_ready("patient")
    assert run(site, "patient", "cat", "/s/k") == "v"
    assert "tmpfs /s tmpfs" in run(site, "patient", "cat", "/proc/mounts")
    gone(site, "patient")


def test_names_and_kernel_settings_are_as_the_pod_wants_them(site: Joined) -> None:
    sysctls = [{"name": "net.ipv4.ip_unprivileged_port_start", "value": "80"}]
    dns = {"nameservers": ["192.0.2.53"], "searches": ["far.test"], "options": [{"name": "ndots", "value": "2"}]}
    site.create(
        pod("named", hostname="h", subdomain="sub", setHostnameAsFQDN=True, dnsPolicy="None", dnsConfig=dns,
            hostAliases=[{"ip": "192.0.2.9", "hostnames": ["alias.test"]}], securityContext={"sysctls": sysctls})
    )  # fmt: skip
    site.wait_pods_ready("named")
    assert run(site, "named", "hostname").strip() == "h.sub.default.svc.cluster.local"
    hosts = run(site, "named", "cat", "/etc/hosts")
    assert "\th.sub.default.svc.cluster.local\th\n" in hosts
    assert "192.0.2.9\talias.test" in hosts
    resolv = run(site, "named", "cat", "/etc/resolv.conf").split("\n")
    assert {"nameserver 192.0.2.53", "search far.test", "options ndots:2"} <= set(resolv)
    assert run(site, "named", "cat", "/proc/sys/net/ipv4/ip_unprivileged_port_start") == "80\n"
    gone(site, "named")


def test_another_image_restarts_the_container_and_nothing_else(site: Joined) -> None:
    site.create(pod("moving", container("main"), container("other")))
    site.wait_pods_ready("moving")
    site.kubectl("set", "image", "pod/moving", "main=docker.io/library/busybox")
    found: dict[str, int] = {}

    def restarted() -> bool:
        found.update({one["name"]: one["restartCount"] for one in status(site.pod("moving"))["containerStatuses"]})
        return found["main"] == 1

    within(60, restarted, "restart")
    assert found == {"main": 1, "other": 0}
    killing = ("Killing", "Container main definition changed, will be restarted")
    within(60, lambda: killing in events(site, "moving"), "event")
    gone(site, "moving")


def test_a_runtime_class_names_the_handler_and_an_unknown_one_is_waited_for(site: Joined) -> None:
    made = {"metadata": {"name": "plain"}, "handler": "runc"}
    site.api.call("POST", "/apis/node.k8s.io/v1/runtimeclasses", made)
    waiting = pod("classy", runtimeClassName="plain", schedulerName="nobody", nodeName=None)
    site.create(waiting)  # a server refuses a pod whose class is not there
    site.api.call("DELETE", "/apis/node.k8s.io/v1/runtimeclasses/plain")
    target = {"kind": "Node", "name": NODE}
    site.api.call(
        "POST", "/api/v1/namespaces/default/pods/classy/binding", {"metadata": {"name": "classy"}, "target": target}
    )
    text = 'Failed to create pod sandbox: runtimeclass.node.k8s.io "plain" not found'
    within(60, lambda: ("FailedCreatePodSandBox", text) in events(site, "classy"), "event")
    site.api.call("POST", "/apis/node.k8s.io/v1/runtimeclasses", made)
    site.wait_pods_ready("classy")
    gone(site, "classy")
    site.api.call("DELETE", "/apis/node.k8s.io/v1/runtimeclasses/plain")


def test_an_exit_can_restart_all_containers_in_place(site: Joined) -> None:
    rule = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [88]}}
    once = "[ -e /data/done ] && exec sleep 1000000; touch /data/done; sleep 1; exit 88"
    mounts = [{"name": "data", "mountPath": "/data"}]
    main = container("main", "sh", "-c", once, volumeMounts=mounts, restartPolicy="Never", restartPolicyRules=[rule])
    site.create(pod("again", main, container("other"), volumes=[{"name": "data", "emptyDir": {}}]))
    within(
        40,
        lambda: (
            {one["name"]: one["restartCount"] for one in status(site.pod("again")).get("containerStatuses", [])}
            == {"main": 1, "other": 1}
        ),
        "restart of both",
    )
    site.wait_pods_ready("again")
    gone(site, "again")


def test_a_variable_comes_from_a_file_that_an_init_container_wrote(site: Joined) -> None:
    mounts = [{"name": "data", "mountPath": "/data"}]
    writes = container("writes", "sh", "-c", "echo \"A='one two'\" > /data/env", volumeMounts=mounts)
    one = {"name": "X", "valueFrom": {"fileKeyRef": {"volumeName": "data", "path": "env", "key": "A"}}}
    site.create(
        pod("reader", container("main", env=[one]), initContainers=[writes], volumes=[{"name": "data", "emptyDir": {}}])
    )
    site.wait_pods_ready("reader")
    assert run(site, "reader", "sh", "-c", "echo $X") == "one two\n"
    gone(site, "reader")


def test_a_claim_is_a_directory_of_the_node_or_its_pod_reports_why_not(site: Joined, tmp_path: Path) -> None:
    claims = f"{BASE}/persistentvolumeclaims"
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "disk"}}
    mounts = [{"name": "v", "mountPath": "/v"}]
    site.create(pod("claims", container("main", volumeMounts=mounts), volumes=[volume]))
    lists = "unmounted volumes=[v], unattached volumes=[], failed to process volumes=[v]"
    text = (
        f"Unable to attach or mount volumes: {lists}: error processing PVC default/disk: failed to fetch PVC from API "
    )
    text += 'server: persistentvolumeclaims "disk" not found'
    within(60, lambda: ("FailedMount", text) in events(site, "claims"), "event")
    (tmp_path / "file").write_text("kept")
    modes, size = {"accessModes": ["ReadWriteOnce"]}, {"storage": "1Gi"}
    spec = {**modes, "volumeName": "pv-1", "resources": {"requests": size}}
    claim = site.api.call("POST", claims, {"metadata": {"name": "disk"}, "spec": spec})
    bound = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "disk", "uid": claim["metadata"]["uid"]}
    made = {**modes, "capacity": size, "claimRef": bound, "local": {"path": str(tmp_path)}, "nodeAffinity": ON_NODE}
    site.api.call("POST", "/api/v1/persistentvolumes", {"metadata": {"name": "pv-1"}, "spec": made})
    site.api.merge(f"{claims}/disk/status", {"status": {"phase": "Bound"}})
    site.wait_pods_ready("claims")
    assert run(site, "claims", "cat", "/v/file") == "kept"
    gone(site, "claims")
    assert (tmp_path / "file").read_text() == "kept"


def test_objects_are_at_their_addresses(site: Joined) -> None:
    assert site.api.call("GET", f"{BASE}/configmaps/kube-root-ca.crt")["data"]["ca.crt"].startswith("-----BEGIN")
