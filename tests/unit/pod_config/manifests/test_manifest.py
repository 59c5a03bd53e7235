"""A manifest becomes a static pod of this node, or a list of all its errors."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.pod_config.manifests.defaults import default_pull_policy
from actors.pod_config.manifests.manifest import Origin, from_process, read_in_process, read_manifest
from actors.pod_config.validation.errors import FieldError, ManifestError
from actors.pod_config.validation.limits import MOST_CONTAINERS, MOST_VOLUMES
from actors.shared.kube import codec

ORIGIN = Origin("file", "/etc/kubernetes/manifests/web.yaml", "Node-1")
WEB = """
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}, creationTimestamp: null}
spec:
  containers:
  - name: web
    image: busybox
    ports: [{containerPort: 80, name: http}]
    readinessProbe: {httpGet: {port: http}}
    resources: {limits: {cpu: 100m, memory: 64Mi}, requests: {cpu: 50m}}
    volumeMounts: [{name: data, mountPath: /data}]
  volumes: [{name: data}]
"""


def errors_of(text: str, origin: Origin = ORIGIN) -> list[str]:
    """Without their lines, see test_field_lines.py."""
    with pytest.raises(ManifestError) as caught:
        read_manifest(text.encode(), origin)
    return [str(FieldError(error.path, error.text)) for error in caught.value.errors]


def pod_of(text: str, origin: Origin = ORIGIN) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(read_manifest(text.encode(), origin)[0].data)
    return found


def test_a_file_pod_gets_name_namespace_node_hash_source_and_toleration():
    pod = pod_of(WEB)
    meta, spec = pod["metadata"], pod["spec"]
    assert (meta["name"], meta["namespace"], spec["nodeName"]) == ("web-node-1", "default", "Node-1")
    assert len(meta["uid"]) == 32
    assert meta["annotations"] == {"kubernetes.io/config.hash": meta["uid"], "kubernetes.io/config.source": "file"}
    assert spec["tolerations"] == [{"operator": "Exists", "effect": "NoExecute"}]
    assert pod["status"] == {"phase": "Pending"}


def test_an_empty_text_is_the_default_where_there_is_one():
    empty = {"terminationMessagePath": "", "terminationMessagePolicy": "", "imagePullPolicy": ""}
    container = {"name": "c", "image": "busybox:1", "ports": [{"containerPort": 80, "protocol": ""}], **empty}
    images = [{"reference": "busybox", "pullPolicy": ""}, {"reference": "busybox:1", "pullPolicy": ""}]
    volumes = [{"name": f"v{number}", "image": image} for number, image in enumerate(images)]
    spec = {"containers": [container], "volumes": volumes, "restartPolicy": "", "dnsPolicy": ""}
    found = pod_of(json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}))["spec"]
    made = found["containers"][0]
    assert (made["terminationMessagePath"], made["terminationMessagePolicy"]) == ("/dev/termination-log", "File")
    assert (made["imagePullPolicy"], made["ports"][0]["protocol"]) == ("IfNotPresent", "TCP")
    assert (found["restartPolicy"], found["dnsPolicy"]) == ("Always", "ClusterFirst")
    assert [one["image"]["pullPolicy"] for one in found["volumes"]] == ["Always", "IfNotPresent"]


def test_a_url_pod_gets_no_toleration_and_no_node_in_its_uid():
    one = pod_of(WEB, Origin("http", "http://x/", "a"))
    other = pod_of(WEB, Origin("http", "http://x/", "b"))
    assert "tolerations" not in one["spec"]
    assert one["metadata"]["uid"] == other["metadata"]["uid"]


def test_the_defaults_of_the_api_server_are_filled_in():
    spec = pod_of(WEB)["spec"]
    container = spec["containers"][0]
    assert spec["restartPolicy"] == "Always"
    assert spec["terminationGracePeriodSeconds"] == 30
    assert spec["securityContext"] == {}
    assert spec["enableServiceLinks"] is True
    assert spec["volumes"] == [{"name": "data", "emptyDir": {}}]
    assert container["imagePullPolicy"] == "Always"
    assert container["ports"] == [{"containerPort": 80, "name": "http", "protocol": "TCP"}]
    assert container["resources"]["requests"] == {"cpu": "50m", "memory": "64Mi"}
    assert container["readinessProbe"] == {
        "httpGet": {"port": "http", "path": "/", "scheme": "HTTP"},
        "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("own", "container", "requests", "limits"),
    [
        ({"limits": {"cpu": "3", "memory": "1Gi"}}, {"requests": {"cpu": "1"}}, {"cpu": "1", "memory": "1Gi"}, {}),
        ({"limits": {"cpu": "3"}}, {"limits": {"memory": "64Mi"}}, {"cpu": "3", "memory": "64Mi"}, {}),
        ({"limits": {"cpu": "3"}, "requests": {"cpu": "2"}}, {"requests": {"cpu": "1"}}, {"cpu": "2"}, {}),
        ({"requests": {"cpu": "3"}}, {"requests": {"memory": "64Mi"}}, {"cpu": "3"}, {}),
        (
            {"requests": {"cpu": "3"}}, {"limits": {"memory": "64Mi", "hugepages-2Mi": "4Mi"}},
            {"cpu": "3", "memory": "64Mi", "hugepages-2Mi": "4Mi"}, {"hugepages-2Mi": "4Mi"},
        ),
        ({}, {"limits": {"memory": "64Mi", "hugepages-2Mi": "4Mi"}}, None, {}),
    ],
)  # fmt: skip
def test_a_pod_with_limits_requests_what_its_containers_do_and_else_its_limits(own, container, requests, limits):
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
    spec = {"containers": [{"name": "c", "image": "i", "resources": container}], "resources": own}
    found = pod_of(json.dumps({**body, "spec": spec}))["spec"]["resources"]
    assert found.get("requests") == requests
    assert found.get("limits", {}) == {**own.get("limits", {}), **limits}


def test_the_ports_of_a_host_network_pod_are_host_ports():
    spec = pod_of(WEB.replace("spec:\n", "spec:\n  hostNetwork: true\n"))["spec"]
    assert spec["containers"][0]["ports"][0]["hostPort"] == 80


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("busybox", "Always"), ("busybox:latest", "Always"), ("busybox:1.36", "IfNotPresent"),
        ("reg:5000/busybox", "Always"), ("reg:5000/busybox:2", "IfNotPresent"), ("a@sha256:0", "IfNotPresent"),
        ("a:latest@sha256:0", "Always"), ("a:1@sha256:0", "IfNotPresent"),
    ],
)  # fmt: skip
def test_the_pull_policy_follows_the_tag(image, policy):
    assert default_pull_policy(image) == policy


def test_the_uid_depends_only_on_content_and_place():
    uid = pod_of(WEB)["metadata"]["uid"]
    assert pod_of("# a comment\n" + WEB)["metadata"]["uid"] == uid
    assert pod_of(WEB.replace("busybox", "busybox:1"))["metadata"]["uid"] != uid
    assert pod_of(WEB, Origin("file", "/other", "Node-1"))["metadata"]["uid"] != uid
    assert pod_of(WEB, Origin("file", ORIGIN.place, "Node-2"))["metadata"]["uid"] != uid
    assert pod_of(WEB.replace("name: web,", "name: web, uid: abc-1,"))["metadata"]["uid"] == "abc-1"


BROKEN = """
apiVersion: v1
kind: Pod
metadata: {name: Web_1, labels: {"a b": x}}
spec:
  restartPolicy: Sometimes
  hostNetwok: true
  containers:
  - name: a
    image: busybox
