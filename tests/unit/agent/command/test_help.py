"""Every command's --help: what it does, examples that are right, its exit codes; and what a wrong word gets."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator

import pytest

from actors.agent.run_once import ABOUT as RUN_ONCE
from actors.agent.subcommands import whole_parser
from actors.shared.config import commands as config
from actors.shared.config.flags.parsing import parse
from actors.shared.config.flags.usage import ending, help_text

OF_ITS_OWN = {"start", "run-once", "config"}
"""Commands that read their words themselves."""


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """All below it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                if name not in OF_ITS_OWN:
                    yield below
                    yield from parsers(below)


WIDTH = 80
"""Of a terminal that nobody has made wider."""
WHOLE = whole_parser(())
ALL = {parser.prog: parser for parser in parsers(WHOLE)}


def examples(text: str) -> list[str]:
    block = text.partition("Examples:\n\n")[2].partition("\n\n")[0]
    return [line.strip() for line in block.splitlines()]


def exit_codes(text: str) -> dict[int, str]:
    return {int(code): said for code, said in re.findall(r"^    (\d)  (.+)$", text.partition("Exit codes:")[2], re.M)}


def test_the_commands_are_there() -> None:
    assert {"supervise status", "supervise describe pod", "supervise policy check", "supervise man"} <= set(ALL)


@pytest.mark.parametrize("name", ALL)
def test_help_describes_the_command_with_examples_and_exit_codes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    parser = ALL[name]
    text = parser.format_help()
    assert (parser.description or "")[:1].isupper()
    assert {0, 2} <= set(exit_codes(text)), text
    shown = examples(text)
    assert shown, text
    assert [line for line in text.splitlines() if len(line) > WIDTH] == []


def test_the_list_of_commands_fits_an_ordinary_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    assert max(map(len, WHOLE.format_help().splitlines())) <= WIDTH


@pytest.mark.parametrize("name", ALL)
def test_each_example_is_a_command_that_is_understood(name: str) -> None:
    for line in examples(ALL[name].format_help()):
        words = shlex.split(line, comments=True)
        if words[0] == "supervise":
            until = next((at for at, word in enumerate(words) if word.startswith(("|", ">"))), len(words))
            WHOLE.parse_args(words[1:until])


@pytest.mark.parametrize("about", [config.ABOUT, RUN_ONCE, ending(), ending("kubelet")])
def test_commands_with_the_flags_of_the_start_have_both_too(about: str) -> None:
    assert {0, 1} <= set(exit_codes(about))
    assert examples(about)
    assert [line for line in about.splitlines() if len(line) > WIDTH and line.strip() not in examples(about)] == []
    for line in examples(about):
        flags = [word for word in shlex.split(line) if word.startswith("--") and not word.startswith("--timeout")]
        if "explain" not in line:
            assert not parse(flags).problems, line


def test_the_help_of_the_start_has_both_before_its_many_flags() -> None:
    text = help_text("kubelet")
    assert text.startswith("Usage: kubelet [flags]\n")
    assert 0 < text.index(ending("kubelet")) < text.index("General:")


@pytest.mark.parametrize("command", ["reset", "doctor"])
def test_a_word_before_the_flags_of_start_is_refused(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = WHOLE.parse_args([command, "web"])
    assert arguments.execute(arguments) == 2
    text = f"supervise: {command} takes no web; options come first, and flags of start after --\n"
    assert capsys.readouterr().err.endswith(text)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("status --outpt json", "supervise status: there is no option --outpt, did you mean --output?"),
        ("status -o wide", "supervise status: -o/--output: wide is none of text, json, yaml"),
        ("inject pleg", "supervise inject: FAULT is missing: crash, exit, exception, hang, stop, leak, slow, drop\n"),
        ("inject", "supervise inject: ACTOR is missing; FAULT is missing: crash, exit,"),
        ("completion", "supervise completion: SHELL is missing: bash, zsh, fish\n"),
        ("manifest", "supervise manifest: COMMAND is missing: check\n"),
        ("man", "supervise man: DIR is missing\n"),
        ("inject pleg crsh", "supervise inject: FAULT: crsh is none of crash, exit, exception, hang, stop, leak, slow"),
        ("inject pleg slow --rate abc", "supervise inject: --rate: abc is no number"),
        ("policy chek", "did you mean check?"),
        ("logs pleg --level -1", "supervise logs: --level: -1 is negative"),
        ("logs web -n Shop!", "supervise logs: -n/--lines: Shop! is neither a whole number nor a namespace"),
        ("pods -o jsonpath={.items}", "-o json, and jq"),
        ("pods -o custom-columns=A:.b", "-o json, and jq"),
        (
            "doctor --config=x",
            "supervise doctor: there is no option --config; flags of start follow --: `supervise doctor -- --config=x`",
        ),
        ("reset --config x", "`supervise reset -- --config x`"),
        ("top -n abc", "supervise top: -n/--count: abc is no whole number"),
        ("policy show pleg extra", "supervise policy show: extra: one argument too many"),
        ("describe pod web db", "supervise describe pod: db: one argument too many"),
    ],
)
def test_a_wrong_word_is_named_with_the_way_out(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        WHOLE.parse_args(words.split())
    text = capsys.readouterr().err
    assert ended.value.code == 2
    assert said in text
    assert re.search(r"\n  see `supervise [a-z ]+ --help`\n$", text)
    assert len(text.splitlines()) == 2
