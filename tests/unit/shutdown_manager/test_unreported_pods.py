"""The pods that a shutdown has ended, and whose end the API server does not know yet."""

from __future__ import annotations

from typing import Any

from actors.shared.kube.times import micro_time
from actors.shutdown_manager.shutdown_state import ShutdownRecord
from actors.shutdown_manager.unreported_pods import is_reported, unreported, with_ended
from actors.status_manager.messages import LivePod, LivePods

END = 1_700_000_000.0


def pod(uid: str, **fields: Any) -> LivePod:
    given = {"static": False, "finished": False, "status_written": True, **fields}
    return LivePod(uid=uid, full_name=f"{uid}_ns", priority=0, grace_seconds=30, **given)


def last(*pods: str) -> ShutdownRecord:
    return ShutdownRecord(start=micro_time(END - 60), end=micro_time(END), pods=pods)


def test_pods_of_the_api_server_are_added_once_and_static_pods_are_not() -> None:
    assert with_ended(last("b"), [pod("a"), pod("b"), pod("s", static=True), pod("new", reported=False)]) == ("a", "b")


def test_a_pod_is_unreported_until_its_final_status_is_written() -> None:
    done = pod("a", finished=True, status_written=True)
    waiting = pod("b", finished=True, status_written=False)
    assert unreported(last("a", "b"), LivePods([done, waiting], complete=True)) == ("b",)


def test_a_pod_that_started_after_the_shutdown_is_settled() -> None:
    assert unreported(last("a", "b"), LivePods([pod("a", started=END + 1), pod("b")], complete=True)) == ("b",)


def test_a_missing_pod_is_settled_once_the_list_is_complete() -> None:
    assert unreported(last("a"), LivePods([], complete=False)) == ("a",)
    assert unreported(last("a"), LivePods([], complete=True)) == ()


def test_a_static_pod_need_not_be_reported() -> None:
    assert is_reported(pod("s", static=True, finished=True, status_written=False))
    assert not is_reported(pod("a", finished=True, status_written=False))