"""


def test_every_wrong_shape_is_reported_at_once():
    texts = errors_of("""
apiVersion: v1
kind: Pod
metadata: {name: 7}
spec:
  hostnetwork: true
  containers:
  - image: busybox
    command: sleep
    ports: [{containerPort: "80"}, {hostPort: 1}]
    env: [{name: A, value: 1}]
  volumes: {}
""")
    assert texts == [
        "metadata.name: must be a string, not the number 7",
        "spec.hostnetwork: unknown field, did you mean hostNetwork?",
        "spec.containers[0].name: required",
        "spec.containers[0].command: must be a list, not the string 'sleep'",
        "spec.containers[0].ports[0].containerPort: must be a whole number, not the string '80'",
        "spec.containers[0].ports[1].containerPort: required",
        "spec.containers[0].env[0].value: must be a string, not the number 1",
        "spec.volumes: must be a list, not an object",
    ]


def test_a_missing_or_mistyped_field_hides_no_broken_rule_of_other_fields_and_causes_no_error_of_its_own():
    texts = errors_of("""
apiVersion: v1
kind: Pod
metadata: {labels: {x: -bad-}}
spec:
  restartPolicy: Sometimes
  containers:
  - {image: busybox, command: foo, livenessProbe: {httpGet: {path: /}, periodSeconds: -1}}
  - {image: busybox, ports: [{containerPort: 99999}, {protocol: TCP}, {protocol: TCP}], readinessProbe: {exec: 5}}
  volumes: [{emptyDir: {}}, {name: v, hostPath: {}}]
