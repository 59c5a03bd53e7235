"""The command line without an agent: usage, help, and what can be done all the same."""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from supervision.cli import stop
from supervision.cli.agent_files import AgentFiles, LastStart
from supervision.cli.argument_types import since
from supervision.cli.command import NO_ANSWER, OK, REFUSED, Context, OtherVersionError, like
from supervision.cli.incidents import lines
from supervision.cli.text import branches
from supervision.cli.tree import chosen
from supervision.errors import OtherVersion
from supervision.incidents.incident import Incident
from supervision.incidents.incident_file import Incidents
from supervision.incidents.spare_incidents import SPARE_NAME
from supervision.process_messages import Exited
from supervision.protocol import FORK_SERVER, ActorState, Done, Tree

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[4]
COMMANDS = ["stop", "status", "tree", "top", "incidents", "logs", "inject", "policy show", "policy check"]


def supervise(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.support.supervise_command", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, cwd=ROOT, check=False)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_names_the_options_and_the_exit_codes(command: str) -> None:
    done = supervise(*command.split(), "--help")
    assert done.returncode == 0
    assert ("--root-dir" in done.stdout) == (command != "policy check"), "that one asks no agent"
    assert "-o {text," in done.stdout
    assert "json,yaml}" in done.stdout
    assert "2  the command line is wrong" in done.stdout
    assert ("no agent runs there" in done.stdout) == (command != "policy check")


@pytest.mark.parametrize(
    "command", ["stop", "status", "tree", "top -n 1", "logs", "logs a --level 2", "inject a crash", "policy show"]
)
def test_a_command_without_an_agent_names_the_command_that_starts_one(command: str, tmp_path: Path) -> None:
    done = supervise(*command.split(), "--root-dir", str(tmp_path))
    assert done.returncode == 3
    text = done.stderr + done.stdout
    assert f"no agent is running on {tmp_path}/run: start one with `supervise start --root-dir {tmp_path}`" in text
    assert "Traceback" not in text


def test_the_start_that_is_advised_has_the_flags_of_the_last_one(tmp_path: Path) -> None:
    def advised(flags: tuple[str, ...], run_dir: str = "") -> str:
        files = AgentFiles(tmp_path, tmp_path, last_start=lambda: LastStart(flags, "", ""))
        arguments = argparse.Namespace(root_dir="/a b", run_dir=run_dir, output="text")
        return Context(arguments, lambda _: files).start_words()

    assert advised(()) == "--root-dir '/a b'"
    assert advised(("--config=/c", "--root-dir=/a b")) == "--config=/c '--root-dir=/a b'"
    assert advised(("--config=/c",)) == "--config=/c --root-dir '/a b'"
    assert advised(("--config=/c",), "/run/x") == "--run-dir /run/x"


def test_an_agent_of_another_version_is_restarted_by_its_service_or_by_its_last_flags(tmp_path: Path) -> None:
    def advised(unit: str) -> str:
        files = AgentFiles(tmp_path, tmp_path, last_start=lambda: LastStart(("--v=2",), "", ""), unit=lambda pid: unit)
        arguments = argparse.Namespace(root_dir="/a", run_dir="", output="text")
        return str(Context(arguments, lambda _: files)._no_answer("pleg", OtherVersion("pleg is old")))

    begin = "pleg is old; restart the agent, pods keep running: "
    assert advised("kubelet.service") == f"{begin}`systemctl restart kubelet.service`"
    assert advised("") == f"{begin}`supervise stop --root-dir /a && supervise start --v=2 --root-dir /a`"


def test_an_agent_of_another_version_is_stopped_by_the_pid_in_its_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its tree cannot be read, but the order can be given: otherwise the advice to restart it could not be followed."""

    class Old(Context):
        shown = ""

        def tree(self, *, memory: bool = False) -> Tree:
            raise OtherVersionError(NO_ANSWER, "it runs another version")

        def ask(self, question: Any, reply: Any, name: str = "", timeout: float = 0.0) -> Any:
            return Done("")

        def fork_server_pid(self) -> int:
            return 2**22 + 1

        def show(self, data: Any, text: str) -> None:
            self.shown = text

    arguments = argparse.Namespace(root_dir="/a", run_dir="", output="text", no_wait=False, wait=1.0)
    context = Old(arguments, lambda _: AgentFiles(Path(), Path()))
    assert stop.run(context) == OK
    assert context.shown.startswith("stopped after")
    monkeypatch.setattr(Old, "fork_server_pid", lambda self: 0)
    with pytest.raises(OtherVersionError):
        stop.run(context)


def test_an_actor_is_shown_with_those_below_it_and_without_its_supervisor() -> None:
    def actor(name: str, parent: str) -> ActorState:
        return ActorState(name=name, parent=parent, kind="actor", state="running", pid=5)

    actors = [
        actor("root", FORK_SERVER),
        actor("a", "root"),
        actor("a/b", "a"),
        actor("a/b/c", "a/b"),
        actor("d", "root"),
    ]
    tree = Tree(pid=1, uptime=1.0, state="ready", actors=actors)
    below, top = chosen(tree, "a/b")
    assert ([one.name for one in below], top) == (["a/b", "a/b/c"], "a")
    assert [drawn for drawn, _ in branches(below, top)] == ["a/b", "└─ c"]
    assert chosen(tree, "root") == (actors, FORK_SERVER)


def test_without_an_agent_json_is_json(tmp_path: Path) -> None:
    done = supervise("tree", "-o", "json", "--root-dir", str(tmp_path))
    assert json.loads(done.stdout)["code"] == 3
    done = supervise("status", "-o", "json", "--root-dir", str(tmp_path))
    assert json.loads(done.stdout)["state"] == "down"


def test_a_cause_that_a_narrow_terminal_has_no_room_for_is_below_its_incident() -> None:
    incident = Incident(
        time="2026-11-26T17:53:40.677Z", actor="pleg", incarnation=1, pid=5, cause="exception",
        detail=f"Traceback\nx {'y ' * 40}",
    )  # fmt: skip
    assert len(lines([incident], 0, full=False)) == 2
    (header, row, *cause), traceback = lines([incident], 80, full=True)[:-2], lines([incident], 80, full=True)[-2:]
    assert header.split() == ["TIME", "ACTOR", "WORK", "UPTIME", "BACK", "AFTER"]
    assert row.startswith("2026-11-26T17:53:40.677Z  pleg#1")
    assert cause[0].startswith("    exception: x y y y")
    assert traceback[0] == "    Traceback"
    assert max(map(len, (header, row, *cause))) <= 80


def test_incidents_leave_out_figures_for_which_a_narrow_terminal_has_no_room() -> None:
    incident = Incident(time="2026-11-26T17:53:40.677Z", actor="pleg", incarnation=1, pid=5, cause="hang")
    header, row, cause = lines([incident], 50, full=False)
    assert header.split() == ["TIME", "ACTOR", "BACK", "AFTER"]
    assert (row.split()[:2], cause.split()[0]) == (["2026-11-26T17:53:40.677Z", "pleg#1"], "hang")
    assert max(map(len, (header, row))) <= 50


def test_rows_that_follow_stay_below_the_header_where_a_terminal_is_narrow() -> None:
    def incident(actor: str, cause: Any) -> Incident:
        return Incident(
            time="2026-11-26T17:53:40.677Z", actor=actor, incarnation=1, pid=5, cause=cause, uptime_seconds=3
        )

    widths: list[int] = []
    header, first, _ = lines([incident("http_servers/node_server", "start_timeout")], 80, widths, full=False)
    again, second, cause = lines([incident("pleg", "hang")], 80, widths, full=False)
    assert again == header
    assert second.index("3.0s") == first.index("3.0s") == header.index("UPTIME")
    assert cause == "    hang"


def test_incidents_are_shown_without_an_agent(tmp_path: Path) -> None:
    incidents = Incidents(tmp_path / "incidents.jsonl")
    incidents.opened(Exited("pleg", 1, 5, 9, "signal", uptime=3))
    incidents.opened(Exited("pod_workers/worker/0", 1, 5, 70 << 8, "exception", "m.Sync", "Traceback\nKeyError: 'x'"))
    with (tmp_path / "incidents.jsonl").open("a") as file:
        file.write("{damaged\n")
    done = supervise("incidents", "--root-dir", str(tmp_path))
    assert done.returncode == 0
    assert "1 damaged lines" in done.stderr
    assert "signal SIGKILL" in done.stdout
    assert "exception: KeyError: 'x'" in done.stdout
    only = json.loads(supervise("incidents", "pod_workers", "-o", "json", "--root-dir", str(tmp_path)).stdout)
    assert [incident["actor"] for incident in only] == ["pod_workers/worker/0"]
    assert "    KeyError: 'x'" in supervise("incidents", "--full", "--root-dir", str(tmp_path)).stdout


def test_incidents_that_an_agent_could_not_write_are_shown_after_its_end(tmp_path: Path) -> None:
    (tmp_path / "incidents.jsonl").symlink_to(tmp_path / "none" / "file")
    Incidents(tmp_path / "incidents.jsonl", spare=tmp_path / SPARE_NAME).opened(Exited("pleg", 1, 5, 9, "signal"))
    shown = supervise("incidents", "-o", "json", "--root-dir", str(tmp_path), "--run-dir", str(tmp_path))
    assert [incident["actor"] for incident in json.loads(shown.stdout)] == ["pleg"]


@pytest.mark.parametrize("form", ["text", "json", "yaml"])
def test_a_follower_of_incidents_gets_those_there_are_and_each_that_comes_of_its_actor(
    tmp_path: Path, form: str
) -> None:
    incidents = Incidents(tmp_path / "incidents.jsonl")
    incidents.opened(Exited("pleg", 1, 5, 9, "signal", uptime=3))
    words = ["incidents", "pleg", "-f", "-o", form, "--root-dir", str(tmp_path)]
    command = [sys.executable, "-m", "tests.support.supervise_command", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as follower:
        assert follower.stdout is not None
        first = next(line for line in follower.stdout if "SIGKILL" in line)
        incidents.opened(Exited("prober", 1, 5, 9, "signal"))
        incidents.opened(Exited("pleg", 2, 6, 11, "signal", uptime=3))
        lines = [next(follower.stdout)]
        while "SIGSEGV" not in lines[-1]:
            lines.append(next(follower.stdout))
        follower.send_signal(signal.SIGINT)
        assert follower.wait(5) == 130
    assert not any("prober" in line or line == first for line in lines)
    if form == "text":
        assert (len(lines), lines[0].index("pleg#2")) == (1, first.index("pleg#1"))


def test_a_document_can_be_yaml(tmp_path: Path) -> None:
    done = supervise("status", "-o", "yaml", "--root-dir", str(tmp_path))
    assert done.stdout.startswith("state: down\nreasons:\n- ")
    done = supervise("tree", "-o", "yaml", "--root-dir", str(tmp_path))
    assert done.stdout.startswith("error: 'no agent is running")
    assert done.stdout.endswith("code: 3\n")


def test_a_file_that_is_too_large_to_be_the_agents_own_is_refused_with_a_remedy(tmp_path: Path) -> None:
    with (tmp_path / "incidents.jsonl").open("wb") as file:
        file.truncate(65 << 20)
    done = supervise("incidents", "--root-dir", str(tmp_path))
    assert done.returncode == REFUSED
    assert "the agent keeps at most 1 MiB in it, so move away" in done.stderr


def test_no_incidents_are_reported_in_words_and_as_an_empty_list(tmp_path: Path) -> None:
    assert supervise("incidents", "--root-dir", str(tmp_path)).stdout.startswith("no incidents in")
    assert supervise("incidents", "pleg", "--root-dir", str(tmp_path)).stdout.startswith("no incidents of pleg in")
    assert json.loads(supervise("incidents", "-o", "json", "--root-dir", str(tmp_path)).stdout) == []


def test_policy_check_shows_what_each_actor_gets_or_all_that_is_wrong(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text("version: 1\nactors:\n  group/*: {memory_mib: 77}\n  late: {memory_mib: 20}\n")
    bad.write_text("version: 1\nactors:\n  grup: {memory_mib: 77}\n  a: {restart: always}\n")
    done = supervise("policy", "check", str(good))
    assert done.returncode == 0
    assert "77M" in next(line for line in done.stdout.splitlines() if line.startswith("group/x"))
    assert (
        json.loads(supervise("policy", "check", "-o", "json", str(good)).stdout)["policies"]["group/x"]["memory_mib"]
        == 77
    )
    done = supervise("policy", "check", str(bad))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        f"{bad}:3: actors.grup: matches no actor of the tree, did you mean group?",
        f"{bad}:4: actors.a.restart: must be one of permanent, transient, temporary, not 'always'",
    ]
    problems = json.loads(supervise("policy", "check", "-o", "json", str(bad)).stdout)["problems"]
    assert [(problem["line"], problem["path"]) for problem in problems] == [(3, "actors.grup"), (4, "actors.a.restart")]


@pytest.mark.parametrize(
    "command", ["inject a", "inject a explode", "top -d 0", "incidents -n -2", "tree -o xml", "nothing", ""]
)
def test_a_wrong_command_line_is_exit_code_two(command: str) -> None:
    assert supervise(*command.split()).returncode == 2


def test_a_fault_with_an_option_that_is_not_its_own_names_the_option() -> None:
    assert supervise("inject", "a", "crash", "--seconds", "3").stderr == "supervise: --seconds: crash does not last\n"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--since", "-5s"), "-5s is negative: it is the age of the oldest line to show, as 90s, 5m or 1h30m"),
        (("--since=-5s",), "-5s is negative: it is the age of the oldest line to show, as 90s, 5m or 1h30m"),
        (("--since=5",), "5 has no unit: it is the age of the oldest line to show, as 90s, 5m or 1h30m"),
        (("--since=5x",), "5x is no duration: it is the age of the oldest line to show, as 90s, 5m or 1h30m"),
        (("--since",), "it needs a value"),
        (("--since", "--follow"), "it needs a value"),
    ],
)
def test_an_age_that_is_none_is_answered_in_plain_words(words: tuple[str, ...], error: str) -> None:
    done = supervise("logs", *words)
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, f"supervise logs: --since: {error}")


@pytest.mark.parametrize(
    ("text", "seconds"), [("0", 0), ("90s", 90), ("1h30m", 5400), ("1.5h", 5400), ("500ms", 0.5), ("1m0.5s", 60.5)]
)
def test_an_age_is_written_as_kubectl_writes_durations(text: str, seconds: float) -> None:
    assert since(text) == seconds


def test_nothing_heavy_is_imported() -> None:
    code = "import sys, tests.support.supervise_command; print(*sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, cwd=ROOT, check=True
    )
    heavy = {
        "asyncio",
        "thespian",
        "grpc",
        "kubernetes",
        "yaml",
        "tornado",
        "psutil",
        "logging",
        "prometheus_client",
        "ssl",
    }
    assert heavy & set(done.stdout.split()) == set()


def test_a_reader_that_stops_reading_is_not_an_error(tmp_path: Path) -> None:
    incidents = Incidents(tmp_path / "incidents.jsonl", max_bytes=10_000_000)
    for number in range(1, 2000):
        incidents.opened(Exited("pleg", number, 5, 9, "signal", detail="x" * 200))
    command = f"{sys.executable} -m tests.support.supervise_command incidents -n -1 --root-dir {tmp_path} | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=30, cwd=ROOT, check=False)
    assert done.stdout.startswith("TIME")
    assert done.stderr == ""


def test_a_missing_record_is_an_error_if_it_is_named(tmp_path: Path) -> None:
    done = supervise("incidents", "--file", str(tmp_path / "none"))
    assert (done.returncode, done.stdout) == (4, "")
    assert f"{tmp_path}/none cannot be read: No such file or directory" in done.stderr
    done = supervise("incidents", "--root-dir", str(tmp_path / "typo"))
    assert (done.returncode, done.stdout) == (3, "")
    assert "no agent is running" in done.stderr


def test_an_actor_without_a_record_gets_a_hint(tmp_path: Path) -> None:
    Incidents(tmp_path / "incidents.jsonl").opened(Exited("pleg", 1, 5, 9, "signal", uptime=3))
    done = supervise("incidents", "plegg", "--root-dir", str(tmp_path))
    assert done.returncode == 4
    assert "no incident is of an actor plegg, did you mean pleg?" in done.stderr
    done = supervise("incidents", "NOPE", "--root-dir", str(tmp_path))
    assert "no incident is of an actor NOPE: see `supervise incidents`" in done.stderr, "no agent has a tree"


def test_as_many_incidents_are_shown_as_asked_for_and_all_with_minus_one(tmp_path: Path) -> None:
    incidents = Incidents(tmp_path / "incidents.jsonl")
    for number in range(1, 30):
        incidents.opened(Exited("pleg", number, 5, 9, "signal", uptime=3))
    shown = [supervise("incidents", "-n", number, "--root-dir", str(tmp_path)).stdout for number in ("0", "2", "-1")]
    assert [text.count("pleg#") for text in shown] == [0, 2, 29]
    assert "no incidents" not in shown[0]


def test_names_that_are_like_the_wrong_one_are_whole_names() -> None:
    names = ["pleg", "pod_workers", "pod_workers/worker/0", "pod_workers/worker/1"]
    assert like("worker/9", names) == ", did you mean pod_workers/worker/0 or pod_workers/worker/1?"
    assert like("plge", names) == ", did you mean pleg?"
    assert like("zzz", names) == ": see `supervise tree`"


def test_a_log_that_cannot_be_printed_is_not_reported_as_one_that_cannot_be_read(tmp_path: Path) -> None:
    log = tmp_path / "agent.log"
    log.write_text("a line\n" * 100_000)
    command = [sys.executable, "-m", "tests.support.supervise_command", "logs", "--file", str(log), "-n", "-1"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.stderr == "supervise: the output cannot be written: No space left on device\n"
    assert done.returncode == 1
