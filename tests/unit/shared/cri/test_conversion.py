"""From what the runtime says to our values, field by field."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.shared.cri import conversion, stats_conversion
from actors.shared.cri.errors import RuntimeFailure
from actors.shared.cri.model import (
    CriContainer,
    CriContainerState,
    CriResources,
    CriUser,
    EventKind,
    PodRuntime,
    Sandbox,
)
from actors.shared.kube import names
from actors.shared.linux.psi import Pressure, Psi
from proto import cri_pb2 as cri

LABELS = {
    "io.kubernetes.pod.uid": "u",
    "io.kubernetes.pod.name": "p",
    "io.kubernetes.pod.namespace": "n",
    "io.kubernetes.container.name": "c",
}


def test_a_container_status_is_reported_in_full() -> None:
    status = cri.ContainerStatus(
        id="i",
        metadata=cri.ContainerMetadata(name="c", attempt=2),
        state=cri.CONTAINER_EXITED,
        created_at=1,
        started_at=2,
        finished_at=3,
        exit_code=4,
        image=cri.ImageSpec(image="sha256:1", user_specified_image="busybox"),
        image_ref="ref",
        image_id="iid",
        reason="OOMKilled",
        message="m",
        labels=LABELS,
        annotations={"io.kubernetes.container.restartCount": "7"},
        log_path="/l",
        resources=cri.ContainerResources(linux=cri.LinuxContainerResources(cpu_quota=5, memory_limit_in_bytes=6)),
        user=cri.ContainerUser(linux=cri.LinuxContainerUser(uid=8, gid=9, supplemental_groups=[10])),
    )
    container = conversion.container_of(status, "s")
    assert container == CriContainer(
        id="i",
        name="c",
        pod_uid="u",
        pod_name="p",
        pod_namespace="n",
        sandbox_id="s",
        attempt=2,
        state=CriContainerState.EXITED,
        image="busybox",
        resolved_image="sha256:1",
        image_ref="ref",
        image_id="iid",
        created_ns=1,
        started_ns=2,
        finished_ns=3,
        exit_code=4,
        reason="OOMKilled",
        message="m",
        log_path="/l",
        labels=LABELS,
        annotations={"io.kubernetes.container.restartCount": "7"},
        resources=CriResources(cpu_quota=5, memory_limit_bytes=6),
        user=CriUser(uid=8, gid=9, supplemental_groups=[10]),
    )
    assert container.restart_count == 7


def test_an_unset_time_of_any_runtime_is_zero() -> None:
    zero_of_go = -6795364578871345152
    for never in (0, zero_of_go):
        container = conversion.container_of(
            cri.ContainerStatus(id="i", created_at=5, started_at=never, finished_at=never)
        )
        assert (container.created_ns, container.started_ns, container.finished_ns) == (5, 0, 0)


def test_what_was_never_created_has_no_age_of_centuries() -> None:
    """containerd lists a sandbox whose start failed, and whose removal failed then, with Go's zero time."""
    never = -6795364578871345152
    made = [
        conversion.listed_sandbox(cri.PodSandbox(id="i", created_at=never)).created_ns,
        conversion.sandbox_of(cri.PodSandboxStatus(id="i", created_at=never)).created_ns,
        conversion.listed_container(cri.Container(id="i", created_at=never)).created_ns,
        conversion.container_of(cri.ContainerStatus(id="i", created_at=never)).created_ns,
        conversion.event_of(cri.ContainerEventResponse(container_id="i", created_at=never)).created_ns,
    ]
    assert made == [0] * 5


def test_a_container_without_pod_labels_has_no_pod() -> None:
    container = conversion.container_of(cri.ContainerStatus(id="i", state=cri.CONTAINER_RUNNING))
    assert (container.pod_uid, container.name, container.resources, container.user) == ("", "", None, None)


@pytest.mark.parametrize(
    ("path", "found"), [("/dev/last-words", "/h/1"), ("dev/last-words", "/h/1"), ("/else", ""), ("", "")]
)
def test_the_file_of_the_termination_message_is_the_one_mounted_there(path: str, found: str) -> None:
    status = cri.ContainerStatus(id="i", annotations={"io.kubernetes.container.terminationMessagePath": path})
    status.mounts.add(container_path="/data", host_path="/h/0")
    status.mounts.add(container_path="/dev/last-words", host_path="/h/1")
    assert conversion.container_of(status).message_file == found


