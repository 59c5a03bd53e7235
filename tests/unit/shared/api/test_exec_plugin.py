"""Credential plugins that are real programs: what they are told, what they may print, how they may fail."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from actors.shared.api.access import Exec, ServerAccess
from actors.shared.api.credentials import RETRY_SECONDS, Credentials
from actors.shared.api.errors import NoCredentials
from actors.shared.api.exec_plugin import PluginRun, issued, run
from actors.shared.api.plugin_metrics import AGE, CALLS, TTL, PluginMetrics
from actors.shared.metrics import catalogue
from supervision.metrics import Metrics
from tests.support.certificates import Authority
from tests.support.fork_server_process import exists

pytestmark = pytest.mark.slow

V1 = "client.authentication.k8s.io/v1"
OK = ("no_error", 0)


def plugin(folder: Path, script: str, **more: Any) -> ServerAccess:
    path = folder / "plugin"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    cluster = {"server": "https://s", "ca": b"CA", **more.pop("cluster", {})}
    return ServerAccess(**cluster, exec=Exec(api_version=V1, command=str(path), **more))


def credential(**status: Any) -> str:
    return json.dumps({"kind": "ExecCredential", "apiVersion": V1, "status": status})


async def test_an_exec_plugin_is_run_with_arguments_environment_and_exec_info(tmp_path: Path) -> None:
    said = credential(token="t", expirationTimestamp="2030-01-02T03:04:05Z")
    access = plugin(
        tmp_path,
        f"cd {tmp_path}; printf '%s' \"$KUBERNETES_EXEC_INFO\" > info; echo \"$1 $A $PATH\" > rest; echo '{said}'",
        args=("$(id); one",), env=(("A", "b c"),), provide_cluster_info=True, cluster_config={"x": 1},
    )  # fmt: skip
    found = await run(access)
    assert (found.token, found.expires) == ("t", 1893553445.0)
    info = json.loads((tmp_path / "info").read_text())
    assert (info["kind"], info["apiVersion"]) == ("ExecCredential", V1)
    assert info["spec"]["interactive"] is False
    assert info["spec"]["cluster"] == {"server": "https://s", "certificate-authority-data": "Q0E=", "config": {"x": 1}}
    rest = (tmp_path / "rest").read_text()
    assert rest.startswith("$(id); one b c /")


async def test_a_missing_plugin_is_reported_with_its_install_hint() -> None:
    access = ServerAccess(
        server="https://s", exec=Exec(api_version=V1, command="no-such-plugin", install_hint="apt it")
    )
    runs: list[PluginRun] = []
    with pytest.raises(NoCredentials, match=r"no-such-plugin: cannot be run: No such file.*\(apt it\)"):
        await run(access, runs.append)
    assert runs == [PluginRun("plugin_not_found_error", 1)]


@pytest.mark.parametrize(
    ("script", "said", "counted"),
    [
        ("echo boom >&2; exit 3", "process returned 3. boom", ("plugin_execution_error", 3)),
        ("kill -9 $$", "process returned -9", ("plugin_execution_error", -9)),
        ("echo nonsense", "failed to decode process output", OK),
        (f"echo '{credential()}'", "neither a token nor a client certificate", OK),
        (f"echo '{credential(clientCertificateData='x')}'", "one of clientCertificateData and clientKeyData", OK),
        ('echo \'{"kind":"Pod"}\'', "missing key 'apiVersion'", OK),
        ("head -c 2000000000 /dev/zero", "printed too much", ("client_internal_error", 1)),
        (f"echo '{credential(token=7)}'", "an invalid ExecCredential status", OK),
    ],
)
async def test_a_failed_plugin_is_reported_without_its_output_and_counted(
    tmp_path: Path, script: str, said: str, counted: tuple[str, int]
) -> None:
    runs: list[PluginRun] = []
    with pytest.raises(NoCredentials) as caught:
        await run(plugin(tmp_path, script), runs.append)
    assert said in str(caught.value)
    assert runs == [PluginRun(*counted)]


async def test_a_plugin_may_have_as_much_address_space_as_the_agent(tmp_path: Path) -> None:
    script = f"ulimit -v > {tmp_path}/limit; echo '{credential(token='t')}'"
    await run(plugin(tmp_path, script))
    assert (tmp_path / "limit").read_text() == "unlimited\n"


async def test_a_flood_of_complaints_is_cut_in_the_process_that_reads_it(tmp_path: Path) -> None:
    with pytest.raises(NoCredentials) as caught:
        await run(plugin(tmp_path, "head -c 60000000 /dev/zero | tr '\\0' x >&2; exit 1"))
    assert "process returned 1" in str(caught.value)
    assert len(str(caught.value)) < 1000


async def test_a_hanging_plugin_is_killed_with_its_children(tmp_path: Path) -> None:
    access = plugin(tmp_path, f"sleep 600 & echo $! > {tmp_path}/child; wait", timeout=5)
    runs: list[PluginRun] = []
    with pytest.raises(NoCredentials, match="no answer within 5 s"):
        await asyncio.wait_for(run(access, runs.append), 60)
    assert runs == [PluginRun("plugin_execution_error", -1)]
    child = int((tmp_path / "child").read_text())
    end = time.monotonic() + 5
    while exists(child):
        assert time.monotonic() < end
        await asyncio.sleep(0.01)


async def test_a_plugin_is_run_again_when_its_token_expires_or_is_refused(tmp_path: Path) -> None:
    now = [1000.0]
    script = f"echo x >> {tmp_path}/runs; echo '{credential(token='t', expirationTimestamp='1970-01-01T00:33:20Z')}'"
    credentials = Credentials(plugin(tmp_path, script), lambda: now[0])

    def runs() -> int:
        return len((tmp_path / "runs").read_text().split())

    for _ in range(3):
        assert await credentials.headers() == [("Authorization", "Bearer t")]
    assert runs() == 1
    assert credentials.refused(await credentials.headers())
    await credentials.headers()
    assert runs() == 2
    now[0] = 2001.0
    await credentials.headers()
    assert runs() == 3


async def test_a_failing_plugin_is_not_run_for_each_request(tmp_path: Path) -> None:
    now = [1000.0]
    credentials = Credentials(plugin(tmp_path, f"echo x >> {tmp_path}/runs; exit 1"), lambda: now[0])
    for _ in range(3):
        with pytest.raises(NoCredentials):
            await credentials.headers()
    assert (tmp_path / "runs").read_text() == "x\n"
    now[0] += RETRY_SECONDS
    with pytest.raises(NoCredentials):
        await credentials.headers()
    assert (tmp_path / "runs").read_text() == "x\nx\n"


def test_a_certificate_of_a_plugin() -> None:
    asked = Exec(api_version=V1, command="p")
    found = issued({"clientCertificateData": "C", "clientKeyData": "K"}, asked)
    assert (found.cert, found.key, found.token) == (b"C", b"K", "")


async def test_a_token_file_is_read_each_minute_and_outlives_a_moment_without_it(tmp_path: Path) -> None:
    now = [0.0]
    path = tmp_path / "token"
    credentials = Credentials(ServerAccess(server="https://s", token_file=str(path)), lambda: now[0])
    with pytest.raises(NoCredentials, match="No such file"):
        await credentials.headers()
    path.write_text("one\n")
    assert await credentials.headers() == [("Authorization", "Bearer one")]
    path.write_text("two\n")
    assert await credentials.headers() == [("Authorization", "Bearer one")]
    now[0] = 60.0
    assert await credentials.headers() == [("Authorization", "Bearer two")]
    path.unlink()
    now[0] = 120.0
    assert await credentials.headers() == [("Authorization", "Bearer two")]


async def test_plugin_runs_and_ages_of_its_certificates_are_counted(tmp_path: Path) -> None:
    authority, metrics, now = Authority(tmp_path / "ca"), Metrics(catalogue(strict=True)), time.time() + 100
    counts = PluginMetrics(metrics)
    counts.tell_rest(now)
    assert value(metrics, TTL) == float("inf")
    credentials = Credentials(plugin(tmp_path, f"cat {tmp_path}/said"), lambda: now, counts)
    for name, seconds in (("one", 3600), ("two", 7200)):
        cert, key = authority.client(name, seconds=seconds)
        pair = {"clientCertificateData": Path(cert).read_text(), "clientKeyData": Path(key).read_text()}
        (tmp_path / "said").write_text(credential(**pair))
        await credentials.certificate()
        credentials.refused(await credentials.headers())
    assert value(metrics, CALLS) == 2
    (age,) = [one for one in metrics.snapshot("x", 1).samples if one.name == AGE]
    assert sum(age.counts) == 1
    assert age.value >= 100
    counts.tell_rest(now)
    assert 0 < value(metrics, TTL) < float("inf")


def value(metrics: Metrics, name: str) -> float:
    return next(one.value for one in metrics.snapshot("x", 1).samples if one.name == name)
