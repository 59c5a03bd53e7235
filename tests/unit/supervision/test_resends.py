"""When the whole state is sent again after lost messages."""

from __future__ import annotations

from supervision.resends import MOST_RESEND_SECONDS, RESEND_SECONDS, Resends


def test_all_messages_that_are_lost_until_then_cost_one_resend() -> None:
    resends = Resends()
    assert [resends.lost("pleg", 0.0), resends.lost("pleg", 1.0)] == [RESEND_SECONDS, None]
    assert resends.lost("prober", 1.0) == RESEND_SECONDS


def test_pauses_grow_while_the_whole_state_is_lost_too_and_are_short_again_later() -> None:
    resends, now, pauses = Resends(), 0.0, []
    for _ in range(6):
        pause = resends.lost("pleg", now)
        assert pause is not None
        pauses.append(pause)
        now += pause
        resends.sent("pleg", now)
        now += 25.0
    assert pauses == [5.0, 10.0, 20.0, 40.0, MOST_RESEND_SECONDS, MOST_RESEND_SECONDS]
    assert resends.lost("pleg", now + MOST_RESEND_SECONDS) == RESEND_SECONDS
