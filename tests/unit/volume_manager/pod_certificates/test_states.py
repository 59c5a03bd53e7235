"""The states of a certificate of a pod."""

from __future__ import annotations

from typing import Literal

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from actors.volume_manager.pod_certificates.states import (
    ABANDON_SECONDS,
    EXPIRED,
    JITTER_SECONDS,
    NOT_ISSUED,
    OVERDUE,
    OVERDUE_SECONDS,
    CertificateAction,
    PodCertificateState,
    PodCredentials,
    RequestStatus,
    credentials_of,
    looked_at,
    metric_state,
    next_action,
    requested,
    warned,
)

NOW = 1_000_000.0
JITTER = st.floats(0, 1)
ISSUED = RequestStatus("issued", chain=b"chain", renew_at=NOW + 600, ends_at=NOW + 3600)


def awaiting(state: PodCertificateState | None = None, now: float = NOW) -> PodCertificateState:
    return requested(state or PodCertificateState(), "req-1", b"key", now, 0.0)


def issued() -> PodCertificateState:
    return looked_at(awaiting(), "ns/req-1", ISSUED, NOW, 0.0).state


def refused(how: Literal["denied", "failed"]) -> PodCertificateState:
    return looked_at(awaiting(), "ns/req-1", RequestStatus(how, "Why", "say so"), NOW, 0.0).state


def test_a_new_certificate_is_requested_then_awaited_then_served() -> None:
    state = PodCertificateState()
    assert next_action(state, NOW) is CertificateAction.REQUEST
    assert credentials_of(state).error == credentials_of(awaiting()).error == NOT_ISSUED
    assert next_action(awaiting(), NOW) is CertificateAction.LOOK
    assert looked_at(awaiting(), "ns/req-1", RequestStatus(), NOW, 0.0).state == awaiting()
    assert credentials_of(issued()) == PodCredentials(b"key", b"chain")
    assert next_action(issued(), NOW) is CertificateAction.REST


@given(JITTER)
def test_a_certificate_is_renewed_up_to_five_minutes_after_the_time_that_the_signer_names(jitter: float) -> None:
    state = looked_at(awaiting(), "ns/req-1", ISSUED, NOW, jitter).state
    due = ISSUED.renew_at + JITTER_SECONDS * jitter
    assert next_action(state, due - 1) is CertificateAction.REST
    assert next_action(state, due) is CertificateAction.REQUEST
    assert next_action(state, ISSUED.renew_at + JITTER_SECONDS) is CertificateAction.REQUEST


def test_the_old_certificate_serves_until_the_new_one_is_issued() -> None:
    renewing = awaiting(issued(), NOW + 700)
    assert credentials_of(renewing) == PodCredentials(b"key", b"chain")
    new = RequestStatus("issued", chain=b"new", renew_at=NOW + 2000, ends_at=NOW + 5000)
    renewed = looked_at(requested(issued(), "req-2", b"key 2", NOW, 0.0), "ns/req-2", new, NOW + 800, 0.0).state
    assert credentials_of(renewed) == PodCredentials(b"key 2", b"new")


@given(JITTER)
def test_a_request_that_is_not_there_is_abandoned_after_ten_minutes(jitter: float) -> None:
    state = requested(PodCertificateState(), "req-1", b"key", NOW, jitter)
    end = NOW + ABANDON_SECONDS + JITTER_SECONDS * jitter
    assert looked_at(state, "ns/req-1", None, end, 0.0).state == state
    gone = looked_at(state, "ns/req-1", None, end + 1, 0.0)
    assert gone.error == 'PodCertificateRequest "ns/req-1" appears to have been deleted'
    assert gone.state == PodCertificateState()
    renewing = requested(issued(), "req-2", b"key 2", NOW, jitter)
    assert looked_at(renewing, "ns/req-2", None, end + 1, 0.0).state == issued()


def test_a_refusal_is_final_also_of_a_renewal_and_reported_in_the_words_of_the_kubelet() -> None:
    for how, said in (("denied", "was denied"), ("failed", "failed")):
        status = RequestStatus(how, "Why", "say so")  # type: ignore[arg-type]
        for state in (awaiting(), awaiting(issued())):
            found = looked_at(state, "ns/req-1", status, NOW, 0.0)
            assert found.event is not None
            assert found.event.reason == how.capitalize()
            assert found.event.text == f'PodCertificateRequest ns/req-1 {said}, reason="Why", message="say so"'
            assert next_action(found.state, NOW + 10**9) is CertificateAction.REST
            text = f'PodCertificateRequest was permanently {how}: reason="Why" message="say so"'
            assert credentials_of(found.state) == PodCredentials(error=text)


def test_overdue_and_expired_are_each_reported_once() -> None:
    state = awaiting(issued())
    emitted_reasons = []
    for seconds in range(0, 5000, 100):
        state, events = warned(state, NOW + seconds)
        emitted_reasons += [(seconds, event) for event in events]
    assert emitted_reasons == [(600 + int(OVERDUE_SECONDS) + 100, OVERDUE), (3700, EXPIRED)]
    assert warned(PodCertificateState(), NOW)[1] == warned(refused("denied"), NOW + 10**9)[1] == []


def test_the_metric_has_the_states_of_the_kubelet() -> None:
    assert metric_state(PodCertificateState(), NOW) == metric_state(awaiting(), NOW) == "not_yet_issued"
    assert [metric_state(refused(how), NOW) for how in ("denied", "failed")] == ["denied", "failed"]
    for state in (issued(), awaiting(issued())):
        ages = [metric_state(state, NOW + seconds) for seconds in (0, 600, 1200, 1201, 3600, 3601)]
        assert ages == ["fresh", "fresh", "fresh", "overdue_for_refresh", "overdue_for_refresh", "expired"]


class Life(RuleBasedStateMachine):
    """Any signer and any time."""

    def __init__(self) -> None:
        super().__init__()
        self.state, self.now, self.made = PodCertificateState(), NOW, 0
        self.served = PodCredentials(error=NOT_ISSUED)

    @rule(seconds=st.floats(0, 2000))
    def passes(self, seconds: float) -> None:
        self.now += seconds
        self.state, _ = warned(self.state, self.now)

    @precondition(lambda self: next_action(self.state, self.now) is CertificateAction.REQUEST)
    @rule(jitter=JITTER)
    def requests(self, jitter: float) -> None:
        self.made += 1
        self.state = requested(self.state, f"req-{self.made}", f"key {self.made}".encode(), self.now, jitter)

    @precondition(lambda self: next_action(self.state, self.now) is CertificateAction.LOOK)
    @rule(outcome=st.sampled_from(["pending", "issued", "denied", "failed", None]), jitter=JITTER)
    def looks(self, outcome: Literal["pending", "issued", "denied", "failed"] | None, jitter: float) -> None:
        chain = f"chain {self.made}".encode()
        status = (
            RequestStatus(outcome, chain=chain, renew_at=self.now + 600, ends_at=self.now + 3600) if outcome else None
        )
        self.state = looked_at(self.state, "ns/req", status, self.now, jitter).state
        if outcome in ("denied", "failed"):
            self.served = credentials_of(self.state)
        elif outcome == "issued":
            self.served = PodCredentials(f"key {self.made}".encode(), chain)

    @invariant()
    def the_pod_has_the_newest_issued_key_with_its_own_certificate(self) -> None:
        assert credentials_of(self.state) == self.served

    @invariant()
    def there_is_something_to_do_now_or_later_unless_it_is_refused(self) -> None:
        later = next_action(self.state, self.now + 10**6)
        assert (later is CertificateAction.REST) == (self.state.refused is not None)


TestLife = Life.TestCase
