"""The options of `supervise run-once` that are not flags of start."""

from __future__ import annotations

import pytest

from actors.agent.run_once import TIMEOUT_SECONDS, _options, run


@pytest.mark.parametrize("words", [["--timeout=60", "-o", "json"], ["--timeout", "60", "-ojson"]])
def test_they_are_taken_with_a_space_or_an_equals_sign(words: list[str]) -> None:
    assert _options([*words, "--port=0"]) == (60.0, True, ["--port=0"])
    assert _options(["--port=0"]) == (TIMEOUT_SECONDS, False, ["--port=0"])


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--timeout", "soon"], "--timeout = soon: must be a number of seconds above 0"),
        (["--timeout=-1"], "--timeout = -1: must be a number of seconds above 0"),
        (["-o", "yaml"], "--output = yaml: must be text or json"),
    ],
)
def test_a_wrong_value_is_one_clear_error(words: list[str], error: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 1
    assert capsys.readouterr().err == f"error: {error}\n"
