"""What the conformance suite asks of a pod's life: init containers, restarts, last words, hooks, deadlines, gates."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.node.joined.test_contents import run
from tests.node.joined.test_pod_features import events, within
from tests.support.api_connection import Obj
from tests.support.joined import PODS, Joined, condition, container, pod, status
from tests.support.recorder import Recorder, recording

SECONDS = 60.0
COUNTING = (
    "echo x >> /d/count; n=$(wc -l < /d/count); [ $n = 1 ] && exit 1; [ $n = 2 ] && exit 0; "
    "trap 'exit 0' TERM; while :; do sleep 0.2; done"
)
"""Fails, succeeds, then runs (runtime.go)."""
DATA: Obj = {"volumeMounts": [{"name": "d", "mountPath": "/d"}]}
VOLUME: Obj = {"volumes": [{"name": "d", "emptyDir": {}}]}


def true(name: str) -> Obj:
    return container(name, "true")


def false(name: str) -> Obj:
    return container(name, "false")


def says(name: str, path: str, script: str, **more: object) -> Obj:
    return container(name, "sh", "-c", script, terminationMessagePath=path, **more)


def crowd_of_pods() -> list[Obj]:
    fallback = {"terminationMessagePolicy": "FallbackToLogsOnError"}
    user = {"securityContext": {"runAsUser": 1000}}
    return [
        pod("init-always", initContainers=[true("one"), true("two")]),
        pod("init-never", true("main"), initContainers=[true("one"), true("two")], restartPolicy="Never"),
        pod("init-fails", initContainers=[false("one"), true("two")]),
        pod("init-ends", initContainers=[true("one"), false("two"), true("three")], restartPolicy="Never"),
        *(pod(f"again-{policy.lower()}", container("main", "sh", "-c", COUNTING, **DATA), restartPolicy=policy,
              **VOLUME)
          for policy in ("Always", "OnFailure", "Never")),
        pod("words", says("other-path", "/dev/last", "printf DONE > /dev/last", **user),
            says("logs", "/dev/termination-log", "printf GONE; exit 1", **fallback),
            says("good", "/dev/termination-log", "printf GONE", **fallback),
            says("file", "/dev/termination-log", "printf LOG; printf OK > /dev/termination-log", **fallback),
            restartPolicy="Never"),
        pod("imageless", container("main", image="127.0.0.1:1/none:1")),
        pod("nameless", container("main", image="Not A Name!")),
        pod("failing", container("main", "false")),
        pod("gated", readinessGates=[{"conditionType": "test.io/one"}, {"conditionType": "test.io/two"}]),
        pod("late", activeDeadlineSeconds=3600),
        pod("override", {**container("main"), "command": [], "args": ["echo", "$(A)-$$(A)-$(NONE)", "override"],
                         "env": [{"name": "A", "value": "a"}]}, restartPolicy="Never"),
        *(pod(name, container("main", "sh", "-c", "mkdir /m && mount -t tmpfs none /m",
                                       securityContext={"privileged": name == "may"}), restartPolicy="Never")
          for name in ("may", "may-not")),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def crowd(site: Joined) -> Iterator[Joined]:
    site.create(*crowd_of_pods())
    yield site
    site.clear()


def regular(site: Joined, name: str) -> Obj:
    """By container name."""
    return {one["name"]: one for one in status(site.pod(name)).get("containerStatuses") or []}


def inits(site: Joined, name: str) -> list[Obj]:
    return status(site.pod(name)).get("initContainerStatuses") or []


def test_init_containers_run_to_their_end_first(crowd: Joined) -> None:
    crowd.wait_pods_ready("init-always", seconds=SECONDS)
    crowd.wait_phase("init-never", "Succeeded", SECONDS)
    for name in ("init-always", "init-never"):
        ends = [one["state"]["terminated"] for one in inits(crowd, name)]
        assert [(end["exitCode"], end["reason"]) for end in ends] == [(0, "Completed")] * 2
        assert [one["ready"] for one in inits(crowd, name)] == [True, True]
        assert condition(crowd.pod(name), "Initialized")["status"] == "True"


def test_a_failing_init_container_is_tried_again_and_nothing_else_begins(crowd: Joined) -> None:
    crowd.pods.until(lambda: sum(one["restartCount"] for one in inits(crowd, "init-fails")) >= 2, "restarts", SECONDS)
    for told in (one.obj for one in list(crowd.pods.events) if one.name == "init-fails"):
        assert status(told).get("phase") == "Pending"
        for one in [*status(told).get("containerStatuses", []), *status(told).get("initContainerStatuses", [])[1:]]:
            assert one["state"]["waiting"]["reason"] == "PodInitializing"
    found = condition(crowd.pod("init-fails"), "Initialized")
    assert (found["status"], found["reason"]) == ("False", "ContainersNotInitialized")
    assert found["message"] == "containers with incomplete status: [one two]"


def test_a_finally_failed_init_container_ends_its_pod(crowd: Joined) -> None:
    crowd.wait_phase("init-ends", "Failed", SECONDS)
    one, two, three = inits(crowd, "init-ends")
    assert (one["state"]["terminated"]["exitCode"], two["state"]["terminated"]["exitCode"]) == (0, 1)
    for never in (three, regular(crowd, "init-ends")["main"]):
        assert never["state"]["waiting"]["reason"] == "PodInitializing"
    found = condition(crowd.pod("init-ends"), "Initialized")
    assert (found["status"], found["message"]) == ("False", "containers with incomplete status: [two three]")


def wait_for_restarts(site: Joined, name: str, phase: str, count: int) -> None:
    site.wait_phase(name, phase, SECONDS)
    site.pods.until(
        lambda: (regular(site, name)["main"]["restartCount"], status(site.pod(name))["phase"]) == (count, phase),
        f"{name} {phase} after {count} restarts",
        SECONDS,
    )


def test_each_restart_policy_gives_its_phase_count_and_readiness(crowd: Joined) -> None:
    for name, phase, count in (("always", "Running", 2), ("onfailure", "Succeeded", 1), ("never", "Failed", 0)):
        wait_for_restarts(crowd, f"again-{name}", phase, count)
    crowd.wait_pods_ready("again-always", seconds=SECONDS)
    assert regular(crowd, "again-always")["main"]["state"].keys() == {"running"}
    for name in ("onfailure", "never"):
        assert condition(crowd.pod(f"again-{name}"), "Ready")["status"] == "False"
        assert regular(crowd, f"again-{name}")["main"]["ready"] is False


def test_the_termination_message_comes_from_the_declared_path(crowd: Joined) -> None:
    crowd.wait_phase("words", "Failed", SECONDS)
    found = {name: one["state"]["terminated"].get("message", "") for name, one in regular(crowd, "words").items()}
    assert found == {"other-path": "DONE", "logs": "GONE", "good": "", "file": "OK"}


def test_an_image_that_cannot_be_pulled_is_reported(crowd: Joined) -> None:
    def reasons() -> set[str]:
        """Ever told."""
        told = [one.obj for one in list(crowd.pods.events) if one.name in ("imageless", "nameless")]
        found = [
            one["state"].get("waiting") or {} for obj in told for one in status(obj).get("containerStatuses") or []
        ]
        return {str(one.get("reason")) for one in found}

    crowd.pods.until(
        lambda: {"ErrImagePull", "ImagePullBackOff", "InvalidImageName"} <= reasons(), "each reason", SECONDS
    )
    assert status(crowd.pod("imageless"))["phase"] == "Pending"


def test_a_container_that_always_fails_has_a_reason(crowd: Joined) -> None:
    def last() -> Obj:
        one = regular(crowd, "failing").get("main", {})
        return one.get("state", {}).get("terminated") or one.get("lastState", {}).get("terminated") or {}

    crowd.pods.until(lambda: last().get("reason") == "Error", "a reason", SECONDS)
    assert (last()["exitCode"], bool(last()["startedAt"]), bool(last()["finishedAt"])) == (1, True, True)
    crowd.pods.until(
        lambda: regular(crowd, "failing")["main"]["state"].get("waiting", {}).get("reason") == "CrashLoopBackOff",
        "CrashLoopBackOff", SECONDS,
    )  # fmt: skip


def test_a_pod_is_ready_when_its_gates_are_open(crowd: Joined) -> None:
    def ready(wanted: str) -> bool:
        return condition(crowd.pod("gated"), "Ready").get("status") == wanted

    def gates(*values: str) -> None:
        made = [
            {"type": f"test.io/{name}", "status": value} for name, value in zip(("one", "two"), values, strict=False)
        ]
        path = f"{PODS}/gated/status"
        crowd.api.call("PATCH", path, {"status": {"conditions": made}}, "application/strategic-merge-patch+json")

    crowd.pods.until(lambda: condition(crowd.pod("gated"), "ContainersReady").get("status") == "True", "up", SECONDS)
    assert condition(crowd.pod("gated"), "Ready")["reason"] == "ReadinessGatesNotReady"
    gates("True")
    gates("True", "True")
    crowd.pods.until(lambda: ready("True"), "Ready", SECONDS)
    gates("False")
    crowd.pods.until(lambda: ready("False"), "not Ready", SECONDS)
    text = 'the status of pod readiness gate "test.io/one" is not "True", but False'
    assert condition(crowd.pod("gated"), "Ready")["message"] == text


def test_a_deadline_that_is_brought_forward_ends_the_pod(crowd: Joined) -> None:
    crowd.wait_pods_ready("late", seconds=SECONDS)
    before = crowd.pod("late")["metadata"]["generation"]
    crowd.api.merge(f"{PODS}/late", {"spec": {"activeDeadlineSeconds": 2}})
    crowd.wait_phase("late", "Failed", SECONDS)
    found = crowd.pod("late")
    assert status(found)["reason"] == "DeadlineExceeded"
    assert status(found)["observedGeneration"] == found["metadata"]["generation"] == before + 1
    seen = {one["type"]: one.get("observedGeneration") for one in status(found)["conditions"]}
    assert set(seen.values()) == {before + 1}, seen


def test_arguments_override_and_are_expanded(crowd: Joined) -> None:
    crowd.wait_phase("override", "Succeeded", SECONDS)
    assert crowd.kubectl("logs", "override") == "a-$(A)-$(NONE) override\n"


def test_only_a_privileged_container_may_do_what_needs_privileges(crowd: Joined) -> None:
    crowd.wait_phase("may", "Succeeded", SECONDS)
    crowd.wait_phase("may-not", "Failed", SECONDS)


# -- hooks ------------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorder]:
    with recording(Path(tmp_path_factory.mktemp("recorder"))) as found:
        yield found


def asking(recorder: Recorder, path: str, *, secure: bool = False) -> Obj:
    port, scheme = (recorder.https, "HTTPS") if secure else (recorder.http, "HTTP")
    headers = [{"name": "X-Test", "value": "1"}]
    return {"httpGet": {"path": path, "port": port, "host": "127.0.0.1", "scheme": scheme, "httpHeaders": headers}}


def test_hooks_run_after_the_start_and_before_the_end(site: Joined, recorder: Recorder) -> None:
    exec_hooks = {
        "postStart": {"exec": {"command": ["sh", "-c", "echo begun > /d/post"]}},
        "preStop": {"exec": {"command": ["sh", "-c", "echo ending > /d/pre"]}},
    }
    site.create(
        pod("hooked",
            container("exec", lifecycle=exec_hooks, **DATA),
            container("http", lifecycle={"postStart": asking(recorder, "/post"), "preStop": asking(recorder, "/pre")}),
            container("https", lifecycle={"postStart": asking(recorder, "/post", secure=True),
                                          "preStop": asking(recorder, "/pre", secure=True)}),
            container("sleep", lifecycle={"postStart": {"sleep": {"seconds": 0}},
                                          "preStop": {"sleep": {"seconds": 2}}}),
            terminationGracePeriodSeconds=30, **VOLUME)
    )  # fmt: skip
    site.wait_pods_ready("hooked", seconds=SECONDS)
    assert run(site, "hooked", "cat", "/d/post") == "begun\n"
    assert (recorder.paths("http"), recorder.paths("https")) == (["/post"], ["/post"])
    assert recorder.calls[0][2] == "kube-lifecycle/1.36"
    started_at = time.monotonic()
    site.delete("hooked")
    site.wait_no_pod("hooked", seconds=SECONDS)
    assert time.monotonic() - started_at >= 2
    assert (recorder.paths("http"), recorder.paths("https")) == (["/post", "/pre"], ["/post", "/pre"])


def test_a_long_hook_is_cut_by_a_shorter_grace_and_none_runs_in_what_has_ended(site: Joined) -> None:
    long = {"preStop": {"sleep": {"seconds": 300}}}
    # the kernel drops a SIGTERM for a pid 1 that has not set its trap yet: then it would have its 400 s
    script = "trap 'exit 0' TERM; touch /tmp/trapped; while :; do sleep 0.1; done"
    trapped = {"exec": {"command": ["test", "-e", "/tmp/trapped"]}, "periodSeconds": 1}
    site.create(
        pod("patient", container("main", lifecycle=long), terminationGracePeriodSeconds=400),
        pod("over", container("main", "true", lifecycle=long),
            container("other", "sh", "-c", script, readinessProbe=trapped), restartPolicy="Never",
            terminationGracePeriodSeconds=400),
    )  # fmt: skip
    site.wait_pods_ready("patient", seconds=SECONDS)
    site.pods.until(lambda: "terminated" in regular(site, "over").get("main", {}).get("state", {}), "ended", SECONDS)
    site.pods.until(lambda: regular(site, "over").get("other", {}).get("ready"), "trap", SECONDS)
    site.delete("over")
    site.delete("patient")
    site.pods.until(lambda: site.pod("patient")["metadata"].get("deletionTimestamp"), "being deleted", SECONDS)
    site.delete("patient", grace=2)
    site.wait_no_pod("patient", "over", seconds=SECONDS)


def test_a_failed_post_start_hook_ends_the_container_and_is_an_event(site: Joined) -> None:
    hook = {"postStart": {"exec": {"command": ["sh", "-c", "exit 7"]}}}
    site.create(pod("unstarted", container("main", lifecycle=hook)))
    within(SECONDS, lambda: "FailedPostStartHook" in dict(events(site, "unstarted")), "event")
    site.pods.until(lambda: regular(site, "unstarted").get("main", {}).get("restartCount", 0) >= 1, "restart", SECONDS)
    site.delete("unstarted", grace=0)
    site.wait_no_pod("unstarted")


def test_sidecars_outlive_the_rest_and_end_in_reverse(site: Joined, tmp_path: Path) -> None:
    host: Obj = {"volumes": [{"name": "d", "hostPath": {"path": str(tmp_path)}}]}

    def told(name: str, **more: object) -> Obj:
        script = f"trap 'sleep 0.3; echo {name} >> /d/order; exit 0' TERM; while :; do sleep 0.1; done"
        return container(name, "sh", "-c", script, **DATA, **more)

    beside = [told("side-one", restartPolicy="Always"), told("side-two", restartPolicy="Always")]
    once = container("job", "sh", "-c", "sleep 1; echo job >> /d/order", **DATA)
    site.create(pod("ordered", told("main"), initContainers=beside, terminationGracePeriodSeconds=30, **host))
    site.wait_pods_ready("ordered", seconds=SECONDS)
    site.delete("ordered")
    site.wait_no_pod("ordered")
    order = (tmp_path / "order").read_text().split()
    assert order == ["main", "side-two", "side-one"]
    site.create(pod("job", once, initContainers=beside, restartPolicy="Never", **host))
    site.wait_phase("job", "Succeeded", SECONDS)
    assert (tmp_path / "order").read_text().split() == [*order, "job", "side-two", "side-one"]
    site.delete("job")
    site.wait_no_pod("job")


def test_a_pod_that_is_deleted_has_its_end_in_its_last_status(site: Joined) -> None:
    good = "trap 'exit 0' TERM; while :; do sleep 0.1; done"
    bad = "trap 'exit 5' TERM; while :; do sleep 0.1; done"
    site.create(
        pod("ends-well", container("main", "sh", "-c", good)), pod("ends-ill", container("main", "sh", "-c", bad))
    )
    site.wait_pods_ready("ends-well", "ends-ill", seconds=SECONDS)
    for name in ("ends-well", "ends-ill"):
        site.delete(name)
    site.wait_no_pod("ends-well", "ends-ill")
    for name, phase, code in (("ends-well", "Succeeded", 0), ("ends-ill", "Failed", 5)):
        last = [one.obj for one in list(site.pods.events) if one.name == name][-1]
        assert status(last)["phase"] == phase
        assert status(last)["containerStatuses"][0]["state"]["terminated"]["exitCode"] == code
        assert condition(last, "Ready")["status"] == "False"
