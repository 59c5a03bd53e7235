"""What somebody from outside is told who asks an actor that does not answer as expected."""

from __future__ import annotations

from pathlib import Path

import pytest

from supervision import client
from supervision.errors import AskError
from supervision.messaging.names import Names
from supervision.messaging.wire import WireError
from supervision.protocol import GetTree, Tree


def test_an_answer_of_an_unregistered_type_is_reported_as_of_another_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(*_: object) -> None:
        raise WireError("unknown message type 'Old'")

    monkeypatch.setattr(client, "_exchange", unknown)
    names = Names(tmp_path / "names")
    with names.listen("fork_server", 1):
        names.publish("fork_server", 1)
        asking = client.Client(tmp_path)
        with pytest.raises(
            AskError, match="'Old': it runs another version than this one: restart it, pods keep running"
        ):
            asking.ask(GetTree(), Tree)
        asking.close()
    names.remove()
