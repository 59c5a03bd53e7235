"""The quarantine of the pods or images on which an actor died."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.shared.input_quarantine import POLICY, InputQuarantine, label_of
from supervision.actor import Actor
from supervision.process_messages import DiedOnInput
from supervision.testing.harness import Harness


class Reader(Actor):
    """It reads pods."""


class Poison(Exception):
    """What the work on an input raises."""


class Incarnation:
    def __init__(self, home: Path) -> None:
        self.harness = Harness(Reader, name="reader")
        self.quarantine = InputQuarantine(self.harness.actor, str(home), "reading")

    def die_on(self, name: str, data: bytes) -> None:
        with pytest.raises(Poison), self.quarantine.handling(name, data):
            raise Poison


def test_each_death_on_an_input_is_told_and_the_third_puts_it_in_quarantine(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for count in range(POLICY.crashes):
        one = Incarnation(tmp_path)
        assert len(one.harness.sent(DiedOnInput)) == min(count, 1)
        assert ("the last incarnation died on reading of pod u/" in caplog.text) is (count > 0)
        assert one.quarantine.refusal("u", b"a") == ""
        caplog.clear()
        one.die_on("u", b"a")
    last = Incarnation(tmp_path)
    text = "reading of this pod ended reader 3 times: left alone until it changes"
    assert last.quarantine.refusal("u", b"a") == text
    assert (last.quarantine.refusal("u", b"b"), last.quarantine.refusal("v", b"a")) == ("", "")


def test_work_that_ends_well_is_no_death(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Incarnation(tmp_path).quarantine.handling("u", b"a"):
        pass
    record = Incarnation(tmp_path).quarantine.record("u", b"a")
    assert record is not None
    record.start()
    record.end()
    assert Incarnation(tmp_path).harness.sent(DiedOnInput) == []
    assert "died on" not in caplog.text


def test_a_step_of_a_task_that_does_not_end_is_a_death(tmp_path: Path) -> None:
    record = Incarnation(tmp_path).quarantine.record("u", b"a")
    assert record is not None
    record.start()
    assert Incarnation(tmp_path).harness.sent(DiedOnInput) == [DiedOnInput()]


def test_without_a_writable_directory_there_is_no_quarantine_and_the_work_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "quarantine").write_text("no directory")
    one = Incarnation(tmp_path)
    assert "there is no quarantine of reading" in caplog.text
    one.die_on("u", b"a")
    assert (one.quarantine.refusal("u", b"a"), one.quarantine.record("u", b"a")) == ("", None)


def test_a_pod_is_named_in_logs_as_far_as_it_can_be_read() -> None:
    assert label_of("u", b'{"metadata": {"name": "p", "namespace": "n"}}') == "pod n/p (u)"
    assert label_of("u", b'{"metadata": {"name": "p"}}') == "pod default/p (u)"
    assert label_of("u", b"{") == label_of("u", b'{"metadata": 1}') == "pod u"
