"""Kubeconfig files: what they come to, and everything that can be wrong with them."""

from __future__ import annotations

import base64
import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actors.shared.api import disposable_loader, kubeconfig, kubeconfig_process
from actors.shared.api.access import Impersonation, ServerAccess
from actors.shared.api.disposable_loader import scratch
from actors.shared.api.kubeconfig import KubeconfigError, check, check_file, load, load_later, render
from tests.support.certificates import Authority
from tests.support.examples import examples


def _pairs() -> list[tuple[bytes, bytes]]:
    """A certificate and its key, twice."""
    with tempfile.TemporaryDirectory() as directory:
        authority = Authority(Path(directory))
        files = [authority.client(user) for user in ("node", "other")]
        return [(Path(cert).read_bytes(), Path(key).read_bytes()) for cert, key in files]


(CERT, KEY), (OTHER_CERT, OTHER_KEY) = _pairs()


def parse(data: bytes, path: str) -> ServerAccess:
    """As `load` does it, with the package's loader in this process."""
    checked = check(data, path)
    with scratch() as directory:
        return kubeconfig.access(checked, kubeconfig_process.load(checked.document, path, directory))


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def document(cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [
            {"name": "other", "context": {"cluster": "x", "user": "y"}},
            {"name": "here", "context": {"cluster": "c", "user": "u"}},
        ],
        "clusters": [{"name": "c", "cluster": {"server": "https://10.0.0.1:6443/", **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
    }


def read(tmp_path: Path, **parts: Any) -> ServerAccess:
    path = tmp_path / "conf" / "kubeconfig"
    path.parent.mkdir(exist_ok=True)
    path.write_text(yaml.safe_dump(document(**parts)))
    return parse(path.read_bytes(), str(path))


def problems(tmp_path: Path, **parts: Any) -> list[str]:
    with pytest.raises(KubeconfigError) as caught:
        read(tmp_path, **parts)
    return caught.value.problems


def test_server_and_defaults(tmp_path: Path) -> None:
    access = read(tmp_path)
    assert (access.server, access.namespace, access.ca, access.has_credentials) == (
        "https://10.0.0.1:6443", "default", b"", False,
    )  # fmt: skip


def test_a_null_is_a_field_that_is_not_given(tmp_path: Path) -> None:
    user = dict.fromkeys(("token", "tokenFile", "username", "password", "client-certificate-data", "exec", "as"))
    cluster = dict.fromkeys(("certificate-authority-data", "proxy-url", "insecure-skip-tls-verify", "tls-server-name"))
    plain = read(tmp_path)
    assert msgspec.structs.replace(read(tmp_path, cluster=cluster, user=user), digest=plain.digest) == plain
    named = read(tmp_path, user={**user, "username": "u"})
    assert (named.username, named.password) == ("u", "")


def test_files_are_relative_to_the_kubeconfig(tmp_path: Path) -> None:
    pki = tmp_path / "conf" / "pki"
    pki.mkdir(parents=True)
    (pki / "ca.crt").write_bytes(CERT)
    (pki / "node.pem").write_bytes(CERT + KEY)
    user = {"client-certificate": "pki/node.pem", "client-key": "./pki/../pki/node.pem", "tokenFile": "token"}
    access = read(tmp_path, cluster={"certificate-authority": "pki/ca.crt"}, user=user)
    assert access.ca == CERT
    assert access.ca_file == str(pki / "ca.crt")
    assert access.cert_file == access.key_file == str(pki / "node.pem")
    assert access.token_file == str(tmp_path / "conf" / "token")
    assert access.files == (str(tmp_path / "conf" / "kubeconfig"), str(pki / "ca.crt"), str(pki / "node.pem"))


def test_data_wins_over_a_missing_file(tmp_path: Path) -> None:
    cluster = {"certificate-authority-data": b64(CERT), "certificate-authority": "/nowhere"}
    user = {"client-certificate-data": b64(CERT), "client-key-data": b64(KEY)}
    access = read(tmp_path, cluster=cluster, user=user)
    assert (access.ca, access.ca_file) == (CERT, "")
    assert (access.cert_data, access.key_data, access.cert_file) == (CERT, KEY, "")


def test_a_certificate_in_data_and_its_key_in_a_file_are_both_data(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "k").write_bytes(KEY)
    access = read(tmp_path, user={"client-certificate-data": b64(CERT), "client-key": "k"})
    assert (access.cert_data, access.key_data, access.key_file) == (CERT, KEY, "")


def test_other_authentication_methods_are_read(tmp_path: Path) -> None:
    assert read(tmp_path, user={"token": "t"}).token == "t"
    basic = read(tmp_path, user={"username": "u", "password": "p"})
    assert (basic.username, basic.password) == ("u", "p")
    both = read(tmp_path, user={"token": "t", "tokenFile": "/run/token"})
    assert (both.token, both.token_file) == ("", "/run/token"), "the file wins"
    who = {"token": "t", "as": "admin", "as-uid": "1", "as-groups": ["g"], "as-user-extra": {"k": ["v", "w"]}}
    assert read(tmp_path, user=who).impersonate == Impersonation(
        user="admin", uid="1", groups=("g",), extra=(("k", ("v", "w")),)
    )


def test_the_package_loads_it_in_a_process_and_no_key_stays_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    user = {"client-certificate-data": b64(CERT), "client-key-data": b64(KEY)}
    path.write_text(yaml.safe_dump(document(cluster={"certificate-authority-data": b64(CERT)}, user=user)))
    access = load(str(path))
    assert (access.ca, access.cert_data, access.key_data) == (CERT, CERT, KEY)
    for above in disposable_loader._IN_MEMORY:
        assert not list(Path(above).glob("kubeconfig-*/*"))


def test_the_next_caller_removes_the_files_of_a_killed_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disposable_loader, "_IN_MEMORY", (str(tmp_path),))
    left, fresh = tmp_path / "kubeconfig-left", tmp_path / "kubeconfig-fresh"
    for directory in (left, fresh):
        directory.mkdir()
        (directory / "key").write_bytes(KEY)
    os.utime(left, (0, 0))
    with scratch() as own:
        assert sorted(tmp_path.iterdir()) == sorted([fresh, Path(own)])


def test_a_directory_that_cannot_be_created_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disposable_loader, "_IN_MEMORY", ())
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path / "gone"))
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(document()))
    with pytest.raises(KubeconfigError, match="No such file"):
        load(str(path))


