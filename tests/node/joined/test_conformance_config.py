"""What Kubernetes' conformance suite asks of configuration: environments, the downward API, expansion."""

from __future__ import annotations

import base64
from typing import Any

from tests.node.joined.test_contents import BASE, put, run
from tests.node.joined.test_pod_features import events, gone, waiting, within
from tests.support.joined import NODE, Joined, container, pod, status

SECONDS = 30.0


def field(name: str, path: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}


def resource(name: str, what: str, divisor: str = "0") -> dict[str, Any]:
    chosen = {"containerName": "main", "resource": what, "divisor": divisor}
    return {"name": name, "valueFrom": {"resourceFieldRef": chosen}}


def key(name: str, kind: str, of: str, key: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "valueFrom": {kind: {"name": of, "key": key, **more}}}


def environment(site: Joined, name: str) -> dict[str, str]:
    """As its first process has it."""
    text = run(site, name, "sh", "-c", "tr '\\0' '\\n' < /proc/1/environ")
    return dict(line.partition("=")[::2] for line in text.splitlines())


def held_up(site: Joined, name: str, text: str) -> None:
    """It waits for its configuration, and status and event say why."""
    told = {"reason": "CreateContainerConfigError", "message": text}
    within(SECONDS, lambda: waiting(site, name) == told, f"words for {name}: {text}")
    within(SECONDS, lambda: ("Failed", f"Error: {text}") in events(site, name), f"event of {name}")


