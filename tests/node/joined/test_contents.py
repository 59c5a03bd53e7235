"""Secrets, config maps and tokens of the API are in the pods that name them, and follow their changes."""

from __future__ import annotations

import base64
import itertools
import json

from actors.shared.api.errors import NotFound
from tests.support.joined import Joined, container, pod, status
from tests.support.waiting import wait_for

BASE = "/api/v1/namespaces/default"
UPDATE_SECONDS = 5.0


def put(site: Joined, plural: str, name: str, **fields: object) -> None:
    try:
        site.api.call("DELETE", f"{BASE}/{plural}/{name}")
    except NotFound:
        pass
    site.api.call("POST", f"{BASE}/{plural}", {"metadata": {"name": name}, **fields})


def run(site: Joined, name: str, *command: str) -> str:
    return site.kubectl("exec", name, "--", *command)


def test_an_environment_has_values_of_config_maps_and_secrets(site: Joined) -> None:
    put(site, "configmaps", "settings", data={"COLOUR": "blue", "SIZE": "9"})
    put(site, "secrets", "keys", stringData={"password": "swordfish"})
    one = {"name": "PASS", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "password"}}}
    command = ["sh", "-c", "echo $COLOUR-$SIZE-$PASS; while :; do sleep 0.1; done"]
    from_all = [{"configMapRef": {"name": "settings"}}]
    site.create(pod("env", container("main", *command, env=[one], envFrom=from_all), terminationGracePeriodSeconds=0))
    site.wait_pods_ready("env")
    wait_for(lambda: site.kubectl("logs", "env") == "blue-9-swordfish\n")  # it is Ready before it has said anything
    site.delete("env")
    site.wait_no_pod("env")


def test_files_follow_their_secret_and_config_map_before_the_next_sync_of_the_pod(site: Joined) -> None:
    """The syncFrequency of the node is an hour."""
    put(site, "configmaps", "text", data={"file": "old"})
    put(site, "secrets", "hidden", stringData={"key": "old"})
    volumes = [{"name": "c", "configMap": {"name": "text"}}, {"name": "s", "secret": {"secretName": "hidden"}}]
    mounts = [{"name": "c", "mountPath": "/c"}, {"name": "s", "mountPath": "/s"}]
    site.create(pod("files", container("main", volumeMounts=mounts), volumes=volumes))
    site.wait_pods_ready("files")
    assert run(site, "files", "cat", "/c/file", "/s/key") == "oldold"
    site.api.merge(f"{BASE}/configmaps/text", {"data": {"file": "new"}})
    site.api.merge(f"{BASE}/secrets/hidden", {"data": {"key": base64.b64encode(b"new").decode()}})
    wait_for(lambda: run(site, "files", "cat", "/c/file", "/s/key") == "newnew", 60)
    site.delete("files")
    site.wait_no_pod("files")


def test_a_pod_waits_for_missing_objects_and_reports_them(site: Joined) -> None:
    variable = {"name": "X", "valueFrom": {"configMapKeyRef": {"name": "later", "key": "x"}}}
    site.create(pod("waits", container("main", env=[variable])))

    def waiting() -> dict[str, str]:
        statuses = status(site.pod("waits")).get("containerStatuses") or [{}]
        return statuses[0].get("state", {}).get("waiting") or {}

    site.pods.until(lambda: waiting().get("reason") == "CreateContainerConfigError", "why it waits", 60)
    assert "later" in waiting().get("message", "")
    put(site, "configmaps", "later", data={"x": "1"})
    site.wait_pods_ready("waits")
    site.delete("waits")
    site.wait_no_pod("waits")


def test_the_token_of_a_pod_is_one_that_the_server_takes(site: Joined) -> None:
    site.create(pod("token"))
    site.wait_pods_ready("token")
    place = "/var/run/secrets/kubernetes.io/serviceaccount"
    token = run(site, "token", "cat", f"{place}/token")
    assert run(site, "token", "cat", f"{place}/namespace") == "default"
    assert "BEGIN CERTIFICATE" in run(site, "token", "cat", f"{place}/ca.crt")
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
    said = site.api.call("POST", "/apis/authentication.k8s.io/v1/tokenreviews", review)["status"]
    assert said["authenticated"]
    assert said["user"]["username"] == "system:serviceaccount:default:default"
    part = token.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    assert claims["kubernetes.io"]["pod"]["name"] == "token"
    site.delete("token")
    site.wait_no_pod("token")


def test_services_are_in_the_environment(site: Joined) -> None:
    spec = {"ports": [{"name": "http", "port": 80}], "selector": {"a": "b"}}
    put(site, "services", "front-door", spec=spec)
    address = site.api.call("GET", f"{BASE}/services/front-door")["spec"]["clusterIP"]
    numbers = itertools.count()

    def told() -> bool:
        """A pod may come before the node has seen the service."""
        name = f"visitor{next(numbers)}"
        site.create(pod(name))
        site.wait_pods_ready(name)
        has = dict(line.partition("=")[::2] for line in run(site, name, "env").splitlines())
        site.delete(name)
        site.wait_no_pod(name)
        return (has.get("FRONT_DOOR_SERVICE_HOST"), has.get("FRONT_DOOR_SERVICE_PORT")) == (address, "80")

    wait_for(told, 60)
