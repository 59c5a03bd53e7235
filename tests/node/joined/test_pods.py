"""Pods of the API run, say so, and go."""

from __future__ import annotations

import json
import time

from tests.support.joined import NODE, PODS, Joined, condition, container, pod, status


def test_a_pod_runs_is_reported_and_is_deleted(site: Joined) -> None:
    site.create(pod("one"))
    site.wait_pods_ready("one")
    found = site.pod("one")
    assert status(found)["phase"] == "Running"
    assert status(found)["podIP"] == status(found)["podIPs"][0]["ip"]
    assert status(found)["hostIP"] in {one["address"] for one in status(site.nodes.now[f"/{NODE}"])["addresses"]}
    assert status(found)["qosClass"] == "BestEffort"
    (main,) = status(found)["containerStatuses"]
    assert (main["ready"], main["started"], main["restartCount"]) == (True, True, 0)
    assert main["containerID"] == f"containerd://{site.running_ids()['one/main']}"
    site.delete("one")
    site.wait_no_pod("one")
    assert "one/main" not in site.running_ids()


def test_a_pod_that_is_deleted_with_force_leaves_nothing_on_the_node(site: Joined) -> None:
    site.create(pod("forced", terminationGracePeriodSeconds=600))
    site.wait_pods_ready("forced")
    uid = site.pod("forced")["metadata"]["uid"]
    site.delete("forced", grace=0)
    site.wait_no_pod("forced")
    site.node.until(lambda: not any(uid in trace for trace in site.node.traces()), "no trace of it")
    assert "forced/main" not in site.running_ids()


def test_a_pod_leaves_the_api_only_after_it_has_left_the_node(site: Joined) -> None:
    site.create(pod("slow", container("main", "sh", "-c", "trap 'sleep 1; exit 0' TERM; while :; do sleep 0.1; done")))
    site.wait_pods_ready("slow")
    uid = site.pod("slow")["metadata"]["uid"]
    site.delete("slow")
    site.wait_no_pod("slow")
    assert "slow/main" not in site.running_ids()
    assert f"pod{uid}" not in site.node.traces(), "its cgroup is still there"
    site.node.until(lambda: uid not in site.node.traces(), "its directory gone")


def test_a_pod_of_the_same_name_follows_one_that_was_deleted_with_force(site: Joined) -> None:
    site.create(pod("again"))
    site.wait_pods_ready("again")
    uid, before = site.pod("again")["metadata"]["uid"], site.running_ids()["again/main"]
    site.delete("again", grace=0)
    site.create(pod("again"))
    site.pods.until(lambda: site.pod("again").get("metadata", {}).get("uid", uid) != uid, "the new one", 60)
    site.wait_pods_ready("again")
    assert site.restarts()["default/again"] == 0
    site.node.until(lambda: site.running_ids()["again/main"] != before and not site.node.doubles(), "the new one alone")
    site.delete("again")
    site.wait_no_pod("again")


def test_an_ended_pod_stays_succeeded_or_failed(site: Joined) -> None:
    site.create(
        pod("good", container("main", "true"), restartPolicy="Never"),
        pod("bad", container("main", "sh", "-c", "exit 3"), restartPolicy="Never"),
    )
    assert status(site.wait_phase("good", "Succeeded"))["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 0
    ended = status(site.wait_phase("bad", "Failed"))["containerStatuses"][0]["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (3, "Error")
    for name in ("good", "bad"):
        site.delete(name)
    site.wait_no_pod("good", "bad")


def test_a_container_that_ends_is_started_again_and_counted(site: Joined) -> None:
    script = "if [ -e /data/been ]; then while :; do sleep 0.1; done; fi; touch /data/been; exit 1"
    mounted = container("main", "sh", "-c", script, volumeMounts=[{"name": "d", "mountPath": "/data"}])
    site.create(pod("retry", mounted, volumes=[{"name": "d", "emptyDir": {}}], terminationGracePeriodSeconds=1))
    site.pods.until(lambda: site.restarts().get("default/retry") == 1, "restarted once", 60)
    site.wait_pods_ready("retry")
    assert status(site.pod("retry"))["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 1
    site.delete("retry")
    site.wait_no_pod("retry")


def test_a_label_selector_that_does_not_fit_is_refused_by_the_node(site: Joined) -> None:
    site.create(pod("misfit", nodeSelector={"no": "such"}))
    found = site.wait_phase("misfit", "Failed")
    assert status(found)["reason"] == "NodeAffinity"
    site.delete("misfit")
    site.wait_no_pod("misfit")


def test_a_missing_image_is_reported(site: Joined) -> None:
    site.create(pod("imageless", container("main", image="localhost/none:1", imagePullPolicy="Never")))

    def reason() -> str:
        statuses = status(site.pod("imageless")).get("containerStatuses") or [{}]
        return str(statuses[0].get("state", {}).get("waiting", {}).get("reason"))

    site.pods.until(lambda: reason() == "ErrImageNeverPull", "ErrImageNeverPull", 60)
    site.delete("imageless")
    site.wait_no_pod("imageless")


def test_a_static_pod_has_a_mirror_that_follows_it(site: Joined) -> None:
    site.node.write("still", json.dumps(pod("still")))
    name = f"still-{NODE}"
    site.wait_pods_ready(name)
    mirror = site.pod(name)
    assert mirror["metadata"]["annotations"]["kubernetes.io/config.source"] == "file"
    assert mirror["metadata"]["ownerReferences"][0]["kind"] == "Node"
    before = site.running_ids()[f"{name}/{_only(site, name)}"]
    site.api.call("DELETE", f"{PODS}/{name}", {"gracePeriodSeconds": 0})
    was = mirror["metadata"]["uid"]
    site.pods.until(lambda: site.pod(name).get("metadata", {}).get("uid", was) != was, "a new mirror", 60)
    assert site.running_ids()[f"{name}/{_only(site, name)}"] == before, "a mirror that is deleted leaves the pod alone"
    site.node.withdraw("still")
    site.wait_no_pod(name)


def _only(site: Joined, name: str) -> str:
    return str(site.pod(name)["spec"]["containers"][0]["name"])


def test_events_report_the_life_of_a_pod(site: Joined) -> None:
    site.create(pod("told"))
    site.wait_pods_ready("told")
    uid = site.pod("told")["metadata"]["uid"]

    def reasons() -> set[str]:
        found = site.api.call("GET", "/api/v1/namespaces/default/events")["items"]
        return {one["reason"] for one in found if one["involvedObject"].get("uid") == uid}

    end = time.monotonic() + 60
    while not {"Pulled", "Created", "Started"} <= reasons():
        assert time.monotonic() < end, reasons()
        time.sleep(0.1)
    site.delete("told")
    site.wait_no_pod("told")
    site.node.until(lambda: "Killing" in reasons(), "the event of its end")


def test_conditions_come_in_their_order(site: Joined) -> None:
    site.create(pod("ordered"))
    site.wait_pods_ready("ordered")
    has = {one["type"]: one["status"] for one in status(site.pod("ordered"))["conditions"]}
    assert {kind for kind, value in has.items() if value == "True"} >= {
        "PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready"
    }  # fmt: skip
    assert condition(site.pod("ordered"), "Ready")["lastTransitionTime"]
    site.delete("ordered")
    site.wait_no_pod("ordered")
