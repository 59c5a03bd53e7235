"""What `supervise describe pod` says."""

from __future__ import annotations

from typing import Any

import pytest

from actors.agent.inspection import event_rows
from actors.agent.inspection.container_description import probe
from actors.agent.inspection.pod_description import Description, lines
from actors.agent.inspection.pod_waits import PodWaits
from actors.api_clients.event_client.messages import RecentEvent
from actors.image_manager.messages import PendingImage
from actors.status_manager.messages import PodStatusFound

NOW = 1_800_000_000.0
POD: dict[str, Any] = {
    "metadata": {"name": "web", "namespace": "shop", "uid": "u", "labels": {"app": "web"}},
    "spec": {
        "containers": [
            {
                "name": "main",
                "image": "nginx:1",
                "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {}},
                "livenessProbe": {"httpGet": {"path": "/live", "port": 80, "scheme": "HTTPS"}, "periodSeconds": 5},
                "volumeMounts": [{"name": "conf", "mountPath": "/etc/app", "readOnly": True}],
            }
        ],
        "initContainers": [{"name": "first", "image": "busybox"}],
        "volumes": [{"name": "conf", "configMap": {"name": "settings"}}, {"name": "tmp", "emptyDir": {}}],
    },
    "status": {
        "phase": "Running",
        "qosClass": "Burstable",
        "podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}],
        "startTime": "2027-01-15T07:59:00Z",
        "containerStatuses": [
            {
                "name": "main",
                "restartCount": 2,
                "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 20s"}},
                "lastState": {
                    "terminated": {"exitCode": 137, "reason": "OOMKilled", "finishedAt": "2027-01-15T07:59:50Z"}
                },
            }
        ],
        "conditions": [
            {
                "type": "Ready",
                "status": "False",
                "reason": "ContainersNotReady",
                "message": "containers with unready status: [main]",
                "lastTransitionTime": "2027-01-15T07:59:50Z",
            }
        ],
    },
}


def event(reason: str, **more: Any) -> RecentEvent:
    known = {"kind": "Pod", "namespace": "shop", "name": "web", "uid": "u", "field": "", "type": "Warning"}
    return RecentEvent(**{**known, "reason": reason, "message": "m", "count": 1, "first": NOW, "last": NOW, **more})


def text(**more: Any) -> str:
    """With each run of blanks as one."""
    shown = lines(Description(POD, "pod_workers/worker/0", **more), NOW)
    return "\n".join(" ".join(line.split()) for line in shown)


def test_describe_shows_why_a_container_does_not_run_and_how_it_ended() -> None:
    shown = text()
    assert "State: waiting: CrashLoopBackOff: back-off 20s" in shown
    assert "Last state: terminated 10s ago, exit code 137: OOMKilled" in shown
    assert "Restarts: 2" in shown
    assert "State: waiting: not begun yet" in shown  # of the init container
    assert "Ready False 10s ContainersNotReady: containers with unready status: [main]" in shown


def test_a_lost_end_has_no_time() -> None:
    lost = {"exitCode": 137, "reason": "ContainerStatusUnknown"}
    status = {"containerStatuses": [{"name": "main", "lastState": {"terminated": lost}}]}
    shown = lines(Description({**POD, "status": status}, ""), NOW)
    assert any(line.endswith("terminated, exit code 137: ContainerStatusUnknown") for line in shown)


def test_describe_shows_addresses_resources_probes_mounts_and_volumes() -> None:
    shown = text()
    assert "IP: 10.0.0.1, fd00::1" in shown
    assert "Requests: cpu 100m, memory 64Mi" in shown
    assert "Limits" not in shown
    assert "https-get :80/live, delay 0s, timeout 1s, period 5s, success 1, failure 3" in shown
    assert "/etc/app from conf (read-only)" in shown
    assert "conf configMap settings" in shown
    assert "tmp emptyDir -" in shown


def test_describe_shows_command_arguments_ports_and_variables() -> None:
    container = {
        "name": "main",
        "command": ["sh", "-c", "echo a b"],
        "args": ["first 'one'\nsecond\n"],
        "ports": [
            {"containerPort": 80, "name": "http", "hostPort": 8080},
            {"containerPort": 53, "protocol": "UDP"},
            {"containerPort": 1, "hostPort": 2, "hostIP": "10.0.0.9"},
        ],
        "env": [{"name": "A", "value": "b"}],
    }
    pod = {**POD, "spec": {"containers": [container]}}
    shown = lines(Description(pod), NOW)
    assert "    Command:     sh -c 'echo a b'" in shown
    at = shown.index("    Args:        first 'one'")
    assert shown[at + 1] == "                 second", "a script is shown as it is"
    assert "    Ports:       80/TCP (http, host port 8080), 53/UDP, 1/TCP (host port 10.0.0.9:2)" in shown
    assert "    Environment: A=b" in shown


