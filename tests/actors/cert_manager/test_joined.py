"""The certificate manager of a joining node, with a real TLS API server that signs, and a clock of the test."""

from __future__ import annotations

import asyncio
import math
import os
from pathlib import Path
from typing import Any

import pytest

from actors.api_clients.event_client.messages import EVENT_CLIENT
from actors.api_clients.messages import CredentialsChanged
from actors.cert_manager.actor import CHECK_SECONDS
from actors.shared.api import kubeconfig
from supervision.process_messages import Hello, ServiceState
from supervision.protocol import FORK_SERVER
from tests.support.apiserver import kubeconfigs
from tests.support.apiserver.server import ApiServer
from tests.support.certified_node import CSRS, USER, Node, decide, failures, joined, mode, requests, scenario, values

pytestmark = pytest.mark.slow


@scenario
async def test_with_a_bootstrap_kubeconfig_only_a_certificate_is_obtained_and_a_kubeconfig_written(node):
    async with node.start() as harness:
        told = await harness.wait_sent(CredentialsChanged, to="api_clients/kube_client", timeout=10)
    assert told.kubeconfig == str(node.kubeconfig)
    assert await node.who_am_i() == USER
    assert node.current.is_symlink()
    assert (mode(node.current), mode(node.kubeconfig), mode(node.pki)) == (0o600, 0o600, 0o700)
    assert sorted(path.name for path in node.pki.iterdir() if not path.name.startswith("kubelet.")) == sorted(
        [os.readlink(node.current), node.current.name]
    )
    (request,) = node.server.items(CSRS)
    assert request["spec"]["signerName"] == "kubernetes.io/kube-apiserver-client-kubelet"
    assert request["spec"]["usages"] == ["digital signature", "client auth"]
    assert {client for client, message in harness.outbox if isinstance(message, CredentialsChanged)} == {
        "api_clients/kube_client",
        "api_clients/heartbeat_client",
        "api_clients/event_client",
    }


@scenario
async def test_the_pair_of_a_kubeconfig_is_put_into_the_store_for_kubeadm(node):
    """`kubeadm init` writes a kubeconfig with the certificate in it, and names the current pair in it once there is
    one."""
    node.kubeconfig.write_bytes(Path(node.server.node_kubeconfig("n1")).read_bytes())
    given = kubeconfig.load(str(node.kubeconfig))
    async with node.start() as harness:
        await joined(harness)
        await harness.wait(node.current.exists, "the current pair", timeout=10)
        pair = node.current.read_bytes()
        assert given.cert_data.strip() in pair
        assert b"PRIVATE KEY" in pair
        assert (node.current.is_symlink(), mode(node.current)) == (True, 0o600)
        node.kubeconfig.write_text(kubeconfig.render(given, str(node.current), str(node.current)))
        await node.pass_time(harness, 10)
        told = harness.sent(CredentialsChanged)[-1]
        assert told.certificate == ""
    assert await node.who_am_i() == USER
    assert node.server.items(CSRS) == []


@scenario
async def test_the_pair_of_a_kubeconfig_is_not_stored_without_rotation_or_for_another_user(node):
    node.kubeconfig.write_bytes(Path(node.server.node_kubeconfig("n1")).read_bytes())
    async with node.start(rotate=False) as harness:
        await joined(harness)
        await node.pass_time(harness, 10)
    node.kubeconfig.write_bytes(Path(node.server.node_kubeconfig("other")).read_bytes())
    async with node.start() as harness:
        await joined(harness)
        await node.pass_time(harness, 10)
    assert not os.path.lexists(node.current)


@scenario
async def test_a_pending_request_is_watched_until_it_is_approved(node):
    node.server.options.auto_approve = False
    async with node.start() as harness:
        (name,) = await requests(node, harness)
        await asyncio.sleep(0.3)
        assert not harness.sent(CredentialsChanged)
        assert not node.kubeconfig.exists()
        assert mode(node.pki / "kubelet-client.key.tmp") == 0o600
        await harness.wait_sent(ServiceState, to=FORK_SERVER, timeout=10)
        decide(node, "Approved", name)
        await joined(harness)
    states = [state for state in harness.sent(ServiceState, FORK_SERVER) if state.service == "client certificate"]
    assert [state.text.partition(";")[0] for state in states] == [f"request {name} is pending", ""]
    assert await node.who_am_i() == USER
    assert not (node.pki / "kubelet-client.key.tmp").exists()