def test_a_silent_loader_is_killed_and_reported(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(document()))
    with pytest.raises(KubeconfigError, match=r"loader of the kubernetes package: gave no answer within 0\.01 s"):
        load(str(path), seconds=0.01)


async def test_an_actor_loads_it_without_being_held_up(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(document(user={"token": "t"})))
    assert await load_later(str(path)) == load(str(path))


def test_an_exec_plugin_with_everything(tmp_path: Path) -> None:
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "./bin/get-token",
        "args": ["--cluster", "c"],
        "env": [{"name": "A", "value": "b"}],
        "interactiveMode": "IfAvailable",
        "provideClusterInfo": True,
        "installHint": "get it",
    }
    found = read(tmp_path, cluster={"extensions": [extension]}, user={"exec": plugin}).exec
    assert found is not None
    assert found.command == str(tmp_path / "conf" / "bin" / "get-token")
    assert (found.args, found.env, found.provide_cluster_info) == (("--cluster", "c"), (("A", "b"),), True)
    assert (found.cluster_config, found.install_hint) == ({"audience": "x"}, "get it")


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"cluster": {"server": ""}}, ["clusters[0].cluster.server: required"]),
        ({"cluster": {"server": "ftp://x"}}, ["clusters[0].cluster.server: 'ftp://x' is not a URL"]),
        ({"cluster": {"server": 6443}}, ["clusters[0].cluster.server: must be text, is a number", "required"]),
        ({"cluster": {"certificate-authority": "no.crt"}}, ["certificate-authority: ", "No such file"]),
        ({"cluster": {"certificate-authority-data": "%%%"}}, ["certificate-authority-data: not base64"]),
        ({"cluster": {"certificate-authority-data": b64(b"x")}}, ["not PEM: it has no CERTIFICATE"]),
        ({"cluster": {"proxy-url": "gopher://x"}}, ["proxy-url: must be a URL with one of http, https, socks5"]),
        (
            {"cluster": {"insecure-skip-tls-verify": True, "certificate-authority-data": b64(CERT)}},
            ["insecure-skip-tls-verify: cannot be given together with certificate-authority"],
        ),
        ({"cluster": {"insecure-skip-tls-verify": "yes"}}, ["must be true or false, is text"]),
        ({"user": {"client-certificate-data": b64(CERT)}}, ["users[0].user.client-key: required"]),
        ({"user": {"client-key-data": b64(KEY)}}, ["users[0].user.client-certificate: required"]),
        ({"user": {"client-key-data": b64(CERT), "client-certificate-data": b64(CERT)}}, ["no PRIVATE KEY"]),
        ({"user": {"auth-provider": {"name": "gcp"}}}, ["auth-provider: not supported"]),
        ({"user": {"token": "t", "username": "u"}}, ["username: cannot be given together with token"]),
        ({"user": {"as-groups": ["g"]}}, ["users[0].user.as: required"]),
        ({"user": {"exec": {"command": "x"}}}, ["exec.apiVersion: must be one of client.authentication.k8s.io/v1"]),
        (
            {"user": {"exec": {"apiVersion": "client.authentication.k8s.io/v1"}}},
            ["command: required", "interactiveMode"],
        ),
        ({"user": {"exec": {"interactiveMode": "Always"}}}, ["a node agent has no terminal"]),
        ({"user": {"exec": {"args": [1]}}}, ["args: must be a list of texts"]),
        ({"user": "me"}, ["users[0].user: must be a mapping, is text"]),
    ],
)
def test_each_problem_is_reported_with_its_field(tmp_path: Path, parts: dict[str, Any], said: list[str]) -> None:
    found = "\n".join(problems(tmp_path, **parts))
    for text in said:
        assert text in found


