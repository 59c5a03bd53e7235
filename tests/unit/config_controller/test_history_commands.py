import json
import threading
import time

import pytest

from actors.config_controller.commands import MORE
from actors.shared.config.commands import run
from actors.shared.config.sources.checkpoints import ConfigCheckpoints, HistoryEntry, State, hash_of, layers_of
from actors.shared.config.sources.documents import Document
from supervision.cli.command import CommandError

FIRST, SECOND = ([Document("f", {"maxPods": pods}, {})] for pods in (1, 2))


@pytest.fixture
def store(tmp_path):
    store = ConfigCheckpoints(str(tmp_path / "troupelet/config"))
    for documents in (FIRST, SECOND):
        store.put(hash_of(documents), layers_of(documents))
    entries = [
        HistoryEntry(when=0.0, hash=hash_of(FIRST), what="accepted"),
        HistoryEntry(when=60.0, hash=hash_of(SECOND), what="applied"),
    ]
    store.save(
        State(current=hash_of(SECOND), last_known_good=hash_of(FIRST), trial_until=660.0, history=tuple(entries))
    )
    return store


def do(tmp_path, *words):
    return run([*words, f"--root-dir={tmp_path}"], more=MORE)


def test_history_is_printed_oldest_first_with_the_configuration_in_force(store, tmp_path, capsys):
    assert do(tmp_path, "history") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["1970-01-01T00:00:00Z", hash_of(FIRST), "accepted"]
    assert lines[2:] == [
        f"in force: {hash_of(SECOND)}",
        f"last known good: {hash_of(FIRST)}",
        "on trial until: 1970-01-01T00:11:00Z",
    ]


def test_further_problems_of_a_refused_configuration_stand_below_the_first_one(store, tmp_path, capsys):
    entry = HistoryEntry(when=0.0, hash="", what="refused", detail="one: wrong\ntwo: wrong")
    store.save(State(history=(entry,)))
    do(tmp_path, "history")
    first, second = capsys.readouterr().out.splitlines()[:2]
    assert first.index("one: wrong") == second.index("two: wrong")


def test_the_history_is_folded_to_the_width_of_the_terminal(store, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("actors.config_controller.commands.terminal_columns", lambda stream: 40)
    problem = "evictionHard.memory.available = 5: must be a quantity"
    store.save(State(history=(HistoryEntry(when=0.0, hash="", what="refused", detail=problem),)))
    do(tmp_path, "history")
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 40
    assert problem in " ".join(out.split())


def test_a_damaged_history_is_called_damaged_and_stays_as_it_is(store, tmp_path, capsys):
    (store.directory / "state.json").write_text("garbage")
    before = sorted(store.directory.iterdir())
    for words in (["history"], ["rollback"], ["history"]):
        do(tmp_path, *words)
        assert "state.json is damaged, so the history is lost" in capsys.readouterr().err
    assert (store.directory / "state.json").read_text() == "garbage"
    assert sorted(store.directory.iterdir()) == before


def test_a_history_that_the_agent_has_set_aside_is_named(store, tmp_path, capsys):
    (store.directory / "state.json").replace(store.directory / "state.json.damaged")
    assert do(tmp_path, "history") == 0
    out, err = capsys.readouterr()
    assert out.startswith("in force: -")
    assert "state.json.damaged was damaged and set aside, so the history is lost" in err


def test_the_directory_may_be_a_word_of_its_own(store, tmp_path, capsys):
    assert run(["history", "--root-dir", str(tmp_path)], more=MORE) == 0
    assert f"in force: {hash_of(SECOND)}" in capsys.readouterr().out


def test_a_directory_without_any_configuration_is_asked_about(tmp_path, capsys):
    assert do(tmp_path, "history") == 0
    assert "/config: no configuration has been in force there yet: is this the --root-dir" in capsys.readouterr().err


def test_history_is_printed_as_json(store, tmp_path, capsys):
    assert do(tmp_path, "history", "-o", "json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["current"], shown["trial_until"]) == (hash_of(SECOND), "1970-01-01T00:11:00Z")
    assert [entry["when"] for entry in shown["history"]] == ["1970-01-01T00:00:00Z", "1970-01-01T00:01:00Z"]
    store.save(State(current=hash_of(SECOND)))
    do(tmp_path, "history", "-o", "json")
    assert json.loads(capsys.readouterr().out)["trial_until"] == ""


def test_history_of_an_agent_that_never_ran_is_empty(tmp_path, capsys):
    assert do(tmp_path / "none", "history") == 0
    assert capsys.readouterr().out == "in force: -\nlast known good: -\n"


def test_a_rollback_waits_until_the_agent_has_applied_it(store, tmp_path, capsys):
    def agent():
        end = time.monotonic() + 10
        while (name := store.take_request()) is None and time.monotonic() < end:
            time.sleep(0.01)
        store.save(State(current=name or ""))

    thread = threading.Thread(target=agent)
    thread.start()
    assert do(tmp_path, "rollback") == 0
    thread.join()
    assert capsys.readouterr().out == f"rolled back to {hash_of(FIRST)}\n"


def test_a_rollback_without_an_agent_waits_for_the_next_start(store, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("actors.config_controller.commands.WAIT_SECONDS", 0.1)
    assert do(tmp_path, "rollback", hash_of(FIRST)) == 0
    assert "no agent has performed it yet" in capsys.readouterr().out
    assert store.take_request() == hash_of(FIRST)


def test_a_rollback_to_the_configuration_in_force_changes_nothing_and_reports_it(store, tmp_path, capsys):
    assert do(tmp_path, "rollback", hash_of(SECOND)) == 0
    assert capsys.readouterr().out == f"{hash_of(SECOND)} is in force: nothing to roll back\n"
    assert store.take_request() is None


@pytest.mark.parametrize("command", ["history", "rollback"])
def test_another_user_gets_the_command_with_sudo(store, tmp_path, monkeypatch, command):
    def refuse(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.listdir", refuse)
    monkeypatch.setattr("sys.argv", ["/usr/bin/supervise", "config", command])
    with pytest.raises(CommandError, match=f"try `sudo supervise config {command} --root-dir {tmp_path}`"):
        do(tmp_path, command)


def test_a_rollback_to_an_unknown_configuration_names_the_known_ones(store, tmp_path, capsys):
    assert do(tmp_path, "rollback", "0" * 16) == 1
    assert hash_of(FIRST) in capsys.readouterr().err


def test_a_rollback_where_no_agent_ever_ran_asks_for_the_right_directory(tmp_path, capsys):
    assert do(tmp_path / "none", "rollback") == 1
    said = capsys.readouterr().err
    assert str(tmp_path / "none") in said
    assert "no configuration has been in force there yet" in said


def test_the_other_config_commands_are_there_too(tmp_path, capsys):
    assert do(tmp_path, "check") == 0
    assert capsys.readouterr().out == "valid\n"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("history web", "history = web: one argument too many: it takes --root-dir only"),
        ("rollback 1 2", "rollback = 2: one argument too many: it takes one HASH"),
        ("history --nonsense", "--nonsense: unknown flag"),
        ("rollback --nonsense", "--nonsense: unknown flag"),
    ],
)
def test_a_wrong_command_line_is_exit_code_two(store, tmp_path, capsys, words, error):
    assert do(tmp_path, *words.split()) == 2
    assert capsys.readouterr().err.startswith(f"{error}\n")