@scenario
async def test_a_restart_during_a_request_finds_the_same_request(node):
    node.server.options.auto_approve = False
    async with node.start() as harness:
        before = await requests(node, harness)
    async with node.start() as harness:  # nothing of the first one is left but files and the request
        await harness.wait(lambda: node.server.requests[-1].verb == "watch", "watch", timeout=10)
        assert await requests(node, harness) == before
        decide(node, "Approved", before[0])
        await joined(harness)
    assert await node.who_am_i() == USER
    assert len(node.server.items(CSRS)) == 1


@scenario
async def test_a_restart_after_the_certificate_was_issued_requests_no_other(node):
    async with node.start() as harness:
        await joined(harness)
    node.kubeconfig.unlink()  # as if killed before it was written
    async with node.start() as harness:
        await joined(harness)
    assert await node.who_am_i() == USER
    assert len(node.server.items(CSRS)) == 1


@pytest.mark.parametrize("rubbish", [b"", b"-----BEGIN PRIVATE KEY-----\nMIG"])
def test_a_half_written_key_of_a_request_is_replaced(tmp_path, rubbish):
    async def story():
        async with ApiServer(tmp_path / "server") as server:
            node = Node(tmp_path, server)
            node.pki.mkdir()
            (node.pki / "kubelet-client.key.tmp").write_bytes(rubbish)
            async with node.start() as harness:
                await joined(harness)
            assert await node.who_am_i() == USER

    asyncio.run(story())


@scenario
async def test_a_denied_request_is_logged_and_followed_by_a_new_one_later(node, caplog):
    node.server.options.auto_approve = False
    async with node.start() as harness:
        (first,) = await requests(node, harness)
        decide(node, "Denied", first)
        await harness.wait(lambda: "was denied (Test: by the test)" in caplog.text, "complaint", timeout=10)
        assert await requests(node, harness) == [first]
        await node.pass_time(harness, 40)
        names = await requests(node, harness, 2)
        (second,) = set(names) - {first}
        decide(node, "Approved", second)
        await joined(harness)
    assert await node.who_am_i() == USER


@scenario
async def test_an_unreachable_server_is_retried_until_it_is_back(node, caplog):
    await node.server.stop()
    async with node.start() as harness:
        await harness.wait(lambda: "cannot reach the API server" in caplog.text, "complaint", timeout=10)
        for _ in range(30):
            await harness.advance(10)
            await asyncio.sleep(0.01)
        assert caplog.text.count("cannot reach the API server") <= 3
        await node.server.start()
        for _ in range(10):
            await harness.advance(10)
            await asyncio.sleep(0.05)
        await joined(harness)
    assert await node.who_am_i() == USER


@scenario
async def test_refused_credentials_are_logged_with_a_hint(node, caplog):
    node.bootstrap = node.server.token_kubeconfig("bad", "aaaaaa.0000000000000000")
    async with node.start() as harness:
        await harness.wait(lambda: "kubeadm token create" in caplog.text, "complaint", timeout=10)
        assert not harness.sent(CredentialsChanged)
        assert (await harness.wait_sent(ServiceState, to=FORK_SERVER, timeout=10)).service == "client certificate"


@scenario
async def test_a_certificate_of_a_minute_is_rotated_again_and_again_with_new_keys(node):
    node.server.options.certificate_seconds = 60
    async with node.start() as harness:
        await joined(harness)
        keys = set()
        for round_ in range(2, 6):
            keys.add(node.current.read_bytes().partition(b"PRIVATE KEY-----")[2])
            node.server.options.certificate_seconds += 10 + round(node.offset)
            for _ in range(12):
                await node.pass_time(harness, 10)
                await asyncio.sleep(0.15)
                if len(harness.sent(CredentialsChanged, to="api_clients/kube_client")) >= round_:
                    break
            await joined(harness, round_)
        found = [message.version for message in harness.sent(CredentialsChanged, to="api_clients/event_client")]
    assert found == [1, 2, 3, 4, 5]
    assert len(keys) == 4
    assert await node.who_am_i() == USER
    kept = [path for path in node.pki.iterdir() if path.name.startswith("kubelet-client-2")]
    assert len(kept) <= 3


@scenario
async def test_without_rotation_a_certificate_is_left_alone(node):
    node.server.options.certificate_seconds = 600
    async with node.start(rotate=False) as harness:
        await joined(harness)
        await node.pass_time(harness, 590)
        assert len(node.server.items(CSRS)) == 1


