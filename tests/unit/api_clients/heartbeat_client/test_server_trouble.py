from __future__ import annotations

from actors.api_clients.heartbeat_client.server_trouble import ServerTrouble
from actors.shared.api.errors import ApiError
from actors.shared.api.remedies import of_connection
from supervision.process_messages import ServiceState


def test_an_api_server_that_refuses_for_a_while_is_reported_once_and_taken_back() -> None:
    told: list[ServiceState] = []
    now = [100.0]
    trouble = ServerTrouble(told.append, lambda: now[0], 10.0, "n1")
    error = ApiError(0, "Unreachable", "connection refused")
    trouble.answered()
    assert told == [ServiceState("API server", "", 100.0)], "an earlier incarnation may have told of a trouble"
    now[0] = 109.0
    trouble.failed(error)
    assert len(told) == 1, "one try may fail"
    now[0] = 111.0
    trouble.failed(error)
    trouble.failed(error)
    text, remedy = f"the node's lease is not renewed: {error}", of_connection("connection refused")
    assert told[1:] == [ServiceState("API server", text, 100.0, remedy)]
    now[0] = 130.0
    trouble.answered()
    trouble.answered()
    assert told[2:] == [ServiceState("API server", "", 130.0)]
