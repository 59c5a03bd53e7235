"""Security contexts: what is odd fails closed."""

from __future__ import annotations

import pytest

from actors.pod_workers.containers.security import (
    container_context,
    namespaces,
    sandbox_context,
    supplemental_groups,
    with_groups,
)
from actors.pod_workers.errors import ConfigError
from actors.shared.kube.apparmor import ANNOTATION
from actors.shared.kube.codec import decode_pod, encode
from actors.shared.kube.container import Container, SecurityContext
from actors.shared.kube.pod import Pod
from proto import cri_pb2 as cri


def context(own: dict | None = None, pod: dict | None = None, user: tuple = (None, ""), **spec: object):
    body = {"containers": [{"name": "c", "securityContext": own or {}}], "securityContext": pod or {}, **spec}
    wanted = decode_pod(encode({"spec": body}))
    return container_context(wanted, wanted.spec.containers[0], user, seccomp_default=True, seccomp_dir="/s")


def test_the_default_is_confined_and_masked():
    made = context()
    assert made.seccomp.profile_type == cri.SecurityProfile.RuntimeDefault
    assert "/proc/kcore" in made.masked_paths
    assert "/proc/sys" in made.readonly_paths
    assert not made.privileged


@pytest.mark.parametrize("name", ["k8s-nginx", "/usr/sbin/nginx", "a//b"])
def test_an_app_armor_profile_is_named_as_it_was_loaded(name):
    made = context({"appArmorProfile": {"type": "Localhost", "localhostProfile": name}})
    assert (made.apparmor.profile_type, made.apparmor.localhost_ref) == (cri.SecurityProfile.Localhost, name)
    assert made.apparmor_profile == f"localhost/{name}", "for runtimes that read the older field"


@pytest.mark.parametrize(("kind", "older"), [("RuntimeDefault", "runtime/default"), ("Unconfined", "unconfined")])
def test_an_app_armor_profile_is_also_named_in_the_older_field(kind, older):
    assert context({"appArmorProfile": {"type": kind}}).apparmor_profile == older


@pytest.mark.parametrize(
    ("value", "profile"),
    [
        ("localhost/k8s-nginx", (cri.SecurityProfile.Localhost, "k8s-nginx")),
        ("runtime/default", (cri.SecurityProfile.RuntimeDefault, "")),
        ("what is this", (cri.SecurityProfile.Unconfined, "")),
    ],
)
def test_an_annotation_replaces_the_missing_profile_of_a_container(value, profile):
    spec = {
        "containers": [
            {"name": "a"},
            {"name": "b", "securityContext": {"appArmorProfile": {"type": "RuntimeDefault"}}},
        ],
        "securityContext": {"appArmorProfile": {"type": "Unconfined"}},
    }
    annotations = {f"{ANNOTATION}{name}": value for name in "ab"}
    pod = decode_pod(encode({"metadata": {"annotations": annotations}, "spec": spec}))
    first, second = (
        container_context(pod, one, (None, ""), seccomp_default=True, seccomp_dir="/s").apparmor
        for one in pod.spec.containers
    )
    assert (first.profile_type, first.localhost_ref) == profile
    assert second.profile_type == cri.SecurityProfile.RuntimeDefault, "the container's own field wins"


def test_values_of_the_container_override_those_of_the_pod():
    made = context({"runAsUser": 5}, {"runAsUser": 6, "runAsGroup": 7, "fsGroup": 8, "supplementalGroups": [9]})
    assert (made.run_as_user.value, made.run_as_group.value, list(made.supplemental_groups)) == (5, 7, [8, 9])


def test_the_user_of_the_image_is_the_default():
    assert context(user=(1000, "")).run_as_user.value == 1000
    assert context(user=(None, "app")).run_as_username == "app"


def test_an_image_without_a_user_runs_as_root():
    made = context()
    assert made.HasField("run_as_user")
    assert made.run_as_user.value == 0


@pytest.mark.parametrize(
    ("own", "user"),
    [({"runAsUser": 0}, (1000, "")), ({}, (0, "")), ({}, (None, "")), ({}, (None, "app"))],
)
def test_run_as_non_root_refuses_what_is_or_may_be_root(own, user):
    with pytest.raises(ConfigError, match="root"):
        context({**own, "runAsNonRoot": True}, user=user)


def test_run_as_non_root_refuses_an_invalid_user_of_an_image():
    with pytest.raises(
        ConfigError, match=r"image has an invalid user id \(2147483648\)\. \(Must be 1-\(2147483647\)\)"
    ):
        context({"runAsNonRoot": True}, user=(1 << 31, ""))


def test_run_as_non_root_accepts_a_numeric_user():
    assert context({"runAsNonRoot": True}, user=(1000, "")).run_as_user.value == 1000


@pytest.mark.parametrize(
    "own",
    [
        {"seccompProfile": {"type": "Localhost"}},
        {"seccompProfile": {"type": "Localhost", "localhostProfile": ""}},
        {"seccompProfile": {"type": "Localhost", "localhostProfile": "../x"}},
        {"seccompProfile": {"type": "Localhost", "localhostProfile": "/x"}},
        {"seccompProfile": {"type": "Sometimes"}},
        {"appArmorProfile": {"type": "Localhost"}},
        {"appArmorProfile": {"type": "Localhost", "localhostProfile": " "}},
        {"appArmorProfile": {"type": "Sometimes"}},
        {"procMount": "Some"},
    ],
)
def test_an_invalid_profile_is_refused(own):
    with pytest.raises(ConfigError):
        context(own)