""")
    assert texts == [
        "spec.containers[0].name: required",
        "spec.containers[0].command: must be a list, not the string 'foo'",
        "spec.containers[0].livenessProbe.httpGet.port: required",
        "spec.containers[1].name: required",
        "spec.containers[1].ports[1].containerPort: required",
        "spec.containers[1].ports[2].containerPort: required",
        "spec.containers[1].readinessProbe.exec: must be an object, not the number 5",
        "spec.volumes[0].name: required",
        "spec.volumes[1].hostPath.path: required",
        "metadata.name: required",
        "metadata.labels[x]: '-bad-' is not a label value: letters, digits, '-', '_' and '.', at most 63",
        "spec.containers[0].livenessProbe.periodSeconds: -1 is not between 0 and 2147483647",
        "spec.containers[1].ports[0].containerPort: 99999 is not between 1 and 65535",
        "spec.restartPolicy: 'Sometimes' is not one of Always, Never, OnFailure",
    ]


def test_every_broken_rule_is_reported_at_once():
    texts = errors_of("""
apiVersion: v1
kind: Pod
metadata: {name: Web_1, uid: ../../x, labels: {"a b": x}}
spec:
  restartPolicy: Sometimes
  dnsPolicy: None
  containers:
  - name: a
    image: busybox
    imagePullPolicy: Maybe
    ports: [{containerPort: 70000, protocol: ICMP}]
    resources: {requests: {cpu: 2, memory: lots}, limits: {cpu: 1}}
    volumeMounts: [{name: nope, mountPath: /x, subPath: ../y}]
    livenessProbe: {exec: {command: [a]}, tcpSocket: {port: 1}, successThreshold: 2}
  - name: a
    image: ""
  initContainers:
  - name: i
    image: x
    readinessProbe: {exec: {command: [a]}}
  volumes: [{name: v, hostPath: {path: /a/../b, type: Dir}}, {name: v, emptyDir: {sizeLimit: big}, secret: {}}]