def test_a_key_of_another_certificate_is_named_with_both_fields_and_files(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    certificate, key = tmp_path / "conf" / "node.crt", tmp_path / "conf" / "other.key"
    certificate.write_bytes(CERT)
    key.write_bytes(OTHER_KEY)
    of_another = "its key is that of another certificate"
    files = {"client-certificate": "node.crt", "client-key": "other.key"}
    found = f"users[0].user.client-certificate: {certificate}: cannot be used with client-key {key}: {of_another}"
    assert problems(tmp_path, user=files) == [found]
    data = {"client-certificate-data": b64(CERT), "client-key-data": b64(OTHER_KEY)}
    found = f"users[0].user.client-certificate-data: cannot be used with client-key-data: {of_another}"
    assert problems(tmp_path, user=data) == [found]


def test_a_client_certificate_that_is_none_is_refused(tmp_path: Path) -> None:
    user = {"client-certificate-data": b64(CERT.replace(b"M", b"A")), "client-key-data": b64(KEY)}
    (found,) = problems(tmp_path, user=user)
    assert found.startswith("users[0].user.client-certificate-data: cannot be used with client-key-data: ")


def test_all_problems_are_reported_at_once_with_the_file(tmp_path: Path) -> None:
    with pytest.raises(KubeconfigError) as caught:
        read(tmp_path, cluster={"server": "", "proxy-url": "x"}, user={"auth-provider": {"name": "oidc"}})
    assert len(caught.value.problems) == 3
    assert str(caught.value).count(str(tmp_path / "conf" / "kubeconfig")) == 3


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"current-context": ""}, "current-context: required"),
        ({"current-context": "gone"}, "current-context: there is no 'gone' in contexts"),
        ({"clusters": []}, "there is no 'c' in clusters"),
        ({"users": [{"name": "u", "user": {}}] * 2}, "users[1].name: duplicate"),
        ({"contexts": {"name": "here"}}, "contexts: must be a list, is a mapping"),
        ({"apiVersion": "v2"}, "apiVersion: must be v1"),
        ({"kind": "Pod"}, "kind: must be Config"),
    ],
)
def test_a_wrong_frame_is_reported(change: dict[str, Any], said: str) -> None:
    with pytest.raises(KubeconfigError) as caught:
        parse(json.dumps({**document(), **change}).encode(), "/k")
    assert any(said in problem for problem in caught.value.problems)


def test_text_that_is_not_yaml_is_not_quoted() -> None:
    with pytest.raises(KubeconfigError, match=r"is not YAML \(line 2") as caught:
        parse(b"token: 'secret\n", "/k")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("kind", ["missing", "folder", "fifo", "huge"])
