"""Environments made of secrets, config maps and services."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Literal

import pytest

from actors.api_clients.kube_client.messages import ObjectRef, ObjectState
from actors.pod_workers.containers import api_objects, service_links
from actors.pod_workers.containers.api_objects import Objects
from actors.pod_workers.containers.environment import EnvContext, Environment, environment, references
from actors.pod_workers.containers.host_ips import wanted
from actors.pod_workers.errors import ConfigError
from actors.shared.kube.codec import decode_pod, encode
from actors.shared.kube.variable_expansion import ExpansionError, expand_all

PLACE = EnvContext(node_name="n")


def service_environment(services: list[bytes], master: bytes, *, links: bool) -> dict[str, str]:
    return asyncio.run(service_links.service_environment(services, master, links=links))


def pod(**container):
    meta = {"name": "p", "namespace": "d", "uid": "u"}
    return decode_pod(encode({"metadata": meta, "spec": {"containers": [{"name": "c", **container}]}}))


def secret(name: str, **data: bytes) -> ObjectState:
    body = {"metadata": {"name": name}, "data": {key: base64.b64encode(value).decode() for key, value in data.items()}}
    return ObjectState(ObjectRef("Secret", name, "d"), json.dumps(body).encode())


def config_map(name: str, **data: str) -> ObjectState:
    return ObjectState(ObjectRef("ConfigMap", name, "d"), json.dumps({"data": data, "binaryData": None}).encode())


def absent(kind: Literal["Secret", "ConfigMap"], name: str, reason: str = "NotFound", message: str = "") -> ObjectState:
    return ObjectState(ObjectRef(kind, name, "d"), reason=reason, message=message)


def made(*states: ObjectState, services: dict[str, str] | None = None, **container) -> Environment:
    whole = pod(**container)
    objects = Objects(states={state.ref: state for state in states}, services=services or {})
    return environment(whole, whole.spec.containers[0], PLACE, objects)


def key_ref(kind: str, name: str, key: str, **more) -> dict:
    return {"name": "X", "valueFrom": {f"{kind}KeyRef": {"name": name, "key": key, **more}}}


def test_keys_of_objects_are_values():
    assert made(secret("s", k=b"1"), env=[key_ref("secret", "s", "k")]).values == {"X": "1"}
    assert made(config_map("m", k="2"), env=[key_ref("configMap", "m", "k")]).values == {"X": "2"}


def test_env_from_comes_first_and_env_overrides_and_can_refer_to_it():
    found = made(
        config_map("m", A="1", B="2"),
        secret("s", B=b"3"),
        envFrom=[{"configMapRef": {"name": "m"}}, {"prefix": "P_", "secretRef": {"name": "s"}}],
        env=[{"name": "A", "value": "own"}, {"name": "C", "value": "$(A)$(P_B)$(SVC)"}],
        services={"SVC": "svc", "A": "never", "Z": "z"},
    )
    assert found.values == {"A": "own", "B": "2", "P_B": "3", "C": "own3svc", "SVC": "svc", "Z": "z"}


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (absent("Secret", "s"), 'secret "s" not found'),
        (
            absent("Secret", "s", "Unreachable", "timed out waiting for the condition"),
            "failed to sync secret cache: timed out waiting for the condition",
        ),
        (secret("s", other=b""), "couldn't find key k in Secret d/s"),
    ],
)
def test_a_missing_object_or_key_has_the_kubelets_message(state, text):
    with pytest.raises(ConfigError) as error:
        made(state, env=[key_ref("secret", "s", "k")])
    assert str(error.value) == text


def test_a_missing_config_map_is_reported_by_its_own_name():
    with pytest.raises(ConfigError, match=r'^configmap "m" not found$'):
        made(absent("ConfigMap", "m"), envFrom=[{"configMapRef": {"name": "m"}}])
    with pytest.raises(ConfigError, match=r"^couldn't find key k in ConfigMap d/m$"):
        made(config_map("m"), env=[key_ref("configMap", "m", "k")])


def test_an_optional_object_may_be_missing_or_lack_the_key():
    entry = key_ref("secret", "s", "k", optional=True)
    assert made(absent("Secret", "s"), env=[entry]).values == {}
    assert made(secret("s", other=b""), env=[entry]).values == {}
    assert made(absent("Secret", "s"), envFrom=[{"secretRef": {"name": "s", "optional": True}}]).values == {}


def test_an_optional_object_that_cannot_be_read_is_waited_for():
    with pytest.raises(ConfigError):
        made(absent("Secret", "s", "Unreachable"), env=[key_ref("secret", "s", "k", optional=True)])


def test_invalid_variable_names_are_skipped_and_reported():
    found = made(config_map("m", **{"a.b": "1", "ü": "2"}), envFrom=[{"configMapRef": {"name": "m"}}])
    assert found.values == {"a.b": "1"}
    assert found.skipped == [
        "Keys [ü] from the EnvFrom configMap d/m were skipped since they are considered invalid environment variable "
        "names."
    ]
    found = made(secret("s", **{"b=": b"1", "a=": b"2"}), envFrom=[{"secretRef": {"name": "s"}}])
    assert found.skipped[0].startswith("Keys [a=, b=] from the EnvFrom secret d/s were skipped")


def test_bytes_that_are_no_text_reach_the_container_as_they_are():
    value = made(secret("s", k=b"\xff\x00a"), env=[key_ref("secret", "s", "k")]).values["X"]
    assert value.encode(errors="surrogateescape") == b"\xff\x00a"
    assert expand_all(["$(X)"], {"X": value})


def test_a_body_that_cannot_be_read_is_an_error_of_the_container():
    state = ObjectState(ObjectRef("Secret", "s", "d"), b'{"data": {"k": "*"}}')
    with pytest.raises(ConfigError, match="not base64"):
        made(state, env=[key_ref("secret", "s", "k")])


def test_each_object_is_requested_once_and_literals_need_none():
    container = pod(
        env=[
            key_ref("secret", "s", "a"),
            key_ref("secret", "s", "b"),
            {**key_ref("secret", "t", "b"), "value": "literal"},
        ],
        envFrom=[{"configMapRef": {"name": "m"}}, {"secretRef": {"name": "s"}}],
    ).spec.containers[0]
    assert references(container) == [ObjectRef("ConfigMap", "m"), ObjectRef("Secret", "s")]


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"env": [key_ref("secret", "o", "k")]}, "Secret"),
        ({"env": [key_ref("configMap", "o", "k")]}, "ConfigMap"),
        ({"envFrom": [{"secretRef": {"name": "o"}}]}, "Secret"),
        ({"envFrom": [{"configMapRef": {"name": "o"}}]}, "ConfigMap"),
    ],
)
def test_each_way_to_refer_to_an_object_requests_it(given, kind):
    assert references(pod(**given).spec.containers[0]) == [ObjectRef(kind, "o")]


# -- services ---------------------------------------------------------------------------------------------------------
def service(name: str, address: str, *ports: dict) -> bytes:
    return json.dumps({"metadata": {"name": name}, "spec": {"clusterIP": address, "ports": list(ports)}}).encode()


MASTER = service("kubernetes", "10.96.0.1", {"name": "https", "port": 443, "protocol": "TCP"})


def test_a_service_has_the_documented_environment_variables():
    found = service_environment(
        [service("my-db", "10.0.0.7", {"name": "sql-x", "port": 5432}, {"name": "udp", "port": 53, "protocol": "UDP"})],
        b"",
        links=True,
    )
    assert found == {
        "MY_DB_SERVICE_HOST": "10.0.0.7",
        "MY_DB_SERVICE_PORT": "5432",
        "MY_DB_SERVICE_PORT_SQL_X": "5432",
        "MY_DB_SERVICE_PORT_UDP": "53",
        "MY_DB_PORT": "tcp://10.0.0.7:5432",
        "MY_DB_PORT_5432_TCP": "tcp://10.0.0.7:5432",
        "MY_DB_PORT_5432_TCP_PROTO": "tcp",
        "MY_DB_PORT_5432_TCP_PORT": "5432",
        "MY_DB_PORT_5432_TCP_ADDR": "10.0.0.7",
        "MY_DB_PORT_53_UDP": "udp://10.0.0.7:53",
        "MY_DB_PORT_53_UDP_PROTO": "udp",
        "MY_DB_PORT_53_UDP_PORT": "53",
        "MY_DB_PORT_53_UDP_ADDR": "10.0.0.7",
    }


def test_the_api_server_is_always_there_and_others_only_with_links():
    mine = service("web", "10.0.0.8", {"port": 80})
    assert service_environment([mine], MASTER, links=False)["KUBERNETES_SERVICE_HOST"] == "10.96.0.1"
    assert "WEB_PORT" not in service_environment([mine], MASTER, links=False)
    assert {"WEB_PORT", "KUBERNETES_PORT"} <= service_environment([mine], MASTER, links=True).keys()


def test_a_service_named_kubernetes_in_the_namespace_replaces_the_api_server():
    own = service("kubernetes", "10.0.0.9", {"port": 1})
    assert service_environment([own], MASTER, links=True)["KUBERNETES_SERVICE_HOST"] == "10.0.0.9"


def test_headless_services_have_no_variables():
    assert service_environment([service("h", "None", {"port": 1}), service("e", "")], b"", links=True) == {}


def test_a_headless_service_with_the_name_of_the_api_server_replaces_nothing_of_it():
    own = service("kubernetes", "None", {"port": 1})
    assert service_environment([own], MASTER, links=True)["KUBERNETES_SERVICE_HOST"] == "10.96.0.1"


def test_an_ipv6_address_is_bracketed_in_urls():
    found = service_environment([service("six", "fd00::1", {"port": 80})], b"", links=True)
    assert found["SIX_PORT"] == "tcp://[fd00::1]:80"
    assert found["SIX_SERVICE_HOST"] == "fd00::1"


@pytest.mark.parametrize(
    ("path", "host_network", "wants"),
    [
        ("status.hostIP", False, True),
        ("status.podIP", False, False),
        ("status.podIPs", True, True),
        ("metadata.name", True, False),
    ],
)
def test_node_addresses_are_requested_only_for_pods_that_use_them(path, host_network, wants):
    entry = {"name": "X", "valueFrom": {"fieldRef": {"fieldPath": path}}}
    spec = {"hostNetwork": host_network, "containers": [{"name": "c", "env": [entry]}]}
    whole = decode_pod(encode({"metadata": {"name": "p"}, "spec": spec}))
    assert wanted(whole, whole.spec.containers[0]) is wants


def test_an_object_is_decoded_once_for_all_variables(monkeypatch):
    decoded = []

    def count(body: bytes) -> dict[str, str]:
        decoded.append(body)
        return {"k": "1"}

    monkeypatch.setattr(api_objects, "config_map_texts", count)
    variables = [{**key_ref("configMap", "m", "k"), "name": f"X{number}"} for number in range(100)]
    assert len(made(config_map("m", k="1"), env=variables).values) == 100
    assert len(decoded) == 1


def test_an_environment_of_whole_objects_that_the_kernel_would_not_take_is_refused():
    maps = [config_map(f"m{number}", **{f"k{number}": "x" * (1 << 20)}) for number in range(7)]
    with pytest.raises(ExpansionError, match="environment exceed 6291456 bytes"):
        made(*maps, envFrom=[{"configMapRef": {"name": f"m{number}"}} for number in range(7)])