def test_environment_variables_describe_pod_node_and_resources(site: Joined) -> None:
    resources = {"requests": {"cpu": "250m", "memory": "32Mi"}, "limits": {"cpu": "1250m", "memory": "64Mi"}}
    paths = {
        "NAME": "metadata.name", "SPACE": "metadata.namespace", "UID": "metadata.uid", "IP": "status.podIP",
        "IPS": "status.podIPs", "HOST": "status.hostIP", "HOSTS": "status.hostIPs", "ON": "spec.nodeName",
        "AS": "spec.serviceAccountName", "LABEL": "metadata.labels['tier']", "NOTE": "metadata.annotations['n/o']",
    }  # fmt: skip
    env = [field(name, path) for name, path in paths.items()]
    env += [
        resource("CL", "limits.cpu"), resource("CM", "limits.cpu", "1m"), resource("CR", "requests.cpu"),
        resource("ML", "limits.memory"), resource("MR", "requests.memory", "1Mi"),
        resource("EL", "limits.ephemeral-storage"),
    ]  # fmt: skip
    made = pod("told", container("main", env=env, resources=resources))
    made["metadata"] |= {"labels": {"tier": "one"}, "annotations": {"n/o": "two words"}}
    free = [resource("CL", "limits.cpu"), resource("ML", "limits.memory")]
    site.create(made, pod("free", container("main", env=free)))
    site.wait_pods_ready("told", "free")
    found, known = environment(site, "told"), site.pod("told")
    said = status(known)
    assert {name: found[name] for name in paths} == {
        "NAME": "told", "SPACE": "default", "UID": known["metadata"]["uid"], "IP": said["podIP"],
        "IPS": ",".join(one["ip"] for one in said["podIPs"]), "HOST": said["hostIP"],
        "HOSTS": ",".join(one["ip"] for one in said["hostIPs"]), "ON": NODE, "AS": "default", "LABEL": "one",
        "NOTE": "two words",
    }  # fmt: skip
    assert [found[name] for name in ("CL", "CM", "CR", "ML", "MR")] == ["2", "1250", "1", str(64 << 20), "32"]
    assert int(found["EL"]) > 0
    node = site.nodes.now[f"/{NODE}"]["status"]["allocatable"]
    cpu = int(node["cpu"].removesuffix("m")) / (1000 if node["cpu"].endswith("m") else 1)
    whole = environment(site, "free")
    assert int(whole["CL"]) == -int(-cpu // 1)
    assert int(whole["ML"]) == int(node["memory"].removesuffix("Ki")) * (1024 if node["memory"].endswith("Ki") else 1)
    gone(site, "told")
    gone(site, "free")


def test_a_pods_own_limits_are_passed_where_a_container_has_none(site: Joined) -> None:
    env = [resource("CL", "limits.cpu"), resource("ML", "limits.memory")]
    items = [{"path": "cpu", "resourceFieldRef": {"containerName": "main", "resource": "limits.cpu", "divisor": "1m"}}]
    volumes = [{"name": "d", "downwardAPI": {"items": items}}]
    main = container("main", env=env, volumeMounts=[{"name": "d", "mountPath": "/d"}])
    site.create(pod("whole", main, volumes=volumes, resources={"limits": {"cpu": "1250m", "memory": "64Mi"}}))
    site.wait_pods_ready("whole")
    found = environment(site, "whole")
    assert (found["CL"], found["ML"], run(site, "whole", "cat", "/d/cpu")) == ("2", str(64 << 20), "1250")
    gone(site, "whole")


def test_variables_come_in_their_order_and_are_expanded(site: Joined) -> None:
    put(site, "configmaps", "several", data={"a": "1", "1.odd-key": "odd", "over": "map"})
    put(site, "secrets", "several", stringData={"s": "hidden", "over": "secret"})
    service = {"ports": [{"port": 80}], "selector": {"a": "b"}}
    put(site, "services", "back-door", spec=service)
    sources = [
        {"prefix": "p-", "configMapRef": {"name": "several"}},
        {"secretRef": {"name": "several"}},
        {"configMapRef": {"name": "absent", "optional": True}},
        {"secretRef": {"name": "absent", "optional": True}},
    ]
    env = [
        {"name": "FIRST", "value": "f"},
        {"name": "SECOND", "value": "$(FIRST)-$(s)-$$(FIRST)-$(LATER)"},
        {"name": "LATER", "value": "l"},
        {"name": "over", "value": "own"},
        key("LEFT", "configMapKeyRef", "several", "absent", optional=True),
        key("ALSO", "secretKeyRef", "absent", "k", optional=True),
        key("CHOSEN", "secretKeyRef", "several", "s"),
    ]
    # no shell: it would drop what it cannot call a variable
    main = container("main", "tail", "-f", args=["/dev/null", "$(SECOND)", "$$(FIRST)"], env=env, envFrom=sources)
    site.create(pod("ordered", main, enableServiceLinks=False, terminationGracePeriodSeconds=0))
    site.wait_pods_ready("ordered")
    found = environment(site, "ordered")
    assert {name: found.get(name) for name in ("p-a", "p-1.odd-key", "p-over", "s", "over", "CHOSEN")} == {
        "p-a": "1", "p-1.odd-key": "odd", "p-over": "map", "s": "hidden", "over": "own", "CHOSEN": "hidden",
    }  # fmt: skip
    assert found["SECOND"] == "f-hidden-$(FIRST)-$(LATER)"
    assert not {"LEFT", "ALSO", "BACK_DOOR_SERVICE_HOST"} & found.keys()
    words = run(site, "ordered", "cat", "/proc/1/cmdline").split("\0")
    assert words[:-1] == ["tail", "-f", "/dev/null", "f-hidden-$(FIRST)-$(LATER)", "$(FIRST)"]
    gone(site, "ordered")


def test_a_missing_object_is_reported_with_the_kubelets_reason(site: Joined) -> None:
    put(site, "configmaps", "poor", data={"k": "1"})
    put(site, "secrets", "poor", stringData={"k": "1"})
    wanted = {
        "lacks-map": ({"env": [key("X", "configMapKeyRef", "none", "k")]}, 'configmap "none" not found'),
        "lacks-secret": ({"envFrom": [{"secretRef": {"name": "none"}}]}, 'secret "none" not found'),
        "lacks-key": (
            {"env": [key("X", "configMapKeyRef", "poor", "z")]}, "couldn't find key z in ConfigMap default/poor"
        ),
        "lacks-hidden": (
            {"env": [key("X", "secretKeyRef", "poor", "z")]}, "couldn't find key z in Secret default/poor"
        ),
    }  # fmt: skip
    site.create(*(pod(name, container("main", **more)) for name, (more, _) in wanted.items()))
    for name, (_, text) in wanted.items():
        held_up(site, name, text)
    site.api.merge(f"{BASE}/secrets/poor", {"data": {"z": base64.b64encode(b"now").decode()}})
    site.wait_pods_ready("lacks-hidden", seconds=SECONDS)
    for name in wanted:
        gone(site, name)


def test_a_pod_waits_until_its_sub_path_can_be_expanded(site: Joined) -> None:
    volumes: list[dict[str, Any]] = [{"name": "work", "emptyDir": {}}]

    def main(expression: str, *env: dict[str, Any]) -> dict[str, Any]:
        mounts = [
            {"name": "work", "mountPath": "/sub", "subPathExpr": expression}, {"name": "work", "mountPath": "/work"}
        ]  # fmt: skip
        return container("main", env=list(env), volumeMounts=mounts)

    annotated = main("$(ANNOTATION)/$(NAME)", field("ANNOTATION", "metadata.annotations['mysubpath']"),
                     field("NAME", "metadata.name"))  # fmt: skip
    up = main("$(NAME)", {"name": "NAME", "value": ".."})
    absolute = main("$(NAME)", {"name": "NAME", "value": "/tmp"})
    made = pod("expands", annotated, volumes=volumes)
    made["metadata"]["annotations"] = {"notmysubpath": "mypath"}
    site.create(made, pod("up", up, volumes=volumes), pod("absolute", absolute, volumes=volumes))
    texts = {
        "expands": "missing value for ANNOTATION",
        "up": "unable to provision SubPath `..`: must not contain '..'",
        "absolute": "error SubPath `/tmp` must not be an absolute path",
    }
    for name, text in texts.items():
        held_up(site, name, text)
    site.kubectl("annotate", "pod", "expands", "mysubpath=mypath")
    site.wait_pods_ready("expands", seconds=SECONDS)
    run(site, "expands", "touch", "/sub/file")
    assert run(site, "expands", "ls", "/work/mypath/expands") == "file\n"
    for name in texts:
        gone(site, name)


def test_files_of_the_downward_api_have_modes_resources_and_follow_the_pod(site: Joined) -> None:
    def amount(path: str, what: str, divisor: str = "0") -> dict[str, Any]:
        return {"path": path, "resourceFieldRef": {"containerName": "main", "resource": what, "divisor": divisor}}

    items = [
        {"path": "name", "fieldRef": {"fieldPath": "metadata.name"}, "mode": 0o400},
        {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}},
        {"path": "notes", "fieldRef": {"fieldPath": "metadata.annotations"}},
        amount("cl", "limits.cpu"), amount("ml", "limits.memory"), amount("mr", "requests.memory", "1Mi"),
        amount("cr", "requests.cpu", "1m"),
    ]  # fmt: skip
    volumes = [{"name": "d", "downwardAPI": {"items": items, "defaultMode": 0o440}}]
    resources = {"requests": {"cpu": "250m", "memory": "32Mi"}, "limits": {"memory": "64Mi"}}
    main = container("main", volumeMounts=[{"name": "d", "mountPath": "/d"}], resources=resources)
    made = pod("filed", main, volumes=volumes)
    made["metadata"] |= {"labels": {"b": "2", "a": "1"}, "annotations": {"builder": 'say "hi"'}}
    site.create(made)
    site.wait_pods_ready("filed")
    shown = run(site, "filed", "sh", "-c", "cd /d; for f in labels name ml mr cr; do cat $f; echo; done")
    assert shown.splitlines() == ['a="1"', 'b="2"', "filed", str(64 << 20), "32", "250"]
    assert int(run(site, "filed", "cat", "/d/cl")) > 0
    assert run(site, "filed", "stat", "-L", "-c", "%a", "/d/name", "/d/labels") == "400\n440\n"
    assert 'builder="say \\"hi\\""' in run(site, "filed", "cat", "/d/notes").splitlines()
    site.kubectl("annotate", "pod", "filed", "builder=foo", "--overwrite")
    site.kubectl("label", "pod", "filed", "c=3")

    def changed() -> bool:
        text = run(site, "filed", "sh", "-c", "cat /d/notes; echo; cat /d/labels").splitlines()
        return 'builder="foo"' in text and 'c="3"' in text

    within(SECONDS, changed, "changed labels and annotations")
    gone(site, "filed")
