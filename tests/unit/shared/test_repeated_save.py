"""A file that is written on a change only is written again until that succeeds."""

import errno
import logging
from typing import Any

from actors.shared.repeated_save import RETRY_SECONDS, RepeatedSave


class FakeActor:
    def __init__(self):
        self.log = logging.getLogger("fake")
        self.timers = []

    def after(self, seconds, call):
        self.timers.append((seconds, call))

    def fire(self):
        (_, call), *self.timers = self.timers
        call()


class Disk:
    full = True
    writes = 0

    def write(self):
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.writes += 1


def test_a_failed_save_is_repeated_until_it_succeeds_with_one_warning(caplog):
    actor: Any = FakeActor()
    disk, late = Disk(), []
    save = RepeatedSave(actor, disk.write, "the file", lambda: late.append(disk.writes))
    assert not save()
    assert not save()
    assert [seconds for seconds, _ in actor.timers] == [RETRY_SECONDS]
    actor.fire()
    assert len(caplog.records) == 1
    assert (disk.writes, late) == (0, [])
    disk.full = False
    actor.fire()
    assert (disk.writes, late, actor.timers) == (1, [1], [])


def test_a_save_that_succeeded_meanwhile_is_not_repeated():
    actor: Any = FakeActor()
    disk = Disk()
    save = RepeatedSave(actor, disk.write, "the file")
    save()
    disk.full = False
    assert save()
    actor.fire()
    assert disk.writes == 1
