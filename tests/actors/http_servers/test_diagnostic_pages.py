"""Pages of the node server for people who look for a fault: log queries, flags, status."""

from __future__ import annotations

import json

from actors.config_controller.messages import Flagz, GetFlagz
from actors.http_servers.endpoints import logs
from tests.support.served_node import Node, serve

JOURNALCTL = """#!/bin/sh
case "$*" in
*--unit=broken*) exit 1;;
*--unit=kubelet*) echo "journal of $*";;
esac
"""


def test_each_service_is_read_from_its_journal_or_else_from_its_file(tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "journalctl").write_text(JOURNALCTL)
    (tmp_path / "bin" / "journalctl").chmod(0o755)
    (tmp_path / "var").mkdir()
    (tmp_path / "var" / "nginx.log").write_text("of nginx\n")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setattr(logs, "ROOT", str(tmp_path / "var"))

    async def story(node: Node) -> None:
        code, text = await node.fetch("/logs/?query=nginx&query=kubelet")
        assert (code, text.splitlines()[1:]) == (200, ["of nginx"])
        assert text.startswith("journal of --utc")
        assert "nginx" not in text.splitlines()[0]
        assert await node.fetch("/logs/?query=nginx") == (200, "of nginx\n")
        assert await node.fetch("/logs/?query=broken") == (200, "\nlog not found for broken\n")
        listed = await node.fetch("/logs/?query=/")
        assert (listed[0], "nginx.log" in listed[1]) == (200, True), "the directory"
        options = (
            "\noptions present and query resolved to log files for [nginx broken]\ntry without specifying options\n"
        )
        assert await node.fetch("/logs/?query=nginx&query=broken&tailLines=1") == (200, options)
        boot = await node.fetch("/logs/?query=kubelet&boot=0&sinceTime=2026-11-21T08:00:00Z")
        assert (boot[0], "--boot=0" in boot[1]) == (200, True)

    serve(Node(tmp_path, enableSystemLogQuery=True), story)


def test_a_part_of_a_file_is_sent_and_an_unchanged_file_is_not(tmp_path, monkeypatch):
    (tmp_path / "var").mkdir()
    (tmp_path / "var" / "x.log").write_text("0123456789\n")
    monkeypatch.setattr(logs, "ROOT", str(tmp_path / "var"))

    async def story(node: Node) -> None:
        status, text, headers = await node.send("GET", "/logs/x.log")
        assert (status, text, headers["Accept-Ranges"]) == (200, "0123456789\n", "bytes")
        modified = headers["Last-Modified"]
        status, text, headers = await node.send("GET", "/logs/x.log", {"Range": "bytes=5-"})
        assert (status, text, headers["Content-Range"]) == (206, "56789\n", "bytes 5-10/11")
        assert headers["Content-Length"] == "6"
        status, text, headers = await node.send("GET", "/logs/x.log", {"Range": "bytes=50-60"})
        assert (status, text, headers["Content-Range"]) == (416, "invalid range: failed to overlap\n", "bytes */11")
        other = {"Range": "bytes=5-", "If-Range": "Sat, 28 Nov 2020 11:29:27 GMT"}
        assert (await node.send("GET", "/logs/x.log", other))[:2] == (200, "0123456789\n")
        assert (await node.send("GET", "/logs/x.log", {"If-Modified-Since": modified}))[:2] == (304, "")

    serve(Node(tmp_path), story)


def test_flagz_and_statusz_are_served_as_json_on_request(tmp_path):
    async def story(node: Node) -> None:
        node.answer(GetFlagz, Flagz(flags={"v": "2"}, given=(), gates={}, version="v1.36.2"))
        code, text = await node.fetch("/flagz", accept="application/json;v=v1beta1;g=config.k8s.io;as=Flagz")
        assert (code, json.loads(text)["flags"]) == (200, {"v": "2"})
        code, text = await node.fetch("/statusz", accept="application/json;v=v1beta1;g=config.k8s.io;as=Statusz")
        found = json.loads(text)
        assert (code, found["kind"], found["binaryVersion"]) == (200, "Statusz", "1.36.2")
        assert {"/healthz", "/logs", "/metrics/cadvisor", "/debug/pprof"} <= set(found["paths"])
        acting = {"/exec", "/attach", "/portForward", "/run", "/checkpoint", "/containerLogs", "/debug/flags/v"}
        assert not acting & set(found["paths"])
        assert (await node.fetch("/statusz", accept="application/yaml"))[0] == 406
        code, text = await node.fetch("/statusz", accept="application/yaml;v=v1beta1;g=config.k8s.io;as=Statusz")
        assert (code, "\nkind: Statusz\n" in f"\n{text}") == (200, True)
        code, text = await node.fetch("/flagz")
        assert (code, text.startswith("\nkubelet flagz\n"), "v=2\n" in text) == (200, True, True)

    serve(Node(tmp_path), story)
