"""The API's rules for a pod beyond its shape: each broken one is an error that names the field."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.pod_config.manifests.manifest import Origin, read_manifest
from actors.pod_config.validation.errors import ManifestError
from actors.pod_config.validation.field_check import FieldCheck
from actors.pod_config.validation.resource_rules import check_container_resources
from actors.shared.kube.container import ResourceRequirements

ORIGIN = Origin("file", "/m/p.yaml", "node")
NODE_TERM = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
POD_TERM = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}}
REQUIRED, PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
WHOLE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "finalizers": ["example.com/x", "orphan"]},
    "spec": {
        "terminationGracePeriodSeconds": 5,
        "containers": [
            {
                "name": "a",
                "image": "i",
                "env": [
                    {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "status.podIPs", "apiVersion": "v1"}}},
                    {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['a.b/C']"}}},
                    {"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}},
                    {"name": "D", "valueFrom": {"resourceFieldRef": {"resource": "requests.hugepages-2Mi"}}},
                ],
                "resources": {"limits": {"cpu": "1", "memory": "64Mi"}},
                "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}],
                "restartPolicy": "Never",
                "restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}],
                "volumeMounts": [{"name": "v", "mountPath": "/v", "readOnly": True, "recursiveReadOnly": "Enabled"}],
                "lifecycle": {"preStop": {"sleep": {"seconds": 5}}},
                "securityContext": {
                    "procMount": "Default",
                    "seccompProfile": {"type": "Localhost", "localhostProfile": "a/b.json"},
                    "appArmorProfile": {"type": "Localhost", "localhostProfile": "/usr/sbin/nginx"},
                },
            }
        ],
        "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "4", "memory": "1Gi"}},
        "overhead": {"cpu": "10m"},
        "nodeSelector": {"a.b/c": "d"},
        "tolerations": [{"operator": "Exists"}, {"key": "k", "effect": "NoExecute", "tolerationSeconds": 3}],
        "readinessGates": [{"conditionType": "a.b/c"}],
        "schedulingGates": [{"name": "a.b/c"}],
        "priorityClassName": "system-node-critical",
        "runtimeClassName": "gvisor",
        "os": {"name": "linux"},
        "hostAliases": [{"ip": "::1", "hostnames": ["a.b"]}],
        "dnsConfig": {"searches": [".", "a_b.c."], "options": [{"name": "ndots", "value": "2"}]},
        "securityContext": {"seLinuxChangePolicy": "Recursive"},
        "affinity": {
            "nodeAffinity": {
                REQUIRED: {"nodeSelectorTerms": [NODE_TERM]},
                PREFERRED: [{"weight": 1, "preference": NODE_TERM}],
            },
            "podAffinity": {REQUIRED: [POD_TERM]},
            "podAntiAffinity": {PREFERRED: [{"weight": 100, "podAffinityTerm": POD_TERM}]},
        },
        "topologySpreadConstraints": [{"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **POD_TERM}],
        "volumes": [
            {"name": "v", "projected": {"defaultMode": 256, "sources": [{"downwardAPI": {"items": [
                {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}},
                {"path": "cpu", "resourceFieldRef": {"containerName": "a", "resource": "limits.cpu"}},
            ]}}, {"clusterTrustBundle": {
                "signerName": "example.com/mtls", "path": "ca.crt", "optional": True,
                "labelSelector": {"matchLabels": {"a": "b"},
                                  "matchExpressions": [{"key": "c", "operator": "NotIn", "values": ["d"]}]},
            }}, {"podCertificate": {
                "signerName": "example.com/mtls.v1", "keyType": "ECDSAP521", "maxExpirationSeconds": 7862400,
                "credentialBundlePath": "all.pem", "keyPath": "key.pem", "certificateChainPath": "chain.pem",
                "userAnnotations": {"Example.com/Role": "any value"},
            }}]}},
            {"name": "w", "image": {"reference": "i", "pullPolicy": "Never"}},
        ],
    },
}  # fmt: skip
CONTAINER = "spec.containers.0"
ALIVE = {"tcpSocket": {"port": 80}}
ENV = f"{CONTAINER}.env.0.valueFrom"
ITEM = "spec.volumes.0.projected.sources.0.downwardAPI.items.0"
BUNDLE = "spec.volumes.0.projected.sources.1.clusterTrustBundle"
CREDENTIALS = "spec.volumes.0.projected.sources.2.podCertificate"
NODE = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"
SPREAD = "spec.topologySpreadConstraints.0"


def errors(document: dict[str, Any]) -> list[str]:
    try:
        read_manifest(json.dumps(document).encode(), ORIGIN)
    except ManifestError as error:
        return [f"{one.path}: {one.text}" for one in error.errors]
    return []


def changed(path: str, value: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(WHOLE))  # a deep copy would share the terms that it has twice
    *above, last = path.split(".")
    place: Any = document
    for name in above:
        place = place[int(name) if isinstance(place, list) else name]
    place[int(last) if isinstance(place, list) else last] = value
    return document


def test_a_pod_that_uses_each_field_is_valid_but_for_references_of_a_static_pod() -> None:
    assert [one.split(": ")[0] for one in errors(WHOLE)] == [
        f"spec.volumes[0].projected.sources[{index}].{name}"
        for index, name in ((1, "clusterTrustBundle"), (2, "podCertificate"))
    ]


@pytest.mark.parametrize(
    ("path", "value", "error"),
    [
        ("metadata.finalizers", ["mine"], "metadata.finalizers[0]: 'mine' needs a prefix"),
        (f"{ENV}.fieldRef.fieldPath", "status.phase", "fieldRef.fieldPath: 'status.phase' is not one of"),
        (f"{ENV}.fieldRef.fieldPath", "metadata.labels['-']", "fieldRef.fieldPath: '-' is not a qualified name"),
        (f"{ENV}.fieldRef.apiVersion", "v2", "fieldRef.apiVersion: 'v2' is not one of v1"),
        (f"{CONTAINER}.env.2.valueFrom.resourceFieldRef.resource", "cpu", "resource: 'cpu' is not one of limits.cpu"),
        (f"{CONTAINER}.env.2.valueFrom.resourceFieldRef.divisor", "2", "divisor: must be 1m or 1 for CPU"),
        (f"{CONTAINER}.env.2.valueFrom.resourceFieldRef.divisor", "x", "divisor: 'x' is not a quantity"),
        (f"{CONTAINER}.resizePolicy.0.resourceName", "disk", "resizePolicy[0].resourceName: 'disk' is not one of"),
        (f"{CONTAINER}.resizePolicy.0.restartPolicy", "", "resizePolicy[0].restartPolicy: required"),
        ("spec.restartPolicy", "Never", "resizePolicy[0].restartPolicy: must be NotRequired"),
        (f"{CONTAINER}.restartPolicyRules.0.action", "", "restartPolicyRules[0].action: required"),
        (f"{CONTAINER}.restartPolicyRules.0.exitCodes.operator", "", "exitCodes.operator: required"),
        (f"{CONTAINER}.restartPolicyRules.0.exitCodes.values", [1 << 31], "exitCodes.values[0]: 2147483648 is not"),
        (f"{CONTAINER}.volumeMounts.0.readOnly", False, "recursiveReadOnly: Enabled needs readOnly"),
        (f"{CONTAINER}.volumeMounts.0.mountPropagation", "HostToContainer", "Enabled needs mountPropagation None"),
        (f"{CONTAINER}.lifecycle.preStop.sleep.seconds", 6, "sleep.seconds: 6 is above terminationGracePeriodSeconds"),
        (f"{CONTAINER}.livenessProbe", {**ALIVE, "terminationGracePeriodSeconds": 0}, "GracePeriodSeconds: 0 is not"),
        (f"{CONTAINER}.readinessProbe", {**ALIVE, "terminationGracePeriodSeconds": 5}, "not for a readiness probe"),
        (f"{CONTAINER}.startupProbe", {**ALIVE, "successThreshold": 2}, "startupProbe.successThreshold: must be 1"),
        (f"{CONTAINER}.livenessProbe", {**ALIVE, "periodSeconds": -1}, "livenessProbe.periodSeconds: -1 is not"),
        (f"{CONTAINER}.securityContext.procMount", "Unmasked", "procMount: Unmasked needs hostUsers: false"),
        (f"{CONTAINER}.securityContext.seccompProfile.type", "Unconfined", "localhostProfile: only when type is Local"),
        (f"{CONTAINER}.securityContext.appArmorProfile.type", "RuntimeDefault", "only when type is Localhost"),
        (f"{CONTAINER}.securityContext.seccompProfile.localhostProfile", " ", "required when type is Localhost"),
        (f"{CONTAINER}.securityContext.seccompProfile.localhostProfile", "/a", "localhostProfile: must be a relative"),
        (f"{CONTAINER}.securityContext.appArmorProfile.type", "", "appArmorProfile.type: required"),
        (f"{CONTAINER}.resources.limits.cpu", "5", "containers[0].resources.limits[cpu]: is above the pod's limit 4"),
        (
            f"{CONTAINER}.resources.requests",
            {"gpu": 1},
            "resources.requests[gpu]: is none of cpu, memory, ephemeral-storage",
        ),
        (f"{CONTAINER}.resources.limits", {"A.com/gpu": 1}, "limits[A.com/gpu]: is no name of an extended resource"),
        (f"{CONTAINER}.resources.limits", {"a.com/gpu": "1.5"}, "limits[a.com/gpu]: must be a whole number"),
        (f"{CONTAINER}.resources.requests", {"a.com/gpu": 1}, "requests[a.com/gpu]: needs a limit, which is the same"),
        (
            f"{CONTAINER}.resources",
            {"limits": {"a.com/gpu": 2}, "requests": {"a.com/gpu": 1}},
            "requests[a.com/gpu]: must be equal to the limit 2",
        ),
        (
            f"{CONTAINER}.resources.limits",
            {"cpu": 1, "hugepages-2Mi": "3Mi"},
            "limits[hugepages-2Mi]: must be a multiple of 2Mi",
        ),
        (f"{CONTAINER}.resources", {"limits": {"hugepages-2Mi": "4Mi"}}, "resources: huge pages need cpu or memory"),
        ("spec.resources.requests.cpu", "900m", "spec.resources.requests[cpu]: is below what the containers request"),
        ("spec.resources.limits", {"disk": 1}, "spec.resources.limits[disk]: a pod can have cpu, memory"),
        ("spec.overhead.cpu", "much", "spec.overhead[cpu]: 'much' is not a quantity"),
        ("spec.nodeSelector", {"a": "-"}, "spec.nodeSelector[a]: '-' is not a label value"),
        ("spec.tolerations.0.operator", "Equal", "tolerations[0].operator: must be Exists when there is no key"),
        ("spec.tolerations.0.value", "x", "tolerations[0].value: must be empty when the operator is Exists"),
        ("spec.tolerations.1.value", "-", "tolerations[1].value: '-' is not a label value"),
        ("spec.tolerations", [{"key": "k", "operator": "Equal", "value": "a b"}], "[0].value: 'a b' is not a label"),
        ("spec.tolerations.1.effect", "NoSchedule", "tolerations[1].effect: must be NoExecute when tolerationSeconds"),
        ("spec.tolerations.1.key", "-", "tolerations[1].key: '-' is not a qualified name"),
        ("spec.readinessGates.0.conditionType", "", "readinessGates[0].conditionType: '' is not a qualified name"),
        ("spec.schedulingGates", [{}], "schedulingGates[0].name: '' is not a qualified name"),
        ("spec.schedulingGates", {}, "schedulingGates: must be a list"),
        ("spec.priorityClassName", "A", "priorityClassName: 'A' is not a DNS name"),
        ("spec.priority", 1 << 31, "priority: 2147483648 is not between"),
        ("spec.runtimeClassName", "A", "runtimeClassName: 'A' is not a DNS name"),
        ("spec.os.name", "", "os.name: required"),
        ("spec.hostAliases.0.hostnames", ["A"], "hostAliases[0].hostnames[0]: 'A' is not a DNS name"),
        ("spec.dnsConfig.searches", ["a b"], "dnsConfig.searches[0]: 'a b' is not a DNS name"),
        ("spec.dnsConfig.options", [{}], "dnsConfig.options[0].name: required"),
        ("spec.securityContext.supplementalGroups", [0, -1], "supplementalGroups[1]: -1 is not between 0 and"),
        ("spec.securityContext.supplementalGroups", [1 << 31], "2147483648 is not between 0 and 2147483647"),
        ("metadata.annotations", {"a": "x" * (1 << 18)}, "metadata.annotations: more than 256 KiB in total"),
        ("spec.securityContext.seLinuxChangePolicy", "Never", "seLinuxChangePolicy: 'Never' is not one of"),
        ("spec.affinity", [], "spec.affinity: must be a mapping"),
        (NODE, [], "nodeSelectorTerms: required"),
        (f"{NODE}.0.matchExpressions.0.operator", "Near", "operator: 'Near' is not one of"),
        (f"{NODE}.0.matchExpressions.0.operator", "Exists", "values: must be empty when the operator is Exists"),
        (f"{NODE}.0.matchExpressions.0.operator", 5, "operator: must be a text"),
        (f"{NODE}.0.matchExpressions.0.values", [], "values: required"),
        (f"{NODE}.0.matchExpressions.0.values", "a", "values: must be a list of texts"),
        (f"{NODE}.0.matchExpressions.0.values", ["a", "-"], "values[1]: '-' is not a label value"),
        (f"{NODE}.0.matchExpressions.0.key", "", "key: '' is not a qualified name"),
        (f"spec.affinity.nodeAffinity.{PREFERRED}.0.weight", 0, "weight: must be between 1 and 100"),
        (f"spec.affinity.podAffinity.{REQUIRED}.0.topologyKey", "", "topologyKey: required"),
        (f"spec.affinity.podAntiAffinity.{PREFERRED}.0.podAffinityTerm", {}, "podAffinityTerm.topologyKey: required"),
        (f"{SPREAD}.maxSkew", 0, "maxSkew: must be a number of at least 1"),
        (f"{SPREAD}.whenUnsatisfiable", "Maybe", "whenUnsatisfiable: 'Maybe' is not one of"),
        (f"{SPREAD}.labelSelector.matchLabels", {"a": "-"}, "matchLabels[a]: '-' is not a label value"),
        (f"{ITEM}.fieldRef.fieldPath", "status.podIP", "items[0].fieldRef.fieldPath: 'status.podIP' is not one of"),
        (f"{ITEM}.path", "../x", "sources[0].downwardAPI.items[0].path: must not contain '..'"),
        (f"{ITEM}.path", "cpu", "sources[0]: 'cpu' is the path of another file, too"),
        ("spec.volumes.0.projected.sources", [{}], "sources[0]: needs a source"),
        ("spec.volumes.0.projected.sources.0.secret", {"name": "s"}, "more than one source: secret, downwardAPI"),
        (f"{BUNDLE}.name", "b", "clusterTrustBundle: only one of name and signerName may be used"),
        (f"{BUNDLE}.signerName", None, "clusterTrustBundle: either name or signerName must be specified"),
        (BUNDLE, {"name": "", "path": "p"}, "clusterTrustBundle.name: required"),
        (BUNDLE, {"name": "a.b:c:d", "path": "p", "labelSelector": {}}, "labelSelector: must be unset if name is"),
        (BUNDLE, {"name": "a:B", "path": "p"}, "clusterTrustBundle.name: 'B' is not a DNS name"),
        (f"{BUNDLE}.signerName", "com/x", "clusterTrustBundle.signerName: 'com/x' is not the name of a signer"),
        (f"{BUNDLE}.signerName", "a.b/", "signerName: 'a.b/' is not the name of a signer"),
        (f"{BUNDLE}.path", "", "clusterTrustBundle.path: required"),
        (f"{BUNDLE}.path", "..data", "clusterTrustBundle.path: must not start with '..'"),
        (f"{BUNDLE}.path", "labels", "sources[1]: 'labels' is the path of another file, too"),
        (f"{BUNDLE}.labelSelector.matchLabels", {"-": "x"}, "matchLabels[-]: '-' is not a qualified name"),
        (f"{BUNDLE}.labelSelector.matchExpressions.0.operator", "Gt", "matchExpressions[0].operator: 'Gt' is not one"),
        (f"{BUNDLE}.labelSelector.matchExpressions.0.operator", "Exists", "matchExpressions[0].values: may not be"),
        (f"{BUNDLE}.labelSelector.matchExpressions.0.values", [], "matchExpressions[0].values: must be specified"),
        (f"{BUNDLE}.labelSelector.matchExpressions.0.values", ["-"], "matchExpressions[0].values[0]: '-' is not a"),
        (f"{BUNDLE}.labelSelector.matchExpressions.0.key", "", "matchExpressions[0].key: '' is not a qualified name"),
        (f"{CREDENTIALS}.signerName", "", "podCertificate.signerName: required"),
        (f"{CREDENTIALS}.keyType", "RSA2048", "podCertificate.keyType: 'RSA2048' is not one of RSA3072, RSA4096"),
        (f"{CREDENTIALS}.maxExpirationSeconds", 3599, "maxExpirationSeconds: 3599 is not between 3600 and 7862400"),
        (f"{CREDENTIALS}.maxExpirationSeconds", 7862401, "7862401 is not between 3600 and 7862400"),
        (
            CREDENTIALS,
            {"signerName": "x.kubernetes.io/y", "keyType": "ED25519", "keyPath": "k", "maxExpirationSeconds": 86401},
            "86401 is not between 3600 and 86400",
        ),
        (CREDENTIALS, {"signerName": "a.b/c", "keyType": "ED25519"}, "podCertificate: specify at least one of"),
        (f"{CREDENTIALS}.keyPath", "/k", "podCertificate.keyPath: must be a relative path"),
        (f"{CREDENTIALS}.certificateChainPath", "..x", "certificateChainPath: must not start with '..'"),
        (f"{CREDENTIALS}.credentialBundlePath", "key.pem", "sources[2]: 'key.pem' is the path of another file, too"),
        (f"{CREDENTIALS}.userAnnotations", {"a": "b"}, "userAnnotations: 'a' needs a prefix, as example.com/name"),
        (f"{CREDENTIALS}.userAnnotations", {"a/-": "b"}, "userAnnotations: 'a/-' is not a qualified name"),
        (f"{CREDENTIALS}.userAnnotations", {"a.b/c": "x" * (1 << 18)}, "userAnnotations: more than 256 KiB in total"),
        ("spec.volumes.0.projected.defaultMode", 512, "projected.defaultMode: "),
        ("spec.volumes.1.image.pullPolicy", "Maybe", "image.pullPolicy: 'Maybe' is not one of"),
    ],
)
def test_a_broken_rule_is_an_error_that_names_the_field(path: str, value: Any, error: str) -> None:
    assert [one for one in errors(changed(path, value)) if error in one]


def test_values_at_the_limits_of_the_api_are_valid() -> None:
    valid = errors(WHOLE)
    assert errors(changed("metadata.annotations", {"a": "x" * ((1 << 18) - 1)})) == valid
    assert errors(changed("spec.securityContext.supplementalGroups", [0, (1 << 31) - 1])) == valid


@pytest.mark.parametrize(("limit", "request_"), [(1, "1"), ("2", "2000m"), ("1Ki", 1024)])
def test_a_request_equals_its_limit_by_its_amount(limit: Any, request_: Any) -> None:
    check = FieldCheck()
    resources = ResourceRequirements(limits={"a.com/gpu": limit}, requests={"a.com/gpu": request_})
    check_container_resources(resources, check)
    assert check.errors == []


@given(
    st.sampled_from(["spec.affinity", SPREAD, f"{NODE}.0.matchExpressions.0", "spec.schedulingGates"]),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["nodeAffinity", "podAffinity", REQUIRED, PREFERRED, "weight", "values", "key", "name"]
                ),
                inner,
                max_size=3,
            )
        ),
        max_leaves=8,
    ),
)
def test_any_json_where_only_a_scheduler_reads_is_accepted_or_refused(path: str, value: Any) -> None:
    assert isinstance(errors(changed(path, value)), list)
