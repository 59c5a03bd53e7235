"""The options that `pods`, `describe pod` and `events` have in common."""

from __future__ import annotations

import pytest

from actors.agent.subcommands import parser_of


@pytest.mark.parametrize("command", [["pods"], ["events"], ["describe", "pod"]])
def test_a_number_after_n_is_no_namespace_and_the_error_says_how_to_get_the_last_lines(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parser_of(command)[0].parse_args([*command, "-n", "3"])
    assert ended.value.code == 2
    assert f"`supervise {' '.join(command)} | tail -n 3`" in " ".join(capsys.readouterr().err.split())


def test_a_namespace_of_digits_can_be_named() -> None:
    parser = parser_of(["events"])[0]
    assert parser.parse_args(["events", "--namespace", "3"]).namespace == "3"
    assert parser.parse_args(["events", "-n", "shop"]).namespace == "shop"
