"""The named health checks of the node server."""

from __future__ import annotations

import pytest

from actors.device_manager.messages import REGISTRATION
from actors.http_servers.serving.health_checks import UNAVAILABLE_SECONDS, report, results
from actors.http_servers.serving.sync_loop import SyncLoop
from supervision.protocol import ActorState, Tree, Trouble


def tree(*troubles: Trouble) -> Tree:
    worker = ActorState(name="pod_workers/worker/0", parent="pod_workers", kind="actor", state="running")
    return Tree(pid=1, uptime=1, state="ready", actors=[worker], troubles=list(troubles))


def test_the_checks_are_those_of_the_kubelet_in_its_order():
    assert list(results(tree(), SyncLoop())) == ["ping", "log", "syncloop", "device-plugin"]
    assert set(results(tree(), SyncLoop()).values()) == {""}


@pytest.mark.parametrize(("seconds", "fails"), [(UNAVAILABLE_SECONDS - 1, False), (UNAVAILABLE_SECONDS, True)])
def test_a_socket_on_which_no_plugin_can_register_fails_its_check_once_that_lasts(seconds, fails):
    found = results(tree(Trouble(REGISTRATION, "no device plugin can register: x", seconds, "d")), SyncLoop())
    well, text = report(found, (), verbose=False)
    assert well is not fails
    line = "[-]device-plugin failed: device plugin registration gRPC server failed and no device plugins can register"
    assert (line in text) is fails


def test_an_unknown_excluded_check_is_reported():
    well, text = report({"ping": "", "log": ""}, ["log", "b", "a"], verbose=True)
    warning = 'warn: some health checks cannot be excluded: no matches for "a","b"'
    assert (well, text) == (True, f"[+]ping ok\n[+]log excluded: ok\n{warning}\nhealthz check passed\n")
    assert report({"ping": ""}, ["a"], verbose=False) == (True, "ok")


def test_troubles_of_others_fail_no_check():
    found = results(tree(Trouble("image service", "silent", 10 * UNAVAILABLE_SECONDS, "image_manager")), SyncLoop())
    assert set(found.values()) == {""}
