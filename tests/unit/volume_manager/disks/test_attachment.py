"""When a disk counts as attached, and the secrets of CHAP."""

from __future__ import annotations

import json

import pytest

from actors.api_clients.kube_client.messages import ApiAnswer
from actors.volume_manager.disks.attachment import node_call, not_attached
from actors.volume_manager.disks.chap import NO_CHAP, ChapError, ChapWish
from actors.volume_manager.failure_texts import MountError

NAME = "kubernetes.io/iscsi/10.0.0.1:iqn.2003-01.a:b:0"


def answer(**status) -> ApiAnswer:
    return ApiAnswer(status=200, body=json.dumps({"status": status}).encode())


def test_a_disk_is_attached_once_the_nodes_status_has_it_in_use_and_attached():
    attached = [{"name": NAME, "devicePath": ""}]
    assert not_attached(answer(volumesInUse=[NAME], volumesAttached=attached), NAME) is None
    found = not_attached(answer(volumesInUse=[NAME]), NAME)
    assert found == MountError(f"Volume not attached according to node status: {NAME}", waits=True)
    found = not_attached(answer(volumesAttached=attached), NAME)
    text = "Volume has not been added to the list of VolumesInUse in the node's volume status"
    assert found == MountError(f"{text}: {NAME}", waits=True)
    assert node_call("n 1").path == "/api/v1/nodes/n%201"


def test_without_an_answer_the_volume_waits():
    found = not_attached(ApiAnswer(status=0, reason="Unreachable", message="refused"), NAME)
    assert found is not None
    assert found.waits
    assert found.text == "VerifyControllerAttachedVolume failed fetching node from API server: refused"
    found = not_attached(ApiAnswer(status=200, body=b"["), NAME)
    assert found is not None
    assert "cannot be read" in found.text


def secret(**data) -> ApiAnswer:
    return ApiAnswer(status=200, body=json.dumps({"data": data}).encode())


def test_the_secret_gives_the_settings_that_are_asked_for():
    wish = ChapWish(discovery=True, session=True, namespace="n/s", name="chap")
    assert wish.path == "/api/v1/namespaces/n%2Fs/secrets/chap"
    body = {"discovery.sendtargets.auth.username": "YQ==", "node.session.auth.password": "Yg==", "other": "Yw=="}
    assert wish.settings(secret(**body)) == {
        "discovery": {"discovery.sendtargets.auth.username": "a"},
        "session": {"node.session.auth.password": "b"},
    }
    assert ChapWish(session=True, namespace="n", name="x").settings(secret()) == {"session": {}}
    assert wish
    assert not NO_CHAP


def test_a_secret_that_is_missing_or_none_is_an_error_without_its_values():
    with pytest.raises(ChapError, match="CHAP enabled but secret name or namespace is empty"):
        _ = ChapWish(session=True, namespace="n").path
    wish = ChapWish(session=True, namespace="n", name="x")
    with pytest.raises(ChapError, match="couldn't get secret n/x error: gone"):
        wish.settings(ApiAnswer(status=404, reason="NotFound", message="gone"))
    with pytest.raises(ChapError, match="couldn't get secret n/x error"):
        wish.settings(secret(x="?"))
