"""Pending admissions: a withdrawal ends those before it, and none after it."""

from __future__ import annotations

from actors.container_manager.admission.pending_admissions import PendingAdmissions


def test_a_withdrawal_ends_the_pending_admissions_of_that_pod_only() -> None:
    admissions = PendingAdmissions()
    with admissions.start("a") as one, admissions.start("a") as two, admissions.start("b") as other:
        admissions.withdraw("a")
        with admissions.start("a") as later:
            assert [each.withdrawn for each in (one, two, other, later)] == [True, True, False, False]


def test_an_admission_is_alone_when_no_other_valid_one_is_pending() -> None:
    admissions = PendingAdmissions()
    with admissions.start("a") as one:
        assert admissions.is_only(one)
        with admissions.start("a") as two:
            assert not admissions.is_only(one)
        assert not admissions.is_only(two)
        assert admissions.is_only(one)
        admissions.withdraw("a")
        with admissions.start("a") as three:
            assert admissions.is_only(three)
            assert not admissions.is_only(one)


def test_finished_admissions_are_not_kept() -> None:
    admissions = PendingAdmissions()
    with admissions.start("a"), admissions.start("a"):
        assert admissions.awaits("a")
        assert not admissions.awaits("b")
        admissions.withdraw("a")
        with admissions.start("a"):
            pass
    assert not admissions.awaits("a")
    assert admissions._pending == {}


def test_the_worker_waits_for_the_newest_only() -> None:
    pending = PendingAdmissions()
    with pending.start("u") as first:
        assert pending.is_newest(first)
        with pending.start("u") as second, pending.start("v"):
            assert (pending.is_newest(first), pending.is_newest(second)) == (False, True)
        assert pending.is_newest(first)
        pending.withdraw("u")
        assert not pending.is_newest(first)