""")
    for start in (
        "metadata.name: 'Web_1' is not a DNS name", "metadata.uid:", "metadata.labels[a b]:",
        "spec.volumes[1].name: duplicate: 'v'", "spec.volumes[0].hostPath.path: must not contain",
        "spec.volumes[0].hostPath.type: 'Dir' is not one of", "spec.volumes[1]: has more than one volume source",
        "spec.volumes[1].emptyDir.sizeLimit:", "spec.initContainers[0].readinessProbe:",
        "spec.containers[0].imagePullPolicy:", "spec.containers[0].ports[0].containerPort: 70000",
        "spec.containers[0].ports[0].protocol:", "spec.containers[0].resources.requests[cpu]: is above",
        "spec.containers[0].resources.requests[memory]: 'lots' is not", "spec.containers[0].volumeMounts[0].name: no",
        "spec.containers[0].volumeMounts[0].subPath: must not contain", "spec.containers[0].livenessProbe: has more",
        "spec.containers[0].livenessProbe.successThreshold: must be 1", "spec.containers[1].name: duplicate: 'a'",
        "spec.containers[1].image: required", "spec.restartPolicy: 'Sometimes' is not one of",
        "spec.dnsConfig.nameservers: required",
    ):  # fmt: skip
        assert any(text.startswith(start) for text in texts), (start, texts)


POD_CERTIFICATE = "{signerName: a.b/c, keyType: ED25519, keyPath: k}"


def test_a_pod_that_is_too_large_is_refused_by_name():
    containers = ", ".join(f"{{name: c{index}, image: x}}" for index in range(MOST_CONTAINERS + 1))
    text = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: web}}\nspec:\n  containers: [{containers}]\n"
    assert errors_of(text) == [f"spec.containers: {MOST_CONTAINERS + 1} containers in all, the maximum is 500"]
    volumes = "".join(f"  - {{name: v{index}, emptyDir: {{}}}}\n" for index in range(MOST_VOLUMES + 1))
    errors = errors_of(WEB.replace("  volumes: [{name: data}]\n", f"  volumes:\n{volumes}"))
    assert errors == [f"spec.volumes: {MOST_VOLUMES + 1} volumes, the maximum is 1000"]


@pytest.mark.parametrize(
    ("addition", "field"),
    [
        ("  serviceAccountName: x\n", "spec.serviceAccountName"),
        ("  imagePullSecrets: [{name: x}]\n", "spec.imagePullSecrets"),
        ("  - {name: s, secret: {secretName: x}}\n", "spec.volumes[1].secret"),
        ("  - {name: s, configMap: {name: x}}\n", "spec.volumes[1].configMap"),
        ("  - {name: s, persistentVolumeClaim: {claimName: x}}\n", "spec.volumes[1].persistentVolumeClaim"),
        ("  - {name: s, projected: {sources: [{secret: {name: x}}]}}\n", "spec.volumes[1].projected.sources[0].secret"),
        (
            f"  - {{name: s, projected: {{sources: [{{podCertificate: {POD_CERTIFICATE}}}]}}}}\n",
            "spec.volumes[1].projected.sources[0].podCertificate",
        ),
        ("  - {name: s, cephfs: {monitors: [a], secretRef: {name: x}}}\n", "spec.volumes[1].cephfs"),
    ],
)
def test_a_static_pod_may_not_refer_to_the_api_server(addition, field):
    text = WEB.replace("volumes: [{name: data}]\n", "volumes:\n  - name: data\n")
    assert [error.split(":")[0] for error in errors_of(text + addition)] == [field]
    allowed = Origin(ORIGIN.source, ORIGIN.place, ORIGIN.node, allow_references=True)
    assert read_manifest((text + addition).encode(), allowed)


@pytest.mark.parametrize(
    ("addition", "field", "error"),
    [
        ("  resourceClaims: [{name: x}]\n", "spec.resourceClaims", "static pods may not use ResourceClaims"),
        ("  - {name: s, projected: {sources: [{clusterTrustBundle: {name: x, path: ca.crt}}]}}\n",
         "spec.volumes[1].projected.sources[0].clusterTrustBundle",
         "static pods may not use ClusterTrustBundle projected volume sources"),
    ],
)  # fmt: skip
def test_a_static_pod_never_uses_resource_claims_or_trust_bundles(addition, field, error):
    text = WEB.replace("volumes: [{name: data}]\n", "volumes:\n  - name: data\n") + addition
    assert [one.split(":")[0] for one in errors_of(text)] == [field]
    allowed = Origin(ORIGIN.source, ORIGIN.place, ORIGIN.node, allow_references=True)
    assert errors_of(text, allowed) == [f"{field}: {error}"]


def test_environment_from_the_api_server_is_refused_too():
    text = WEB.replace("    image: busybox\n", "    image: busybox\n    envFrom: [{secretRef: {name: x}}]\n")
    assert errors_of(text)[0].startswith("spec.containers[0].envFrom[0].secretRef: a static pod may not")


def test_a_list_is_read_from_a_url_and_refused_in_a_file():
    pods: dict[str, Any] = {"apiVersion": "v1", "kind": "PodList", "items": [
        {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "x"}]}} for name in ("a", "b")
    ]}  # fmt: skip
    found = read_manifest(json.dumps(pods).encode(), Origin("http", "http://x", "n"))
    assert [pod.full_name for pod in found] == ["a-n_default", "b-n_default"]
    assert errors_of(json.dumps(pods))
    pods["items"][1]["spec"] = {}
    assert errors_of(json.dumps(pods), Origin("http", "http://x", "n")) == ["items[1].spec.containers: required"]


def test_fields_without_a_model_stay_in_the_pod():
    text = WEB + "  affinity: {nodeAffinity: {x: [1, {y: z}]}}\n"
    assert pod_of(text)["spec"]["affinity"] == {"nodeAffinity": {"x": [1, {"y": "z"}]}}


def test_a_disposable_process_reads_the_same_pods(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text(WEB)
    fields = ["file", ORIGIN.place.encode(), "Node-1", False]
    assert from_process(read_in_process(bytes(path), b"", fields)) == read_manifest(WEB.encode(), ORIGIN)
    with pytest.raises(ManifestError, match=r"spec.hostNetwok: unknown"):
        from_process(read_in_process(b"", BROKEN.encode(), fields))


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["spec", "volumes", "name", "image", "ports", "env", "resources", "limits", "cpu", "httpGet"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(values, values, values)
def test_any_pod_is_read_or_refused_with_reasons(meta, containers, volumes):
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": containers, "volumes": volumes}}
    try:
        found = read_manifest(json.dumps(pod).encode(), ORIGIN)
    except ManifestError as error:
        reasons, uids = error.texts(), []
    else:
        reasons, uids = [], [codec.decode_pod(each.data).metadata.uid for each in found]
    assert any(reasons) != any(uids)
