"""What cannot be read ends nobody: text that is no UTF-8 and JSON without bottom are errors like any other.

The parser raises another error for each of the two than for what is no JSON. A user may write either into a pull
secret, whose bytes are the user's own, and a disk into any file.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from actors.api_clients.kube_client.node_annotations import annotations_of
from actors.cert_manager.signing_request import RequestState
from actors.cert_manager.signing_request import read as read_request
from actors.config_controller import session
from actors.image_manager.keyring import read_docker_config
from actors.pod_config.sources.last_good import LastGoodPods
from actors.shared.api.errors import Unreachable
from actors.shared.api.exchange import ApiResponse, event_of
from actors.shared.api.reflector import read_item, read_page
from actors.shared.kube.codec import ObjectError, decode_pod
from actors.shared.kube.node_addresses import host_ips
from actors.shutdown_manager.shutdown_state import FILE, ShutdownStateFile
from actors.status_manager.readiness.readiness_file import ReadinessFile
from actors.volume_manager.csi import record_file
from actors.volume_manager.csi.model import DATA

NO_TEXT = b'"\xff\xfe"'
DEEP = b"[" * 100_000


def fails_with(error: type[Exception], call: Callable[[], Any]) -> bool:
    with pytest.raises(error):
        call()
    return True


def listed(version: bytes) -> ApiResponse:
    return ApiResponse(200, b'{"metadata":{"resourceVersion":%s}}' % version, {})


@pytest.mark.parametrize("value", [NO_TEXT, DEEP], ids=["no text", "deep"])
@pytest.mark.parametrize(
    "reads",
    [
        lambda value: read_docker_config([b'{"auths":%s}' % value]) is not None,
        lambda value: fails_with(ObjectError, lambda: decode_pod(b'{"metadata":{"name":%s}}' % value)),
        lambda value: fails_with(Unreachable, lambda: event_of(b'{"type":%s,"object":{}}' % value)),
        lambda value: fails_with(Unreachable, lambda: read_item(b'{"metadata":{"name":%s}}' % value)),
        lambda value: fails_with(Unreachable, lambda: read_page(listed(value))),
        lambda value: host_ips(b'{"status":{"addresses":[{"type":%s}]}}' % value) == [],
        lambda value: annotations_of(b'{"metadata":{"annotations":{"a":%s}}}' % value) == {},
        lambda value: read_request(b'{"metadata":{"resourceVersion":%s}}' % value).state is RequestState.UNKNOWN,
    ],
    ids=["pull secret", "pod", "event", "item", "list", "addresses", "annotations", "request"],
)  # fmt: skip
def test_data_from_the_network_is_read_or_refused(reads: Callable[[bytes], bool], value: bytes) -> None:
    assert reads(value)


@pytest.mark.parametrize("data", [NO_TEXT, b'{"version":1,"boot":"\xff","pods":{"\xff":{}}}', DEEP, b"{", b""])
def test_damaged_files_are_read_or_set_aside(tmp_path: Path, data: bytes) -> None:
    for name in (FILE, "probes.json", "session", DATA, "kept.json"):
        (tmp_path / name).write_bytes(data)
    journal, memory = ShutdownStateFile(str(tmp_path)), ReadinessFile(str(tmp_path / "probes.json"))
    journal.load()
    memory.load()
    assert FILE in journal.problem
    assert "set aside" in memory.problem
    assert session.load(tmp_path / "session") is None
    assert record_file.read(str(tmp_path)) is None
    assert LastGoodPods(str(tmp_path / "kept.json")).load() == {}