@scenario
async def test_an_expired_certificate_is_replaced_with_the_bootstrap_credentials(node):
    node.kubeconfig.write_bytes(Path(node.server.node_kubeconfig("n1", seconds=-60)).read_bytes())
    async with node.start(rotate=False) as harness:
        await joined(harness)
    assert await node.who_am_i() == USER
    assert kubeconfig.load(str(node.kubeconfig)).cert_file == str(node.current)


@scenario
async def test_nothing_is_requested_with_a_usable_kubeconfig(node):
    node.kubeconfig.write_bytes(Path(node.server.node_kubeconfig("n1")).read_bytes())
    before = node.kubeconfig.read_bytes()
    async with node.start() as harness:
        told = await joined(harness)
        await node.pass_time(harness, 60)
    assert told.certificate == ""
    assert node.kubeconfig.read_bytes() == before
    assert not node.server.items(CSRS)


@scenario
async def test_a_certificate_inside_a_kubeconfig_is_rotated_into_the_store_and_used_from_there(node):
    node.bootstrap = ""
    certificate = node.server.authority.client(USER, "system:nodes", seconds=600)
    user = kubeconfigs.embedded_user(certificate)
    kubeconfigs.write(node.kubeconfig, node.server.url, node.server.authority.pem, user)
    before = node.kubeconfig.read_bytes()
    async with node.start() as harness:
        await joined(harness)
        await node.pass_time(harness, 580)
        told = await joined(harness, 2)
    assert told.certificate == str(node.current)
    assert node.kubeconfig.read_bytes() == before
    node.offset = 0
    async with node.start() as harness:
        assert (await joined(harness)).certificate == str(node.current)
        harness.clear()
        await harness.deliver(Hello(EVENT_CLIENT, 2))
        assert harness.sent(CredentialsChanged, to="api_clients/event_client")
    access = kubeconfig.load(str(node.kubeconfig)).with_certificate(str(node.current))
    assert await node.who_am_i(access) == USER


@scenario
async def test_a_corrupt_store_falls_back_to_the_previous_pair_or_bootstraps(node):
    node.server.options.certificate_seconds = 600
    async with node.start() as harness:
        await joined(harness)
        first = node.current.read_bytes()
        await asyncio.sleep(1.1)  # names have seconds
        node.server.options.certificate_seconds = 4000
        await node.pass_time(harness, 580)
        await joined(harness, 2)
        assert node.current.read_bytes() != first
    node.offset = 0
    Path(os.path.realpath(node.current)).write_bytes(b"-----BEGIN CERTIFICATE-----\nhalf")
    async with node.start() as harness:
        await joined(harness)
    assert node.current.read_bytes() == first
    assert await node.who_am_i() == USER
    count = len(node.server.items(CSRS))
    for path in node.pki.glob("kubelet-client-2*"):
        path.write_bytes(b"")
    node.offset = 10  # the kubeconfig was not written this moment
    async with node.start() as harness:
        await joined(harness)
        assert len(await requests(node, harness)) == count + 1
    assert await node.who_am_i() == USER


@scenario
async def test_the_agent_survives_a_clock_that_jumps_years_ahead_and_back(node, caplog):
    async with node.start() as harness:
        await joined(harness)
        node.bootstrap = ""
    async with node.start() as harness:
        await joined(harness)
        node.offset = 10 * 365 * 86400
        for _ in range(20):
            await harness.advance(10)
            await asyncio.sleep(0.01)
        node.offset = -10 * 365 * 86400
        await harness.advance(60)
        node.offset = 0
        await harness.advance(60)
    assert await node.who_am_i() == USER


@scenario
async def test_without_credentials_the_missing_file_is_logged_and_used_when_it_appears(node, caplog):
    node.bootstrap = str(node.folder / "later.conf")
    async with node.start() as harness:
        await harness.wait(lambda: "no credentials for the API server" in caplog.text, "complaint")
        assert "kubelet.conf (--kubeconfig) does not exist; " in caplog.text
        assert "later.conf (--bootstrap-kubeconfig) does not exist" in caplog.text
        os.rename(node.server.bootstrap_kubeconfig(), node.bootstrap)
        await harness.advance(CHECK_SECONDS)
        await joined(harness)
    assert await node.who_am_i() == USER


@scenario
async def test_a_kubeconfig_that_is_being_written_does_not_count_as_broken(node):
    whole = Path(node.server.node_kubeconfig("n1")).read_bytes()
    node.kubeconfig.write_bytes(whole[:100])
    async with node.start() as harness:
        await asyncio.sleep(0.2)
        node.kubeconfig.write_bytes(whole)
        await harness.advance(CHECK_SECONDS)
        await joined(harness)
    assert not node.server.items(CSRS)
    assert node.kubeconfig.read_bytes() == whole


