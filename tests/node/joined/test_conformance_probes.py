"""What the conformance suite asks of probes (container_probe.go): all of a module's pods run at once."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.node.joined.test_pod_features import events, within
from tests.support.api_connection import Obj
from tests.support.joined import Joined, condition, container, pod, status
from tests.support.recorder import Recorder, recording

SECONDS = 60.0
FAIL, PASS = ["false"], ["true"]
QUICK: Obj = {"periodSeconds": 1, "failureThreshold": 1}
PATIENT: Obj = {"timeoutSeconds": 20}
"""A busy machine is not to be taken for an ill container."""
COMES_UP = "[ -e /up ] || { sleep 1; touch /up; exit 1; }"
DEAF = ("sh", "-c", "trap '' TERM; while :; do sleep 1; done")


@pytest.fixture(scope="module")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorder]:
    with recording(Path(tmp_path_factory.mktemp("recorder"))) as found:
        yield found


def command(*words: str, **more: object) -> Obj:
    return {"exec": {"command": list(words)}, **QUICK, **more}


def get(recorder: Recorder, path: str, *, secure: bool = False, **more: object) -> Obj:
    port, scheme = (recorder.https, "HTTPS") if secure else (recorder.http, "HTTP")
    action = {"path": path, "port": port, "host": "127.0.0.1", "scheme": scheme}
    return {"httpGet": action, **QUICK, **more}


@pytest.fixture(scope="module")
def host_port() -> Iterator[int]:
    """A port that is open on every address of this host. Nobody accepts: each probe stays in the backlog."""
    with socket.create_server(("", 0), backlog=4096) as listener:
        yield listener.getsockname()[1]


@pytest.fixture(scope="module")
def crowd(site: Joined, recorder: Recorder, host_port: int) -> Iterator[Joined]:
    """Every pod of this module."""
    away = "/redirect?to=http%3A%2F%2F0.0.0.0%2Felsewhere"
    here = f"/redirect?to=http%3A%2F%2F127.0.0.1%3A{recorder.http}%2Fstatus%2F500"
    dying: dict[str, Obj] = {
        "by-exec": {"livenessProbe": command("cat", "/none")},
        "by-http": {"livenessProbe": get(recorder, "/status/503")},
        "by-https": {"livenessProbe": get(recorder, "/status/404", secure=True)},
        "by-tcp": {"livenessProbe": {"tcpSocket": {"port": 9}, **QUICK}},
        "by-grpc": {"livenessProbe": {"grpc": {"port": 9}, **QUICK}},
        "by-time": {"livenessProbe": command("sleep", "30", timeoutSeconds=1)},
        "by-redirect": {"livenessProbe": get(recorder, here)},
        "by-startup": {"startupProbe": command(*FAIL, failureThreshold=2), "livenessProbe": command(*PASS)},
    }
    living: dict[str, Obj] = {
        "fine": {"livenessProbe": get(recorder, "/healthz", secure=True, **PATIENT)},
        "redirected": {"livenessProbe": get(recorder, away, **PATIENT)},
        "later": {"readinessProbe": command(*PASS, initialDelaySeconds=6)},
        "never": {"readinessProbe": command(*FAIL)},
        "started": {
            "startupProbe": command("sh", "-c", COMES_UP, failureThreshold=90, **PATIENT),
            "livenessProbe": command("test", "-e", "/up", **PATIENT),
        },
    }
    site.create(
        *(pod(name, container("main", **probes)) for name, probes in dying.items()),
        *(pod(name, container("main", **probes)) for name, probes in living.items()),
        pod("in-its-time", container("main", *DEAF, livenessProbe=command(*FAIL, terminationGracePeriodSeconds=2)),
            terminationGracePeriodSeconds=500),
        pod("in-both-times", container("main", *DEAF, startupProbe=command(*FAIL, terminationGracePeriodSeconds=2)),
            terminationGracePeriodSeconds=500),
        pod("beside", initContainers=[container("side", restartPolicy="Always", livenessProbe=command(*FAIL))]),
        pod("on-the-host", container("main", readinessProbe={"tcpSocket": {"port": host_port}, **QUICK, **PATIENT}),
            hostNetwork=True),
        pod("held", initContainers=[container("side", restartPolicy="Always", startupProbe=command(*FAIL))]),
    )  # fmt: skip
    yield site
    site.clear()


def restarts(site: Joined, name: str, kind: str = "containerStatuses") -> int:
    return sum(one["restartCount"] for one in status(site.pod(name)).get(kind) or [])


@pytest.mark.parametrize(
    "name",
    ["by-exec", "by-http", "by-https", "by-tcp", "by-grpc", "by-time", "by-redirect", "by-startup", "in-its-time",
     "in-both-times"],
)  # fmt: skip
def test_a_container_whose_probe_fails_is_restarted(crowd: Joined, name: str) -> None:
    crowd.pods.until(lambda: restarts(crowd, name) >= 1, f"{name} restarted", SECONDS)
    ended = status(crowd.pod(name))["containerStatuses"][0].get("lastState", {}).get("terminated") or {}
    assert ended.get("exitCode") in (0, 137, None)
    kind = "Startup" if name in ("by-startup", "in-both-times") else "Liveness"
    killing = ("Killing", f"Container main failed {kind.lower()} probe, will be restarted")

    def told() -> bool:
        found = events(crowd, name)
        failed = [text for reason, text in found if reason == "Unhealthy" and text.startswith(f"{kind} probe failed:")]
        return bool(failed) and killing in found

    within(SECONDS, told, f"events of {name}")


def test_counts_of_restarts_only_grow(crowd: Joined) -> None:
    crowd.pods.until(lambda: restarts(crowd, "by-exec") >= 2, "restarted twice", SECONDS)
    seen = [
        one["restartCount"]
        for told in list(crowd.pods.events)
        if told.name == "by-exec"
        for one in status(told.obj).get("containerStatuses") or []
    ]
    assert seen == sorted(seen)


def test_a_redirect_to_another_host_is_a_success_with_a_warning(crowd: Joined) -> None:
    text = "Liveness probe warning: Probe terminated redirects, Response body: "
    within(SECONDS, lambda: ("ProbeWarning", text.strip()) in [(r, t.strip()) for r, t in events(crowd, "redirected")],
           "ProbeWarning")  # fmt: skip
    assert restarts(crowd, "redirected") == 0


def test_a_container_that_passes_its_probes_is_not_restarted(crowd: Joined, recorder: Recorder) -> None:
    crowd.wait_pods_ready("fine", "started", seconds=SECONDS)
    assert (restarts(crowd, "fine"), restarts(crowd, "started")) == (0, 0)
    within(SECONDS, lambda: ("https", "/healthz", "kube-probe/1.36") in recorder.calls, "probe")


def test_a_probe_without_a_host_of_a_host_network_pod_goes_to_the_nodes_address(crowd: Joined) -> None:
    crowd.wait_pods_ready("on-the-host", seconds=SECONDS)
    found = status(crowd.pod("on-the-host"))
    assert found["podIP"] == found["hostIP"]
    assert "Unhealthy" not in dict(events(crowd, "on-the-host"))


def test_no_container_is_ready_before_its_initial_delay(crowd: Joined) -> None:
    crowd.wait_pods_ready("later", seconds=SECONDS)
    begun = status(crowd.pod("later"))["containerStatuses"][0]["state"]["running"]["startedAt"]
    ready = condition(crowd.pod("later"), "Ready")["lastTransitionTime"]
    assert _stamp(ready) - _stamp(begun) >= 5, "times have whole seconds"
    assert restarts(crowd, "later") == 0


def _stamp(text: str) -> float:
    return time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))


def test_a_container_that_is_never_ready_is_not_restarted(crowd: Joined) -> None:
    crowd.wait_phase("never", "Running", SECONDS)
    within(SECONDS, lambda: "Unhealthy" in dict(events(crowd, "never")), "Unhealthy")
    assert condition(crowd.pod("never"), "Ready")["reason"] == "ContainersNotReady"
    assert restarts(crowd, "never") == 0
    assert status(crowd.pod("never"))["containerStatuses"][0]["started"] is True


def test_sidecars_are_probed_too(crowd: Joined) -> None:
    crowd.pods.until(
        lambda: min(restarts(crowd, name, "initContainerStatuses") for name in ("beside", "held")) >= 1,
        "sidecars restarted", SECONDS,
    )  # fmt: skip
    assert restarts(crowd, "beside") == 0
    waits = status(crowd.pod("held"))["containerStatuses"][0]["state"]["waiting"]["reason"]
    assert waits == "PodInitializing"
    assert condition(crowd.pod("held"), "Initialized")["status"] == "False"


def test_a_terminating_pod_is_not_ready_and_its_liveness_probe_stops(site: Joined) -> None:
    # a probe that has begun before the end has looked by then
    hook = {"preStop": {"exec": {"command": ["sh", "-c", "sleep 2; rm /ready; sleep 6"]}}}
    probes = dict.fromkeys(("readinessProbe", "livenessProbe"), command("cat", "/ready", **PATIENT))
    script = "touch /ready; trap 'exit 0' TERM; while :; do sleep 0.2; done"
    site.create(pod("leaving", container("main", "sh", "-c", script, lifecycle=hook, **probes),
                    terminationGracePeriodSeconds=30))  # fmt: skip
    site.wait_pods_ready("leaving", seconds=SECONDS)
    site.delete("leaving")
    site.wait_no_pod("leaving", seconds=SECONDS)
    ending = [
        one.obj
        for one in list(site.pods.events)
        if one.name == "leaving" and "deletionTimestamp" in one.obj["metadata"]
    ]
    assert any(
        condition(one, "Ready")["status"] == "False" and "running" in status(one)["containerStatuses"][0]["state"]
        for one in ending
    ), "not ready while it still ran"
    kinds = [text.split(" ")[0] for reason, text in events(site, "leaving") if reason == "Unhealthy"]
    assert set(kinds) <= {"Readiness"}, kinds
