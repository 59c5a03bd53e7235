"""A server that does not know yet that the pod is on this node is asked again, for a moment."""

from __future__ import annotations

import pytest

from actors.api_clients.kube_client.messages import ApiAnswer
from actors.shared.api.permission import when_permitted

REFUSED, GIVEN = ApiAnswer(status=403, reason="Forbidden"), ApiAnswer(status=200, body=b"x")
LACKING = ApiAnswer(status=404, reason="NotFound")


@pytest.mark.parametrize(
    ("answers", "made", "slept"),
    [
        ([GIVEN], 1, []),
        ([LACKING, GIVEN], 1, []),
        ([REFUSED, GIVEN], 2, [0.1]),
        ([REFUSED, REFUSED, LACKING], 3, [0.1, 0.4]),
        ([REFUSED, REFUSED, REFUSED, GIVEN], 3, [0.1, 0.4]),
    ],
)
async def test_only_a_forbidden_request_is_retried_and_only_for_half_a_second(
    answers: list[ApiAnswer], made: int, slept: list[float]
) -> None:
    left, pauses = list(answers), list[float]()

    async def request() -> ApiAnswer:
        return left.pop(0)

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    assert await when_permitted(request, sleep) == answers[made - 1]
    assert (len(answers) - len(left), pauses) == (made, slept)