@scenario
async def test_time_to_live_and_failures_are_metrics(node):
    async with node.start() as harness:
        numbers = await values(harness)
        assert numbers["kubelet_certificate_manager_client_ttl_seconds"] == math.inf
        await joined(harness)
        assert 3500 < (await values(harness))["kubelet_certificate_manager_client_ttl_seconds"] <= 3600
        await node.server.stop()
        node.offset = 3400
        await harness.advance(10)
        await harness.wait(lambda: failures(harness) >= 1, "failure", timeout=10)
        assert (await values(harness))["kubelet_certificate_manager_client_ttl_seconds"] < 250


@scenario
async def test_a_new_bootstrap_token_is_tried_at_once(node, caplog):
    good = Path(node.bootstrap).read_bytes()
    node.bootstrap = node.server.token_kubeconfig("bad", "aaaaaa.0000000000000000")
    async with node.start() as harness:
        for _ in range(20):  # until the pauses are long
            await harness.advance(CHECK_SECONDS)
            await asyncio.sleep(0.02)
        assert "kubeadm token create" in caplog.text
        Path(node.bootstrap).write_bytes(good)
        await harness.advance(CHECK_SECONDS)
        await joined(harness)
    assert await node.who_am_i() == USER


@scenario
async def test_a_clock_that_is_far_ahead_does_not_cause_a_flood_of_requests(node, caplog):
    node.offset = 3500.0  # of certificates that live for 3600 s
    async with node.start() as harness:
        await joined(harness)
        for _ in range(60):
            await harness.advance(CHECK_SECONDS)
            await asyncio.sleep(0.02)
        assert 3 <= len(node.server.items(CSRS)) <= 25
    assert "is due for rotation already" in caplog.text
    assert await node.who_am_i() == USER


@scenario
async def test_a_warning_is_logged_before_an_unrotated_certificate_expires(node, caplog):
    node.kubeconfig.write_bytes(Path(node.server.node_kubeconfig("n1", seconds=10_000)).read_bytes())
    async with node.start(rotate=False) as harness:
        await joined(harness)
        assert "is not rotated" not in caplog.text
        node.offset = 9500
        await harness.advance(60)
        assert caplog.text.count("and is not rotated (rotateCertificates)") == 1
        assert len(harness.sent(CredentialsChanged, to="api_clients/kube_client")) == 1


FAULTS: dict[str, dict[str, Any]] = {
    "slow": {"kind": "delay", "seconds": 0.3},
    "made, and the answer lost": {"kind": "lost", "verb": "create", "times": 2},
    "cut off": {"kind": "drop", "times": 3},
    "too many requests": {"kind": "status", "code": 429, "retry_after": 1, "times": 3},
    "failing": {"kind": "status", "code": 500, "times": 3},
    "forbidding": {"kind": "status", "code": 403, "times": 3},
    "without watches": {"kind": "status", "verb": "watch", "code": 403},
    "cutting watches": {"kind": "cut", "seconds": 0.05},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_node_joins_with_one_request_despite_server_faults(tmp_path, fault):
    async def story():
        async with ApiServer(tmp_path / "server") as server:
            node = Node(tmp_path, server)
            order = dict(FAULTS[fault])
            met = server.fault(order.pop("kind"), resource=CSRS, **order)
            async with node.start() as harness:
                for _ in range(60):
                    await harness.advance(2)
                    await asyncio.sleep(0.05)
                    if harness.sent(CredentialsChanged):
                        break
                await joined(harness)
            assert await node.who_am_i() == USER
            assert len(server.items(CSRS)) == 1
            assert met.seen

    asyncio.run(story())


@scenario
async def test_a_pending_request_is_reported_periodically_also_where_watches_are_forbidden(node, caplog):
    caplog.set_level("INFO", "cert_manager")
    node.server.options.auto_approve = False
    node.server.fault("status", verb="watch", code=403)
    async with node.start() as harness:
        await requests(node, harness)
        for _ in range(100):
            await harness.advance(20)
            await asyncio.sleep(0.01)
        said = [record.levelname for record in caplog.records if "kubectl certificate approve csr-" in record.message]
    assert said == ["INFO", "WARNING", "WARNING"]
    assert len(node.server.items(CSRS)) == 1
