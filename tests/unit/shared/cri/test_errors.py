"""gRPC statuses become errors by cause."""

from __future__ import annotations

import pytest

from actors.shared.cri import errors

RESERVED = 'failed to reserve sandbox name "a_b_c_0": name "a_b_c_0" is reserved for "5f0c"'

STARTING = (
    'failed to remove container "0af1": failed to set removing state for container "0af1": '
    "container is in starting state, can't be removed"
)


@pytest.mark.parametrize(
    ("code", "details", "kind"),
    [
        ("NOT_FOUND", "no such container", errors.NotFound),
        ("UNAVAILABLE", "connection refused", errors.Unavailable),
        ("DEADLINE_EXCEEDED", "stopped by the runtime", errors.DeadlineExceeded),
        ("UNIMPLEMENTED", "unknown method", errors.Unimplemented),
        ("UNIMPLEMENTED", "unknown service runtime.v1.RuntimeService", errors.WithoutCri),
        ("UNKNOWN", RESERVED, errors.NameReserved),
        ("FAILED_PRECONDITION", RESERVED, errors.NameReserved),
        ("UNKNOWN", "server is not initialized yet", errors.Unavailable),
        ("UNKNOWN", STARTING, errors.StillStarting),
        ("UNKNOWN", "runc create failed", errors.RuntimeFailure),
        ("RESOURCE_EXHAUSTED", "received message larger than max", errors.RuntimeFailure),
    ],
)
def test_the_kind_of_an_error_is_its_cause(code: str, details: str, kind: type[errors.CriError]) -> None:
    error = errors.from_rpc("RunPodSandbox", code, details)
    assert type(error) is kind
    assert (error.method, error.code, error.details) == ("RunPodSandbox", code, details)
    assert str(error) == f"RunPodSandbox: {details}"


CRI_O = "name k8s_a_b_0 for id 9a0e: name is reserved"


@pytest.mark.parametrize(
    "details",
    [
        f"creating pod sandbox: error reserving pod {CRI_O}",
        "Kubelet may be retrying requests that are timing out in CRI-O due to system load. Currently at stage "
        f"container network creation: context deadline exceeded: error reserving pod {CRI_O}",
        f"error reserving ctr {CRI_O}",
    ],
)
def test_the_message_of_cri_o_for_a_reserved_name_is_recognised(details: str) -> None:
    error = errors.from_rpc("RunPodSandbox", "UNKNOWN", details)
    assert isinstance(error, errors.NameReserved)
    assert error.id == ""


@pytest.mark.parametrize(
    ("details", "kind"),
    [
        (
            'failed to pull and unpack image "r/a:1": failed to resolve reference: 503 Service Unavailable',
            errors.RuntimeFailure,
        ),
        ("RegistryUnavailable: pull failed", errors.RuntimeFailure),
        ("failed to connect to all addresses; last error: UNKNOWN: unix:/run/a.sock", errors.Unavailable),
        ("Socket closed", errors.Unavailable),
    ],
)
def test_a_registry_that_is_down_is_not_a_runtime_that_is_down(details: str, kind: type[errors.CriError]) -> None:
    assert type(errors.from_rpc("PullImage", "UNAVAILABLE", details)) is kind
    assert type(errors.from_rpc("ListImages", "UNAVAILABLE", details)) is errors.Unavailable


def test_a_runtime_may_say_in_words_that_it_cannot_change_the_size_of_a_sandbox() -> None:
    method, text = "UpdatePodSandboxResources", "not implemented yet"
    assert type(errors.from_rpc(method, "UNKNOWN", text)) is errors.Unimplemented
    assert type(errors.from_rpc(method, "UNKNOWN", "rejected by a plugin")) is errors.RuntimeFailure
    assert type(errors.from_rpc("StopContainer", "UNKNOWN", text)) is errors.RuntimeFailure


def test_a_reserved_name_error_has_the_id_if_the_runtime_reports_it() -> None:
    told = errors.from_rpc("CreateContainer", "UNKNOWN", RESERVED)
    untold = errors.from_rpc("CreateContainer", "UNKNOWN", "name k8s_a_b is reserved")
    assert isinstance(told, errors.NameReserved)
    assert isinstance(untold, errors.NameReserved)
    assert (told.id, untold.id) == ("5f0c", "")


OVERDUE = 'failed to kill container "c1": context deadline exceeded: unknown'


@pytest.mark.parametrize(
    ("details", "overdue", "kind"),
    [
        (OVERDUE, True, errors.DeadlineExceeded),
        (OVERDUE, False, errors.RuntimeFailure),  # a deadline of its own
        ("no such process", True, errors.RuntimeFailure),
    ],
)
def test_a_missed_deadline_may_be_told_by_the_runtime(details: str, overdue: bool, kind: type[errors.CriError]) -> None:
    error = errors.from_rpc("StopContainer", "UNKNOWN", details, overdue=overdue)
    assert (type(error), error.rpc_text) == (kind, f"rpc error: code = Unknown desc = {details}")


def test_a_stream_that_the_runtime_ends_at_the_deadline_is_the_deadline() -> None:
    ended = "RST_STREAM (Received RST_STREAM with error code 8)"
    error = errors.from_rpc("StartContainer", "CANCELLED", ended, overdue=True)
    assert type(error) is errors.DeadlineExceeded
    assert error.rpc_text == "rpc error: code = DeadlineExceeded desc = context deadline exceeded"
    assert type(errors.from_rpc("StartContainer", "CANCELLED", ended)) is errors.RuntimeFailure