@pytest.mark.parametrize(
    ("reported", "name"),
    [
        (cri.SIGNAL_SIGTERM, "SIGTERM"),
        (cri.SIGNAL_SIGRTMINPLUS1, "SIGRTMIN+1"),
        (cri.SIGNAL_SIGRTMAXMINUS14, "SIGRTMAX-14"),
        (cri.SIGNAL_RUNTIME_DEFAULT, ""),
        (9999, ""),
    ],
)
def test_the_stop_signal_has_the_name_of_the_api(reported: int, name: str) -> None:
    status = cri.ContainerStatus.FromString(
        cri.ContainerStatus(id="i").SerializeToString() + stop_signal_field(reported)
    )
    assert conversion.container_of(status).stop_signal == name


def stop_signal_field(number: int) -> bytes:
    """The field as a runtime sends it: no enum of this version may name the number."""
    tag = cri.ContainerStatus.DESCRIPTOR.fields_by_name["stop_signal"].number << 3
    found = b""
    for value in (tag, number):
        while value > 0x7F:
            found, value = found + bytes([value & 0x7F | 0x80]), value >> 7
        found += bytes([value])
    return found


def test_a_state_that_a_later_runtime_may_have_is_unknown() -> None:
    assert conversion.container_state(17) is CriContainerState.UNKNOWN


def test_an_event_of_an_unknown_type_is_reported_with_its_pod() -> None:
    event = cri.ContainerEventResponse(container_id="i", container_event_type=17)  # type: ignore[arg-type]
    event.pod_sandbox_status.metadata.uid = "u"
    told = conversion.event_of(event)
    assert (told.kind, told.pod_uid) == (EventKind.UNKNOWN, "u")


def test_a_sandbox_has_all_its_addresses_and_its_network_mode() -> None:
    status = cri.PodSandboxStatus(
        id="i",
        metadata=cri.PodSandboxMetadata(name="p", uid="u", namespace="n", attempt=1),
        state=cri.SANDBOX_NOTREADY,
        network=cri.PodSandboxNetworkStatus(ip="10.0.0.1", additional_ips=[cri.PodIP(ip="fd00::1")]),
        linux=cri.LinuxPodSandboxStatus(namespaces=cri.Namespace(options=cri.NamespaceOption(network=cri.NODE))),
        runtime_handler="runc",
    )
    sandbox = conversion.sandbox_of(status)
    assert sandbox == Sandbox(
        id="i",
        pod_uid="u",
        pod_name="p",
        pod_namespace="n",
        attempt=1,
        ips=["10.0.0.1", "fd00::1"],
        host_network=True,
        runtime_handler="runc",
    )


@pytest.mark.parametrize(
    ("runtime", "network", "message"),
    [
        (None, None, "the runtime does not report RuntimeReady, the runtime does not report NetworkReady"),
        (True, False, "NetworkReady=false reason:R message:M"),
        (True, True, ""),
    ],
)
def test_a_condition_that_is_false_or_missing_is_in_the_message(
    runtime: bool | None, network: bool | None, message: str
) -> None:
    conditions = [
        cri.RuntimeCondition(type=kind, status=met, reason="R", message="M")
        for kind, met in (("RuntimeReady", runtime), ("NetworkReady", network))
        if met is not None
    ]
    status = conversion.runtime_status(cri.StatusResponse(status=cri.RuntimeStatus(conditions=conditions)))
    assert (status.runtime_ready, status.network_ready, status.message) == (bool(runtime), bool(network), message)


def test_a_missing_number_is_none_and_zero_is_zero() -> None:
    usage = cri.MemoryUsage(timestamp=5, working_set_bytes=cri.UInt64Value(value=0))
    stats = stats_conversion.container_stats(cri.ContainerStats(memory=usage))
    assert stats.memory is not None
    assert (stats.memory.at_ns, stats.memory.working_set_bytes, stats.memory.rss_bytes) == (5, 0, None)
    assert (stats.cpu, stats.swap, stats.writable_layer) == (None, None, None)