def test_a_narrow_terminal_gets_all_of_it_in_folded_lines() -> None:
    seen = [event("BackOff", field="spec.containers{main}", count=3, first=NOW - 60, last=NOW - 5)]
    wide, narrow = (lines(Description(POD, "pod_workers/worker/0", events=seen), NOW, columns) for columns in (0, 40))
    assert max(map(len, narrow)) <= 40
    shown = {word for line in narrow for word in line.split()}
    assert {word for line in wide for word in line.split()} - shown == {"MESSAGE", "WHY"}, "these head no column now"


def test_describe_shows_what_the_end_of_a_pod_waits_for() -> None:
    report = PodStatusFound("u", b"", b"", "terminating", "volumes", "device is busy", "StopPodSandbox", NOW - 95)
    slow = "Waits for: the runtime, which has not answered StopPodSandbox for 95s"
    assert f"Ending: waits for its volumes\n{slow}\nLast error: device is busy" in text(waits=PodWaits(report))
    assert "Worker: pod_workers/worker/0, terminating" in text(waits=PodWaits(report))


@pytest.mark.parametrize(
    ("before", "said"),
    [
        (None, "the pull of a/b:1, which has run for 95s"),
        (0, "the pull of a/b:1, which has waited for 95s"),
        (1, "the pull of a/b:1, which has waited for 95s behind another one"),
        (3, "the pull of a/b:1, which has waited for 95s behind 3 others"),
    ],
)
def test_describe_shows_the_pulls_that_a_pod_waits_for(before: int | None, said: str) -> None:
    assert f"\nWaits for: {said}\n" in text(waits=PodWaits(images=[PendingImage("a/b:1", NOW - 95, before)]))


def test_events_are_last_and_their_absence_is_reported() -> None:
    assert text(events=[], events_since=NOW - 90).endswith("Events: no events since event_client started 90s ago")
    assert text(events=None).endswith("Events: not known")
    seen = [event("BackOff", field="spec.containers{main}", count=3, first=NOW - 60, last=NOW - 5)]
    assert "5s (x3 over 60s) Warning BackOff main m" in text(events=seen)


def test_actors_that_did_not_answer_are_named_first() -> None:
    assert text(problems=["status_manager does not answer"]).startswith("warning: status_manager does not answer\n")


def test_each_kind_of_probe_is_named() -> None:
    assert probe({"tcpSocket": {"port": 5}}).startswith("tcp-socket :5, ")
    assert probe({"udpSocket": {"port": 5}}).startswith("udpSocket port 5, ")
    assert probe({"grpc": {"port": 5, "service": "s"}}).startswith("grpc :5 s, ")
    assert probe({"exec": {"command": ["a", "b"]}, "failureThreshold": 9}).startswith("exec [a b], ")
    assert probe({"exec": {"command": ["a"]}, "failureThreshold": 9}).endswith("failure 9")


def test_events_of_a_pod_of_that_name_before_are_not_shown() -> None:
    found = [event("Old", uid="before"), event("New"), event("Nobody", uid=""), event("Other", name="db")]
    assert [one.reason for one in event_rows.of_object(found, "Pod", "shop", "web", "u")] == ["New", "Nobody"]


def test_a_message_of_many_lines_is_one_line_in_a_table() -> None:
    row = event_rows.row(event("Failed", message="a\n  b"), NOW)
    assert row == ("0s", "Warning", "Failed", "pod/shop/web", "a b")


def test_variables_are_shown_with_their_sources_and_annotations_where_it_is_wide() -> None:
    secret = {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}}
    container = {
        "name": "main", "image": "nginx:1",
        "env": [{"name": "MODE", "value": "fast"}, secret], "envFrom": [{"configMapRef": {"name": "settings"}}],
    }  # fmt: skip
    pod = {
        **POD, "metadata": {**POD["metadata"], "annotations": {"team": "shop"}}, "spec": {"containers": [container]}
    }  # fmt: skip
    shown = {" ".join(line.split()) for line in lines(Description(pod), NOW)}
    assert {
        "Environment: MODE=fast, PASSWORD from secret db password", "Variables of: configMap settings",
    } <= shown  # fmt: skip
    wide = {" ".join(line.split()) for line in lines(Description(pod, wide=True), NOW)}
    assert wide - shown == {"Annotations: team=shop"}