def test_a_path_to_no_readable_file_is_an_error_without_a_hang(tmp_path: Path, kind: str) -> None:
    import os

    path = tmp_path / "k"
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "huge":
        with path.open("wb") as file:
            file.truncate(5 << 20)
    with pytest.raises(KubeconfigError):
        check_file(str(path))


def test_a_rendered_kubeconfig_is_read_unchanged(tmp_path: Path) -> None:
    pair = tmp_path / "pair.pem"
    pair.write_bytes(CERT + KEY)
    cluster = {"certificate-authority-data": b64(CERT), "tls-server-name": "api", "proxy-url": "http://p:3128"}
    before = read(tmp_path, cluster=cluster, user={"token": "abc"})
    after = parse(render(before, str(pair), str(pair)).encode(), "/etc/kubelet.conf")
    assert (after.server, after.ca, after.server_name, after.proxy) == (
        before.server, before.ca, before.server_name, before.proxy,
    )  # fmt: skip
    assert (after.cert_file, after.key_file, after.token) == (str(pair), str(pair), "")


def test_a_rendered_kubeconfig_can_be_edited_by_line_as_one_of_the_kubelet(tmp_path: Path) -> None:
    """The way to another load balancer that is documented for kubeadm is `sed s#server:.*#server: ...#`."""
    before = read(tmp_path, cluster={"certificate-authority-data": b64(CERT * 20)}, user={"token": "abc"})
    lines = render(before, "/pki/current.pem", "/pki/current.pem").splitlines()
    assert lines[:2] == ["apiVersion: v1", "clusters:"]
    assert f"    server: {before.server}" in lines
    assert "    client-certificate: /pki/current.pem" in lines
    assert "current-context: default-context" in lines
    edited = "\n".join(re.sub("server:.*", "server: https://balancer:6443", line) for line in lines)
    assert yaml.safe_load(edited)["clusters"][0]["cluster"]["server"] == "https://balancer:6443"


def test_a_ca_in_a_file_is_rendered_as_that_file(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(CERT)
    access = read(tmp_path, cluster={"certificate-authority": str(tmp_path / "ca.crt")})
    rendered = yaml.safe_load(render(access, "/c", "/k"))
    assert rendered["clusters"][0]["cluster"]["certificate-authority"] == str(tmp_path / "ca.crt")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=12,
)
FIELD = st.sampled_from(
    ["server", "certificate-authority-data", "token", "exec", "as", "as-groups", "as-user-extra", "tokenFile", "name",
     "client-key-data", "proxy-url", "extensions", "username", "auth-provider", "insecure-skip-tls-verify"]
)  # fmt: skip
PART = st.dictionaries(FIELD, JSON, max_size=5)


GOOD_CLUSTER = PART.map(lambda part: {**part, "server": "10.0.0.1:6443"})
GOOD_USER = st.sampled_from([{}, {"token": "t"}, {"username": "u", "password": "p"}])


@given(
    cluster=JSON | PART | GOOD_CLUSTER,
    user=JSON | PART | GOOD_USER,
    frame=st.dictionaries(st.sampled_from(list(document())), JSON, max_size=2),
)
@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_any_kubeconfig_is_read_or_refused(cluster: Any, user: Any, frame: dict[str, Any]) -> None:
    made = document()
    made["clusters"][0]["cluster"] = cluster
    made["users"][0]["user"] = user
    try:
        outcome: ServerAccess | KubeconfigError = parse(json.dumps({**made, **frame}).encode(), "/nowhere/k")
    except KubeconfigError as error:
        outcome = error
    if isinstance(outcome, ServerAccess):
        assert outcome.server.startswith(("https://", "http://"))
    else:
        assert outcome.problems


@given(st.binary(max_size=60))
@settings(max_examples=examples(100), deadline=None)
def test_any_bytes_are_refused_or_read(data: bytes) -> None:
    with pytest.raises(KubeconfigError):
        parse(data, "/nowhere/k")


@pytest.mark.parametrize("data", [b"[" * 100_000, b"a: " + b"{a: " * 5_000 + b"}" * 5_000, b"- " * 20_000])
def test_a_file_that_is_nested_without_end_is_refused_and_ends_no_process(data):
    with pytest.raises(KubeconfigError):
        parse(data, "/file")
