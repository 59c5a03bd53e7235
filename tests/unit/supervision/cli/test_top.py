"""`supervise top`: what its keys do, and what is shown on terminals of all sizes."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervision.cli.command import NOT_RUNNING, CommandError
from supervision.cli.top import Samples, TreeSample, page, rates, refreshed
from supervision.cli.top_frame import frame, rows
from supervision.cli.top_keys import FAULTS, KeyResult, TopView, fault_lines, keys_of, press, scrolled, selected
from supervision.protocol import ActorState, Inject, Tree

NAMES = ("root", "pleg", "pod_workers", "pod_workers/worker/0", "prober")


def actor(name: str, parent: str = "root", **changes: object) -> ActorState:
    fields: dict[str, object] = {"kind": "actor", "state": "running", "pid": 100 + len(name)}
    return ActorState(name=name, parent=parent, **(fields | changes))  # type: ignore[arg-type]


def tree(*actors: ActorState) -> Tree:
    return Tree(pid=7, uptime=5400, state="ready", actors=list(actors))


TREE = tree(
    actor("root", "fork_server", pid=10),
    actor("pleg", pid=11, memory_bytes=30 << 20, restarts=2, last_incident="crash", incident_age=5.0),
    actor("pod_workers", pid=12, memory_bytes=10 << 20),
    actor("pod_workers/worker/0", "pod_workers", pid=13, memory_bytes=20 << 20, mailbox=4),
    actor("prober", state="down", pid=0),
)


def rate(one: ActorState) -> tuple[float, float]:
    return one.pid / 10, one.pid / 100


FIRST = TopView()


def typed(text: str, view: TopView = FIRST) -> KeyResult:
    """The last outcome of these keys."""
    pressed = KeyResult(view)
    for key in keys_of(text):
        pressed = press(pressed.view, key, NAMES)
    return pressed


def shown(view: TopView, width: int = 120, height: int = 30) -> list[str]:
    lines, _ = frame(TREE, rows(TREE, rate, view), view, width, height)
    return ["".join(text for _, text in line).rstrip() for line in lines]


def test_the_first_figures_are_averages_since_the_start_of_each_process() -> None:
    first = Samples()
    sample = TreeSample(tree(actor("root", "fork_server", pid=10, handled=130, uptime=50.0)), 50.0)
    sample.cpu = {10: 5.0}
    first.add(sample)
    assert first.rate(sample.tree.actors[0]) == (10.0, 2.6)
    assert page(first)[3].split()[:5] == ["root", "10", "running", "10.0", "2.6"]


def test_without_keys_the_table_fits_a_narrow_terminal_and_names_what_it_left_out() -> None:
    samples = Samples()
    samples.add(TreeSample(tree(actor("root", "fork_server", pid=10, handled=130, uptime=50.0)), 50.0))
    lines = page(samples, 60)
    assert max(map(len, lines[2:])) <= 60
    assert lines[-1].startswith("not in 60 columns: OUT, ")
    assert "OUT" in page(samples)[2]


def test_rates_are_of_the_last_seconds() -> None:
    samples = Samples()
    for second in range(20):
        one = TreeSample(
            tree(actor("root", "fork_server", pid=10, handled=0 if second < 10 else 10 * (second - 9))), second
        )
        one.cpu = {10: 1.0 if second < 10 else 1.0 + 0.1 * (second - 9)}
        samples.add(one)
    cpu, messages = samples.rate(samples.tree.actors[0])
    assert (round(cpu), round(messages)) == (10, 10)


def test_a_process_that_is_gone_has_no_rate() -> None:
    old = TreeSample(tree(actor("root", "fork_server", pid=10)), 1.0)
    assert rates(old, TreeSample(tree(), 2.0), actor("root", pid=10)) == (0.0, 0.0)


def test_arrows_and_letters_are_distinguished() -> None:
    assert [*keys_of("j\x1b[A\x1b[5~\x1bOBé\r\x7f\x1b")] == [
        "j", "up", "pageup", "down", "é", "enter", "backspace", "escape",
    ]  # fmt: skip


def test_the_selected_row_moves_and_stays_within_the_rows() -> None:
    assert typed("jj").view.selected == "pod_workers"
    assert typed("G").view.selected == "prober"
    assert typed("Gj").view.selected == "prober"
    assert typed("jjk\x1b[5~").view.selected == "root"


def test_a_kill_needs_a_confirmation() -> None:
    asked = typed("jK")
    assert (asked.order, asked.view.mode) == (None, "question")
    assert "kill pleg? y: yes" in shown(asked.view)[-1]
    for other in ("n", "q", "\r", "\x1b", "K"):
        pressed = typed("jK" + other)
        assert (pressed.order, pressed.quit, pressed.view.mode) == (None, False, "table")
        assert typed("y", pressed.view).order is None
    yes = typed("jKy")
    assert yes.order == Inject(name="pleg", fault="crash")
    assert yes.view.mode == "table"


def test_the_question_is_about_the_row_that_was_selected_then() -> None:
    asked = typed("jK").view
    assert press(asked, "y", NAMES[::-1]).order == Inject(name="pleg", fault="crash")


@pytest.mark.parametrize("number", range(1, len(FAULTS) + 1))
def test_each_fault_is_injected_after_a_question(number: int) -> None:
    assert typed(f"i{number}").order is None
    order = typed(f"i{number}y").order
    assert order is not None
    assert (order.name, order.fault) == ("root", FAULTS[number - 1])
    assert typed(f"i{len(FAULTS) + 1}y").order is None


def test_the_order_follows_the_keys() -> None:
    by_cpu = typed("ss").view
    assert by_cpu.sort == "cpu"
    assert [row.actor.pid for row in rows(TREE, rate, by_cpu)] == [13, 12, 11, 10, 0]
    assert [row.actor.pid for row in rows(TREE, rate, typed("ssr").view)] == [0, 10, 11, 12, 13]
    assert "CPU%v" in shown(by_cpu)[1]
    by_name = rows(TREE, rate, typed("s").view)
    assert [row.label for row in by_name] == sorted(one.name for one in TREE.actors)
    assert typed("sS").view.sort == "tree"


def test_a_filter_leaves_whole_names() -> None:
    filtering = typed("/work").view
    assert [row.label for row in rows(TREE, rate, filtering)] == ["pod_workers", "pod_workers/worker/0"]
    assert shown(filtering)[-1] == "show names with: work_"
    assert typed("/workq\x7f\r").view.filter == "work", "q is a letter there"
    assert typed("/work\r\x1b").view.filter == ""
    assert len(rows(TREE, rate, typed("/zzz\r").view)) == 0
    assert press(TopView(), "K", []).view.mode == "table"


def test_the_last_line_says_which_rows_are_shown_and_what_the_filter_leaves_before_the_keys() -> None:
    assert shown(TopView(), 40, 6)[-1].startswith("1-3 of 5  q quit  h help")
    assert shown(typed("G").view, 40, 6)[-1].startswith("3-5 of 5  q quit")
    assert shown(typed("/work\r").view, 40, 10)[-1].startswith("names with work only  q quit")
    assert shown(TopView())[-1].startswith("q quit"), "all rows are there"


def test_q_quits_and_help_lists_the_keys() -> None:
    assert typed("q").quit
    assert any("kill the actor" in line for line in shown(typed("h").view))
    assert not typed("hx").quit


def test_narrow_terminals_keep_what_matters_most() -> None:
    assert shown(TopView())[1].split() == [
        "NAME", "PID", "STATE", "CPU%", "MSG/S", "MEMORY", "MAILBOX", "OUT", "UPTIME", "RESTARTS", "WORK",
    ]  # fmt: skip
    assert shown(TopView(), width=40)[1].split() == ["NAME", "STATE", "CPU%", "MEMORY"]


def test_actors_in_trouble_are_marked() -> None:
    lines, _ = frame(TREE, rows(TREE, rate, TopView(selected="root")), TopView(selected="root"), 120, 30)
    styles = [{style for style, _ in line} for line in lines]
    assert "chosen" in styles[2]
    assert "warning" in styles[3], "restarted a moment ago"
    assert "bad" in styles[6], "down"


def test_an_agent_that_does_not_answer_is_not_called_ready_and_one_that_answers_again_is() -> None:
    class Asked:
        def __init__(self, *answers: Tree | CommandError) -> None:
            self._answers = iter(answers)

        def tree(self, *, memory: bool) -> Tree:
            answer = next(self._answers)
            if isinstance(answer, CommandError):
                raise answer
            return answer

    samples = Samples()
    samples.add(TreeSample(TREE, 0.0))
    asked = Asked(CommandError(NOT_RUNNING, "no agent is running"), TREE)
    view = refreshed(asked, samples, TopView(notice="crash injected into a"))  # type: ignore[arg-type]
    (first, *_, last), _ = frame(TREE, [], msgspec.structs.replace(view, notice=""), 100, 20)
    assert first[0][1].startswith("no answer; ")
    assert last == [("warning", "no agent is running")]
    view = refreshed(asked, samples, view)  # type: ignore[arg-type]
    assert (view.silence, view.notice) == ("", "crash injected into a")
    assert frame(TREE, [], view, 100, 20)[0][0][0][1].startswith("actors ")


VIEWS = st.builds(
    TopView,
    mode=st.sampled_from(["table", "filter", "faults", "help"]),
    sort=st.sampled_from(["tree", "name", "cpu", "uptime"]),
    reverse=st.booleans(),
    filter=st.sampled_from(["", "pod", "zzz"]),
    selected=st.sampled_from(["", *NAMES, "gone"]),
    offset=st.integers(0, 50),
    notice=st.sampled_from(["", "done"]),
    silence=st.sampled_from(["", "no agent is running on /run/troupelet: start one"]),
)


@pytest.mark.parametrize(("width", "height"), [(60, 14), (40, 6), (200, 40)])
def test_faults_and_questions_are_read_to_their_end_on_every_terminal(width: int, height: int) -> None:
    for view, words in (
        (TopView(mode="faults"), [*fault_lines(), "Esc: none"]),
        (TopView(mode="question", order=Inject(name="api_clients/heartbeat_client", fault="slow")), ["key: no"]),
    ):
        lines, _ = frame(TREE, rows(TREE, rate, view), view, width, height)
        shown = " ".join("".join(text for _, text in line) for line in lines)
        assert all(word in shown for word in words), shown


@given(VIEWS, st.integers(1, 200), st.integers(1, 60))
def test_a_frame_fits_every_terminal(view: TopView, width: int, height: int) -> None:
    found = rows(TREE, rate, view)
    lines, after = frame(TREE, found, view, width, height)
    assert 1 <= len(lines) <= height
    assert all(sum(len(text) for _, text in line) <= width for line in lines)
    if found and height > 12:
        name = found[selected(after, [row.actor.name for row in found])].actor.name
        assert any(style == "chosen" and text for line in lines for style, text in line), name


@given(st.integers(0, 60), st.integers(1, 50), st.integers(0, 60), st.integers(1, 30))
def test_scrolling_keeps_the_selected_row_in_sight(offset: int, count: int, place: int, space: int) -> None:
    names = [f"a{number}" for number in range(count)]
    view = scrolled(TopView(offset=offset, selected=f"a{place}"), names, space)
    assert 0 <= view.offset <= selected(view, names) < view.offset + space
