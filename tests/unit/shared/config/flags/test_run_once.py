"""The flags that `run-once` adds: nobody has typed them."""

from __future__ import annotations

from actors.shared.config.flags.parsing import parse
from actors.shared.config.flags.run_once import RUN_ONCE_FLAGS, given_flags


def test_the_flags_of_the_last_start_are_those_that_its_user_gave_to_run_once_too() -> None:
    assert given_flags(["--max-pods=5", *RUN_ONCE_FLAGS]) == ["--max-pods=5"]
    assert given_flags(["--enable-server=false"]) == ["--enable-server=false"]


def test_the_user_of_run_once_is_not_told_that_flags_which_it_adds_are_deprecated() -> None:
    assert parse(RUN_ONCE_FLAGS).warnings == []
    (warning,) = parse(["--max-pods=5", *RUN_ONCE_FLAGS]).warnings
    assert warning.endswith(": --max-pods")
    assert [one for one in parse(["--enable-server=false"]).warnings if "--enable-server" in one]
