"""The manual pages: all that --help says, without a complaint of the formatter."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from actors.agent import command, manual, subcommands
from actors.shared.config.flags.flag_table import FLAGS


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return manual.pages(subcommands.parser_of([], manual.WITH_FLAGS)[0])


def shown(text: str) -> str:
    """The page as its reader sees it, without its escapes."""
    return text.replace("\\-", "-").replace("\\&", "").replace("\\e", "\\")


def test_each_command_has_a_page_and_is_in_that_of_the_program(pages) -> None:
    _, commands = subcommands.parser_of([])
    assert set(pages) == {"supervise", *(f"supervise-{name}" for name in commands)}
    for name in commands:
        assert f"\\fB{manual.escaped(name)}\\fR" in pages["supervise"]


def test_the_page_of_the_start_has_every_flag(pages) -> None:
    page = shown(pages["supervise-start"])
    assert [name for name in FLAGS if not re.search(rf"--{re.escape(name)}\b", page)] == []


def test_no_page_names_the_build_directory(pages) -> None:
    assert [name for name, page in pages.items() if str(Path(command.__file__).parents[2]) in shown(page)] == []


def test_no_page_names_the_root_directory_of_the_shell_that_made_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TROUPELET_ROOT_DIR", "/srv/mine")
    made = manual.pages(subcommands.whole_parser(manual.WITH_FLAGS))
    assert [name for name, page in made.items() if "/srv/mine" in page] == []
    assert "(default: /var/lib/kubelet)" in shown(made["supervise-status"])


def test_exit_codes_keep_their_lines_and_subcommands_have_theirs(pages) -> None:
    assert "\n    3  down: no agent runs there, or its root supervisor is stopped or\n       hangs\n" in shown(
        pages["supervise-status"]
    )
    assert "supervise policy check" in shown(pages["supervise-policy"])
    assert "--timeout=SECONDS" in shown(pages["supervise-run-once"])


def test_a_page_is_the_same_whatever_the_terminal_of_its_maker(pages, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert manual.pages(subcommands.parser_of([], manual.WITH_FLAGS)[0]) == pages


def test_lines_whose_breaks_are_kept_fit_80_columns_but_for_examples(pages) -> None:
    blocks = [part for page in pages.values() for part in re.findall(r"\.nf\n(.*?)\.fi", page, re.S)]
    wide = [line for block in blocks for line in shown(block).split("\n") if len(line) > 72]
    whole = (
        "    supervise ",
        "                [--authorization-webhook-cache-",
    )  # an example, an option with its value
    assert [line for line in wide if not line.startswith(whole)] == []


def test_the_page_of_top_has_its_keys(pages) -> None:
    assert "    i                inject a fault, after a question\n" in shown(pages["supervise-top"])


def test_a_line_that_begins_with_a_dot_is_text() -> None:
    assert manual.escaped(".hidden\n'quoted \\ é") == "\\&.hidden\n\\&'quoted \\e \\[u00E9]"


@pytest.mark.skipif(not shutil.which("groff"), reason="no groff")
def test_the_formatter_prints_no_warning(pages, tmp_path: Path) -> None:
    for name, text in pages.items():
        (tmp_path / name).write_text(text)
    done = subprocess.run(
        ["groff", "-man", "-ww", "-Tutf8", "-z", *sorted(map(str, tmp_path.iterdir()))],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_pages_are_written_to_the_given_directory_or_its_error_is_reported(tmp_path: Path, capsys) -> None:
    assert command.main(["man", str(tmp_path / "man8")]) == 0
    assert (tmp_path / "man8" / "supervise-tree.8").read_text().startswith('.TH "SUPERVISE\\-TREE" 8')
    (tmp_path / "file").touch()
    assert command.main(["man", str(tmp_path / "file" / "below")]) == 4
    assert "cannot be written" in capsys.readouterr().err


def test_a_page_of_a_parser_of_another_program_is_complete() -> None:
    parser = argparse.ArgumentParser(prog="tool", description="Does 100%% of it.")
    parser.add_argument("--hidden", help=argparse.SUPPRESS)
    parser.add_argument("--seen", metavar="N", default=3, help="how many (default: %(default)s)")
    page = shown(manual.pages(parser)["tool"])
    assert "Does 100% of it." in page
    assert "--seen N\\fR\nhow many (default: 3)" in page
    assert ".SH OPTIONS" in page
