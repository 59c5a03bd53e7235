"""Which numbers the options take: none that a clock, a list or a message does not take."""

from __future__ import annotations

import argparse

import pytest

from supervision.cli.argument_types import MOST, count, positive, since
from supervision.cli.parser import CommandParser

HUGE = "9" * 21


@pytest.mark.parametrize(
    ("kind", "text"), [(positive, HUGE), (positive, "1e300"), (count, HUGE), (since, f"{HUGE}h"), (since, "9999999h")]
)
def test_a_number_of_any_size_is_refused_by_its_bound(kind: object, text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=f"{text} is more than {MOST}"):
        kind(text)  # type: ignore[operator]


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "-inf"])
def test_a_time_is_above_zero_and_finite(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not above zero"):
        positive(text)


def test_what_is_within_the_bounds_is_taken() -> None:
    assert (positive("0.5"), positive(str(MOST)), count("0"), count(str(MOST)), since("1h30m")) == (
        0.5, MOST, 0, MOST, 5400.0,
    )  # fmt: skip


def test_a_fault_at_a_rate_of_zero_is_not_one_at_the_default_rate(capsys: pytest.CaptureFixture[str]) -> None:
    from supervision.cli.subcommand import CommandSettings
    from supervision.cli.subcommands import register

    parser = CommandParser(prog="x")
    register(parser.add_subparsers(), CommandSettings())
    with pytest.raises(SystemExit):
        parser.parse_args(["inject", "pleg", "slow", "--rate", "0"])
    assert "0 is not above zero" in capsys.readouterr().err
