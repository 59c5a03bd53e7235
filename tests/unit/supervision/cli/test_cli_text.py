from __future__ import annotations

import msgspec
import pytest

from supervision.cli.health import TreeHealth
from supervision.cli.logs import of_actor
from supervision.cli.status import text
from supervision.cli.text import (
    branches,
    duration,
    folded,
    narrow_table,
    plain,
    size,
    table,
    table_with_texts,
    wrapped,
)  # fmt: skip
from supervision.cli.tree import headline, row
from supervision.protocol import ActorState, Tree, Trouble


def actor(name: str, parent: str, **changes: object) -> ActorState:
    fields: dict[str, object] = {"kind": "actor", "state": "running"}
    return ActorState(name=name, parent=parent, **(fields | changes))  # type: ignore[arg-type]


TREE = [
    actor("root", "fork_server"),
    actor("pleg", "root"),
    actor("pod_workers", "root"),
    actor("pod_workers/worker/0", "pod_workers"),
    actor("pod_workers/worker/1", "pod_workers"),
    actor("prober", "root"),
]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0124, "12ms"),
        (4.25, "4.2s"),
        (42, "42s"),
        (60, "1m"),
        (302, "5m2s"),
        (3600, "1h"),
        (3723, "1h2m"),
        (273_600, "3d4h"),
    ],
)
def test_a_duration_has_two_units_at_most(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_missing_value_is_a_dash_and_a_size_is_in_mebibytes() -> None:
    assert [size(0), size(5_242_880)] == ["-", "5.0M"]


def test_a_table_is_as_wide_as_it_must_be() -> None:
    assert table(("A", "LONG", "END"), [("aaa", "b", "c")]) == ["A    LONG  END", "aaa  b     c"]


def test_the_tree_is_drawn_with_what_a_name_adds_to_its_supervisors() -> None:
    assert [name for name, _ in branches(TREE)] == [
        "root",
        "├─ pleg",
        "├─ pod_workers",
        "│  ├─ worker/0",
        "│  └─ worker/1",
        "└─ prober",
    ]


def tree(*actors: ActorState) -> Tree:
    return Tree(pid=7, uptime=5400, state="degraded", actors=list(actors))


def test_the_headline_counts_who_is_in_service() -> None:
    found = headline(tree(*TREE, actor("late", "root", state="starting", memory_bytes=1048576)))
    assert found == "actors degraded: 6 of 7 actors in service, 1.0M in all, fork server pid 7, up 1h30m"


def test_the_headline_of_a_narrow_terminal_is_folded_between_words() -> None:
    found = text(TreeHealth("ready", []), tree(*TREE), columns=60)
    assert found.splitlines() == [
        "ready: 6 of 6 actors in service, - in all, fork server pid",
        "  7, up 1h30m",
    ]


LINES = [
    'I1120 20:07:50.000000    1234 a.py:1] "one" logger="pleg"\n',
    'E1120 20:07:50.000000    1234 a.py:1] "two" logger="pod_workers/worker/0"\n',
    "Traceback (most recent call last):\n",
    "ValueError: x\n",
    '{"ts":1,"msg":"three","logger":"pod_workers"}\n',
    'I1120 20:07:50.000000    1234 a.py:1] "four" logger="pod_workers_other"\n',
]


def test_a_traceback_belongs_to_the_line_before_it_and_a_supervisor_has_those_below_it() -> None:
    assert [line.split()[-1] for line in of_actor(LINES, "pod_workers/worker/0")] == [
        'logger="pod_workers/worker/0"',
        "last):",
        "x",
    ]
    assert len(list(of_actor(LINES, "pod_workers"))) == 4
    assert len(list(of_actor(LINES, "pleg"))) == 1
    assert list(of_actor(LINES, "root")) == list(of_actor(LINES, ""))
    assert len(list(of_actor(LINES, ""))) == len(LINES)


def test_the_rows_of_a_table_that_follows_stay_below_its_header() -> None:
    widths: list[int] = []
    assert table(("NAME", "AGE"), [("a-long-name", "1s")], widths)[0] == "NAME         AGE"
    assert table(("NAME", "AGE"), [("short", "2s")], widths)[1] == "short        2s"


def test_sentences_stand_below_their_rows_where_a_terminal_is_narrow() -> None:
    header, rows = ("TYPE", "MESSAGE"), [("Warning", "it does not answer, and nobody knows why"), ("Normal", "-")]
    assert table_with_texts(header, rows, 0) == [[line] for line in table(header, rows)]
    assert table_with_texts(header, rows, 100) == table_with_texts(header, rows, 0)
    assert table_with_texts(header, rows, 40) == [
        ["TYPE"],
        ["Warning", "    it does not answer, and nobody knows", "    why"],
        ["Normal"],
    ]


def test_rows_for_which_a_terminal_has_no_room_are_folded() -> None:
    header, rows = (
        ("AGE", "REASON", "OBJECT", "MESSAGE"),
        [("2m (x3 over 9m)", "Pulled", "pod/shop/web-123", "is")],
    )
    assert table_with_texts(header, rows, 40) == [
        ["AGE  REASON  OBJECT"],
        ["2m (x3 over 9m)  Pulled", "  pod/shop/web-123", "    is"],
    ]


def test_a_sentence_is_broken_between_words_only() -> None:
    assert wrapped("one /a/very-long/path/that/no/terminal/has/the/room/for two", 40, "  ", "- ") == [
        "- one",
        "  /a/very-long/path/that/no/terminal/has/the/room/for",
        "  two",
    ]
    assert wrapped("as it is", 0, "  ", "- ") == ["- as it is"]


def test_a_command_between_backticks_is_not_broken_so_that_it_can_be_copied() -> None:
    text = "no agent is running: start one with `supervise start --config=/etc/troupelet/config.yaml`, or ask"
    assert wrapped(text, 40, "  ", "") == [
        "no agent is running: start one with",
        "  `supervise start --config=/etc/troupelet/config.yaml`,",
        "  or ask",
    ]


def test_control_characters_of_a_pods_output_are_escaped() -> None:
    assert plain("a\tb\n\x1b]52;c;cm0K\x07\x7f\x9b2J\r") == "a\tb\n^[]52;c;cm0K^G^?\\x9b2J^M"


def test_a_table_that_is_too_wide_loses_optional_columns_and_names_them() -> None:
    header, rows = ("NAME", "PID", "STATE", "UPTIME"), [("pleg", "123456", "running", "4m16s")]
    assert narrow_table(header, rows, 0, ("UPTIME", "PID")) == table(header, rows)
    assert narrow_table(header, rows, 29, ("UPTIME", "PID")) == table(header, rows)
    fewer = ["NAME  PID     STATE", "pleg  123456  running", "not in 28 columns: UPTIME"]
    assert narrow_table(header, rows, 28, ("UPTIME", "PID")) == fewer
    least = ["NAME  STATE", "pleg  running", "not in 5 columns: UPTIME, PID"]
    assert narrow_table(header, rows, 5, ("UPTIME", "PID")) == least, "the others stay, however narrow it is"


def test_the_tree_does_not_call_the_node_ready_and_names_silent_actors() -> None:
    def of(one: ActorState) -> Tree:
        return Tree(pid=7, uptime=5400, state="ready", actors=[one])

    well = actor("prober", "root", pid=5, uptime=900.0)
    silent = actor("prober", "root", pid=5, uptime=900.0, heartbeat_age=7.4)
    assert headline(of(well)).startswith("actors ready: 1 of 1 ")
    assert headline(of(well), {5}).startswith("actors degraded: ")
    assert headline(of(silent)).startswith("actors degraded: ")
    outside = msgspec.structs.replace(of(well), troubles=[Trouble("container runtime", "does not answer", 7.0, "pleg")])
    assert headline(outside).startswith("actors ready: ")
    assert row("prober", silent)[2] == "running (silent 7.4s)"
    assert row("prober", well)[2] == "running"
    assert row("prober", silent, {5})[2] == "running (stopped)"


def test_spare_columns_of_a_table_with_sentences_are_left_out_only_where_the_rest_does_not_fit() -> None:
    header, rows = ("NAME", "UPTIME", "CAUSE"), [("container_runtime/a", "3d4h", "it ended by itself")]
    assert table_with_texts(header, rows, 40, spare=("UPTIME",))[1][0] == "container_runtime/a  3d4h"
    assert table_with_texts(header, rows, 22, spare=("UPTIME",))[1][0] == "container_runtime/a"


def test_a_help_is_wrapped_behind_its_labels_and_keeps_its_examples() -> None:
    text = "Some words of which there are more than forty\nletters.\n\n"
    text += "    supervise logs pod_workers/worker/0 --since 1h30m\n"
    text += "    1  some words that are more than forty\n       letters\n  rule:    some words that are more than forty"
    assert folded(text, 40).splitlines() == [
        "Some words of which there are more than",
        "forty letters.",
        "",
        "    supervise logs pod_workers/worker/0 --since 1h30m",
        "    1  some words that are more than",
        "       forty letters",
        "  rule:    some words that are more than",
        "           forty",
    ]
    assert folded(text, 0) == text
