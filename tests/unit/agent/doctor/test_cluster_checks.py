"""The doctor asks the API server, by the typed client of the `kubernetes` package."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import urllib3

from actors.agent.doctor.cluster_checks import clock, cluster, message, refused, unreachable, version
from actors.agent.doctor.finding import Finding, Level
from actors.agent.doctor.permissions import BY_GATE, PERMISSIONS
from actors.shared.api.remedies import NOT_REGISTERED
from tests.support.apiserver import ApiServer
from tests.support.apiserver.authorizer import NODE_RULES

NODE = {
    "metadata": {"name": "n1"},
    "spec": {
        "unschedulable": True,
        "taints": [
            {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"},
            {"key": "dedicated", "effect": "NoSchedule"},
        ],
    },
    "status": {"conditions": [{"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": "no CNI"}]},
}


def findings(
    folder: Path,
    kubeconfig: Callable[[ApiServer], str],
    node: str = "n1",
    stored: str = "",
    *,
    bootstrap: bool = False,
    gates: tuple[str, ...] = (),
    running: bool = True,
) -> list[Finding]:
    async def story() -> list[Finding]:
        async with ApiServer(folder) as server:
            server.create("nodes", NODE)
            given = kubeconfig(server)
            checks = cluster(given, node, stored, bootstrap=bootstrap, gates=gates, running=running)
            return await asyncio.to_thread(lambda: list(checks))

    return asyncio.run(story())


def test_a_node_with_all_rights_that_is_not_ready_is_reported(tmp_path: Path) -> None:
    found = {one.subject: one for one in findings(tmp_path, lambda server: server.node_kubeconfig("n1"))}
    assert found["API server"].level is Level.OK
    assert found["identity"].text == "system:node:n1"
    assert found["rights"].level is Level.OK, found["rights"].text
    assert found["clock"].level is Level.OK
    assert found["lease"].text == "n1 has none: its heartbeats do not arrive"
    shown = [one.text for one in findings(tmp_path / "2", lambda server: server.node_kubeconfig("n1"))]
    assert "n1 is not Ready: KubeletNotReady: no CNI" in shown
    assert "cordoned: no new pods are scheduled here" in shown
    taints = [text.partition(":")[0] for text in shown if text.startswith("taint ")]
    assert taints == ["taint dedicated"], "those of a condition come and go with it, which is told"


def test_a_node_that_was_deleted_under_its_agent_is_mended_by_a_restart(tmp_path: Path) -> None:
    found = findings(tmp_path, lambda server: server.node_kubeconfig("n2"), "n2")
    [node] = [one for one in found if one.subject == "node"]
    assert (node.level, node.text, node.remedy) == (Level.FAILURE, "n2 is not registered", NOT_REGISTERED)


def test_before_a_start_a_node_that_is_not_there_is_no_failure(tmp_path: Path) -> None:
    found = findings(tmp_path, lambda server: server.node_kubeconfig("n2"), "n2", running=False)
    shown = {one.subject: (one.level, one.text) for one in found}
    assert shown["node"] == (Level.OK, "n2 is not registered: no agent runs yet")
    assert shown["lease"] == (Level.OK, "n2 has none: no agent runs yet")
    other = findings(tmp_path / "2", lambda server: server.node_kubeconfig("n1"), running=False)
    assert (Level.OK, "n1 is not Ready: no agent runs yet") in [(one.level, one.text) for one in other]


def test_a_certificate_that_the_agent_accepts_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = urllib3.util.create_urllib3_context

    def strict(**settings: Any) -> ssl.SSLContext:
        context = usual(**settings)
        context.verify_flags |= ssl.VERIFY_X509_STRICT  # as with Python 3.13; that of the test has no key identifiers
        return context

    monkeypatch.setattr(urllib3.util, "create_urllib3_context", strict)
    monkeypatch.setattr(urllib3.connection, "create_urllib3_context", strict)
    found = {one.subject: one for one in findings(tmp_path, lambda server: server.node_kubeconfig("n1"))}
    assert found["API server"].level is Level.OK, found["API server"].text


def without_ca(server: ApiServer, **more: object) -> str:
    path = Path(server.node_kubeconfig("n1"))
    document = json.loads(path.read_bytes())
    entry = document["clusters"][0]["cluster"]
    document["clusters"][0]["cluster"] = {"server": entry["server"], **more}
    path.write_text(json.dumps(document))
    return str(path)


def test_without_a_ca_of_the_kubeconfig_the_roots_of_the_host_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def trusted(server: ApiServer) -> str:
        roots = tmp_path / "roots.pem"
        roots.write_bytes(server.authority.pem)
        monkeypatch.setenv("SSL_CERT_FILE", str(roots))
        return without_ca(server)

    found = {one.subject: one for one in findings(tmp_path, trusted)}
    assert found["API server"].level is Level.OK, found["API server"].text


@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
def test_a_server_without_verification_is_queried(tmp_path: Path) -> None:
    found = {
        one.subject: one
        for one in findings(tmp_path, lambda server: without_ca(server, **{"insecure-skip-tls-verify": True}))
    }
    assert found["API server"].level is Level.OK, found["API server"].text


def test_another_nodes_certificate_ends_the_checks(tmp_path: Path) -> None:
    found = findings(tmp_path, lambda server: server.node_kubeconfig("n2"))
    assert found[-1].subject == "identity"
    assert "system:node:n2, but this node is n1" in found[-1].text
    assert found[-1].remedy.startswith("--hostname-override=n2")


def test_the_rights_for_enabled_feature_gates_are_checked_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def rights(folder: str, *gates: str) -> Finding:
        found = findings(tmp_path / folder, lambda server: server.node_kubeconfig("n1"), gates=gates)
        return next(one for one in found if one.subject == "rights")

    assert rights("1", *BY_GATE).text == f"all {len(PERMISSIONS) + 3} that were asked for"
    monkeypatch.delitem(NODE_RULES, ("certificates.k8s.io", "clustertrustbundles"))
    assert rights("2").level is Level.OK
    missing = rights("3", *BY_GATE)
    assert missing.level is Level.FAILURE
    assert missing.text == "the API server does not let this node list clustertrustbundles"


def test_missing_rights_of_a_user_are_listed(tmp_path: Path) -> None:
    found = findings(tmp_path, lambda server: server.kubeconfig("jane", "developers"))
    rights = next(one for one in found if one.subject == "rights")
    assert rights.level is Level.FAILURE
    assert "patch nodes/status" in rights.text
    assert rights.remedy == "kubectl create clusterrolebinding node-n1 --clusterrole=system:node --user=jane"
    assert not [one.text for one in found if "403" in one.text], "a consequence, with no remedy of its own"


def test_a_bootstrap_kubeconfig_needs_only_the_right_to_request_certificates(tmp_path: Path) -> None:
    found = findings(tmp_path / "1", lambda server: server.bootstrap_kubeconfig(), bootstrap=True)
    assert [one.subject for one in found] == ["API server", "clock", "rights"]
    assert found[-1].level is Level.OK
    (*_, rights) = findings(tmp_path / "2", lambda server: server.kubeconfig("jane", "developers"), bootstrap=True)
    assert rights.level is Level.FAILURE
    assert "let the bootstrap kubeconfig create certificatesigningrequests, get certificate" in rights.text
    assert "--clusterrole=system:node-bootstrapper" in rights.remedy


def test_refused_credentials_are_reported_as_such(tmp_path: Path) -> None:
    found = findings(tmp_path, lambda server: server.token_kubeconfig("revoked", "abcdef.0000000000000000"))
    assert "the node's credentials are refused (401 Unauthorized)" in found[0].text


def test_the_refusal_of_an_expired_client_certificate_is_reported_once(tmp_path: Path) -> None:
    """The check of the certificate says why."""
    assert findings(tmp_path, lambda server: server.node_kubeconfig("n1", seconds=-60)) == []


def test_requests_to_the_api_server_use_the_certificate_of_the_agent(tmp_path: Path) -> None:
    """That of the kubeconfig has expired, and the agent has rotated it long ago."""
    stored = tmp_path / "kubelet-client-current.pem"

    def expired(server: ApiServer) -> str:
        own = server.authority.client("system:node:n1", "system:nodes")
        stored.write_bytes(b"".join(Path(path).read_bytes() for path in own))
        return server.node_kubeconfig("n1", seconds=-60)

    found = {one.subject: one for one in findings(tmp_path, expired, stored=str(stored))}
    assert found["identity"].text == "system:node:n1"


def test_a_node_whose_certificate_lacks_the_group_may_do_nothing(tmp_path: Path) -> None:
    found = findings(tmp_path, lambda server: server.kubeconfig("system:node:n1", "developers"))
    assert (found[-1].subject, found[-1].level) == ("identity", Level.FAILURE)
    assert "is not in the group system:nodes" in found[-1].text


def test_what_the_server_says_of_its_error_is_shown() -> None:
    said = message(b'{"kind":"Status","message":"etcdserver: no leader"}')
    found = refused("https://h:6443", 500, "Internal Server Error", said)
    assert found.text == "https://h:6443: 500 Internal Server Error: etcdserver: no leader"
    assert found.remedy == "kubectl get --raw '/readyz?verbose'", "a shell does not expand it"
    plain = refused("http://h", 400, "Bad Request", message("Client sent an HTTP request to an HTTPS server.\n"))
    assert plain.remedy == "`server` in the kubeconfig must begin with https://"


@pytest.mark.parametrize("body", [None, "", b"\xff\xfe", "[1]", '{"message": 5}', "<html>a proxy's page</html>"])
def test_a_body_that_is_no_message_does_no_harm(body: str | bytes | None) -> None:
    assert "<" not in message(body)
    assert message("x" * 5000) == message("x" * 5000)[:400]


def test_an_error_of_tls_is_no_answer_of_the_server() -> None:
    found = refused("https://h:6443", 0, "SSLError\n[SSL: CERTIFICATE_VERIFY_FAILED] self-signed")
    assert found.text == "https://h:6443 cannot be reached: self-signed"
    assert found.remedy == "certificate-authority in the kubeconfig must be the cluster's CA"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            "HTTPSConnection(host='h', port=6443): Failed to resolve 'h' ([Errno -2] Name or service not known)",
            "Failed to resolve 'h' (Name or service not known)",
        ),
        (
            "HTTPSConnectionPool(host='h', port=6443): Max retries exceeded with url: / (Caused by NewConnectionError("
            "\"HTTPSConnection(host='h', port=6443): Failed to establish a new connection: [Errno 111] Connection "
            'refused"))',
            "Failed to establish a new connection: Connection refused",
        ),
        ("('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer'))",
         "Connection aborted: Connection reset by peer"),
        ("HTTPSConnection(host='h', port=6443): Read timed out. (read timeout=5.0)", "Read timed out"),
    ],
)  # fmt: skip
def test_a_failed_connection_is_reported_in_words(error: str, text: str) -> None:
    assert unreachable("https://h:6443", error).text == f"https://h:6443 cannot be reached: {text}"


def test_a_server_that_speaks_https_hangs_up_on_http() -> None:
    error = "('Connection aborted.', RemoteDisconnected('Remote end closed connection without response'))"
    assert unreachable("http://h:6443", error).remedy == "`server` in the kubeconfig must begin with https://"
    assert unreachable("https://h:6443", error).remedy == "curl -k https://h:6443/version"


def test_a_key_of_another_certificate_is_named_with_what_to_correct() -> None:
    found = refused("https://h:6443", 0, "SSLError\n[X509: KEY_VALUES_MISMATCH] key values mismatch (_ssl.c:3926)")
    assert found.text == "https://h:6443 cannot be reached: key values mismatch"
    assert found.remedy == "client-certificate and client-key in the kubeconfig must be a pair"


def test_an_unreachable_server_is_reported_with_its_address(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        path = tmp_path / "kubeconfig"
        path.write_text(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
            f"clusters: [{{name: c, cluster: {{server: 'http://127.0.0.1:{port}'}}}}]\n"
            "users: [{name: u, user: {token: t}}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n"
        )
        (found,) = cluster(str(path), "n1")
    assert found.level is Level.FAILURE
    assert f"http://127.0.0.1:{port} cannot be reached" in found.text
    assert found.remedy.startswith("start the API server")


def test_a_kubeconfig_that_cannot_be_read_is_a_finding(tmp_path: Path) -> None:
    (found,) = cluster(str(tmp_path / "none"), "n1")
    assert (found.subject, found.level) == ("kubeconfig", Level.FAILURE)


def test_no_key_is_left_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    findings(tmp_path / "server", lambda server: server.node_kubeconfig("n1"))
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize(
    ("git_version", "level"),
    [("v1.36.2", Level.OK), ("v1.39.0", Level.OK), ("v1.40.0", Level.WARNING), ("v1.35.9-gke.1", Level.WARNING),
     ("dev", Level.UNKNOWN), ("v0.0.0-master+$Format:%H$", Level.UNKNOWN)],
)  # fmt: skip
def test_the_version_skew_policy_is_kept(git_version: str, level: Level) -> None:
    (found,) = version("https://api", git_version)
    assert found.level is level


@pytest.mark.parametrize(
    ("now", "level", "said"),
    [
        (1_800_000_000.5, Level.OK, "as the API server's"),
        (1_800_000_030.0, Level.OK, "29 s off"),
        (1_800_000_302.0, Level.FAILURE, "301 s ahead of"),
        (1_799_999_699.0, Level.FAILURE, "300 s behind"),
    ],
)
def test_the_clock_is_held_against_the_servers(now: float, level: Level, said: str) -> None:
    (found,) = clock("Fri, 15 Jan 2027 08:00:00 GMT", now, now + 1)
    assert found.level is level
    assert said in found.text


def test_a_wrong_authority_is_reported_by_its_remedy() -> None:
    found = unreachable("https://api", "(Caused by SSLError(SSLCertVerificationError('CERTIFICATE_VERIFY_FAILED')))")
    assert "certificate-authority" in found.remedy