def test_a_profile_of_the_node_is_below_its_directory():
    made = context({"seccompProfile": {"type": "Localhost", "localhostProfile": "a/b.json"}})
    assert (made.seccomp.profile_type, made.seccomp.localhost_ref) == (cri.SecurityProfile.Localhost, "/s/a/b.json")


def test_privileges_capabilities_and_read_only_roots_are_passed_on():
    own = {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"add": ["A"], "drop": ["ALL"]},
    }
    made = context(own)
    assert (made.no_new_privs, made.readonly_rootfs) == (True, True)
    assert (list(made.capabilities.add_capabilities), list(made.capabilities.drop_capabilities)) == (["A"], ["ALL"])
    assert list(context({"procMount": "Unmasked"}).masked_paths) == []


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, (cri.POD, cri.CONTAINER, cri.POD)),
        ({"hostNetwork": True, "hostPID": True, "hostIPC": True}, (cri.NODE, cri.NODE, cri.NODE)),
        ({"shareProcessNamespace": True}, (cri.POD, cri.POD, cri.POD)),
    ],
)
def test_namespaces_follow_the_pod(spec, expected):
    options = namespaces(decode_pod(encode({"spec": {"containers": [], **spec}})))
    assert (options.network, options.pid, options.ipc) == expected


@pytest.mark.parametrize("kind", ["initContainers", "containers", "ephemeralContainers"])
def test_the_sandbox_is_privileged_when_any_container_is(kind):
    spec = {"containers": [{"name": "a"}], kind: [{"name": "b", "securityContext": {"privileged": True}}]}
    assert sandbox_context(decode_pod(encode({"spec": spec}))).privileged


@pytest.mark.parametrize(
    ("user", "group", "expected"),
    [(None, 7, [None, None]), (5, 7, [5, 7]), (5, None, [5, None]), (None, None, [None, None])],
)
def test_a_sandbox_has_the_user_of_the_pod_and_its_group_beside_a_user_only(user, group, expected):
    made = sandbox_context(decode_pod(encode({"spec": {"securityContext": {"runAsUser": user, "runAsGroup": group}}})))
    found = [getattr(made, name).value if made.HasField(name) else None for name in ("run_as_user", "run_as_group")]
    assert found == expected


def test_selinux_options_are_the_pods_or_all_those_of_the_container():
    whole, own = {"seLinuxOptions": {"type": "t", "level": "s0"}}, {"seLinuxOptions": {"user": "u", "role": "r"}}
    pod = decode_pod(encode({"spec": {"containers": [{"name": "c"}], "securityContext": whole}}))
    assert sandbox_context(pod).selinux_options == cri.SELinuxOption(type="t", level="s0")
    assert context(pod=whole).selinux_options == cri.SELinuxOption(type="t", level="s0")
    assert context(own, whole).selinux_options == cri.SELinuxOption(user="u", role="r")
    assert context(own).selinux_options == cri.SELinuxOption(user="u", role="r")
    assert not context().HasField("selinux_options")


@pytest.mark.parametrize(
    ("policy", "passed"), [({}, "Merge"), ({"supplementalGroupsPolicy": "Merge"}, "Merge"),
                           ({"supplementalGroupsPolicy": "Strict"}, "Strict")],
)  # fmt: skip
def test_only_a_strict_policy_keeps_the_groups_of_the_image_away(policy, passed):
    expected = cri.SupplementalGroupsPolicy.Value(passed)
    pod = decode_pod(encode({"spec": {"containers": [{"name": "c"}], "securityContext": policy}}))
    assert context(pod=policy).supplemental_groups_policy == expected
    assert sandbox_context(pod).supplemental_groups_policy == expected


@pytest.mark.parametrize(
    ("profile", "kind"),
    [
        ({"type": "RuntimeDefault"}, cri.SecurityProfile.RuntimeDefault),
        ({"type": "Unconfined"}, cri.SecurityProfile.Unconfined),
    ],
)
def test_a_seccomp_profile_of_the_pod_holds_for_its_containers_and_not_for_its_sandbox(profile, kind):
    whole = {"seccompProfile": profile}
    assert context(pod=whole).seccomp.profile_type == kind
    own = {"seccompProfile": {"type": "Localhost", "localhostProfile": "own"}}
    assert context(own, whole).seccomp.localhost_ref == "/s/own"
    pod = decode_pod(encode({"spec": {"containers": [{"name": "c"}], "securityContext": whole}}))
    assert sandbox_context(pod).seccomp.profile_type == cri.SecurityProfile.RuntimeDefault
    bare = Container(name="c")
    plain = container_context(Pod(), bare, (1, ""), seccomp_default=False, seccomp_dir="/s")
    assert plain.seccomp.profile_type == cri.SecurityProfile.Unconfined, "the default is a setting of the node"


def test_the_groups_of_volumes_come_after_those_of_the_pod_and_once():
    pod = decode_pod(encode({"spec": {"securityContext": {"fsGroup": 8, "supplementalGroups": [9]}}}))
    assert supplemental_groups(with_groups(pod, [5, 9])) == [8, 9, 5]
    assert with_groups(pod, [9]) is pod


def test_a_refused_user_is_named_with_its_pod_and_container():
    wanted = decode_pod(encode({"metadata": {"name": "p", "namespace": "n", "uid": "u"}, "spec": {}}))
    refused = Container(name="c", securityContext=SecurityContext(runAsUser=0, runAsNonRoot=True))
    with pytest.raises(ConfigError) as caught:
        container_context(wanted, refused, (1000, ""), seccomp_default=True, seccomp_dir="/s")
    assert str(caught.value) == 'container\'s runAsUser breaks non-root policy (pod: "p_n(u)", container: c)'