@pytest.mark.parametrize("number", [2**62 + 1, 2**64 - 1])
def test_a_number_that_nothing_can_have_is_unknown(number: int) -> None:
    layer = cri.FilesystemUsage(used_bytes=cri.UInt64Value(value=number), inodes_used=cri.UInt64Value(value=5))
    stats = stats_conversion.container_stats(cri.ContainerStats(writable_layer=layer))
    assert stats.writable_layer is not None
    assert (stats.writable_layer.used_bytes, stats.writable_layer.inodes_used) == (None, 5)


def test_the_pressure_of_a_container_is_reported() -> None:
    psi = cri.PsiStats(Some=cri.PsiData(Total=1, Avg10=2.0, Avg60=3.0, Avg300=4.0), Full=cri.PsiData(Total=5))
    stats = stats_conversion.container_stats(cri.ContainerStats(cpu=cri.CpuUsage(psi=psi)))
    assert stats.cpu is not None
    assert stats.cpu.psi == Psi(Pressure(1, 2.0, 3.0, 4.0), Pressure(5, 0, 0, 0))


@given(
    st.builds(
        cri.ContainerStatus,
        id=st.just("i"),
        state=st.integers(0, 3),
        created_at=st.integers(-(2**63), 2**63 - 1),
        exit_code=st.integers(-(2**31), 2**31 - 1),
        message=st.text(),
        labels=st.dictionaries(st.text(), st.text(), max_size=3),
    )
)
def test_any_status_is_sent_unchanged(status: cri.ContainerStatus) -> None:
    runtime = PodRuntime(uid="u", containers=[conversion.container_of(status)])
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(runtime), type=PodRuntime) == runtime


NO_PARTS = ["", ".", "..", "../../etc/passwd", "a/b", "a\0b", "ü" * 128]


@pytest.mark.parametrize("text", NO_PARTS)
def test_a_name_that_cannot_be_a_part_of_a_path_is_none(text: str) -> None:
    labels = dict.fromkeys((names.POD_UID_LABEL, names.POD_NAME_LABEL, names.POD_NAMESPACE_LABEL), text)
    metadata, pod = cri.ContainerMetadata(name=text), cri.PodSandboxMetadata(name=text, uid=text, namespace=text)
    for container in (
        conversion.listed_container(cri.Container(id="i", metadata=metadata, labels=labels)),
        conversion.container_of(cri.ContainerStatus(id="i", metadata=metadata, labels=labels)),
    ):
        assert (container.name, container.pod_uid, container.pod_name, container.pod_namespace) == ("", "", "", "")
    for sandbox in (
        conversion.listed_sandbox(cri.PodSandbox(id="i", metadata=pod)),
        conversion.sandbox_of(cri.PodSandboxStatus(id="i", metadata=pod)),
    ):
        assert (sandbox.pod_uid, sandbox.pod_name, sandbox.pod_namespace) == ("", "", "")
    event = cri.ContainerEventResponse(container_id="i", pod_sandbox_status=cri.PodSandboxStatus(metadata=pod))
    assert conversion.event_of(event).pod_uid == ""


@pytest.mark.parametrize("text", NO_PARTS)
def test_an_answer_with_an_id_that_cannot_be_part_of_a_path_is_refused(text: str) -> None:
    with pytest.raises(RuntimeFailure):
        conversion.listed_container(cri.Container(id=text))
    with pytest.raises(RuntimeFailure):
        conversion.container_of(cri.ContainerStatus(id=text))
    with pytest.raises(RuntimeFailure):
        conversion.listed_sandbox(cri.PodSandbox(id=text))
    with pytest.raises(RuntimeFailure):
        conversion.sandbox_of(cri.PodSandboxStatus(id=text))


def test_an_unknown_attempt_is_not_continued() -> None:
    highest = cri.ContainerMetadata(attempt=2**32 - 1)
    assert conversion.listed_container(cri.Container(id="i", metadata=highest)).restart_count == 0
    sandbox = cri.PodSandbox(id="i", metadata=cri.PodSandboxMetadata(attempt=2**32 - 1))
    assert conversion.listed_sandbox(sandbox).attempt == 0


@pytest.mark.parametrize(("name", "expected"), [("own", "own"), ("", "c")])
def test_a_listed_container_without_a_name_has_that_of_its_label(name: str, expected: str) -> None:
    metadata = cri.ContainerMetadata(name=name)
    listed = conversion.listed_container(cri.Container(id="1" * 64, metadata=metadata, labels=LABELS))
    assert listed.name == expected
