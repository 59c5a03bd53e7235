"""What the shells complete, asked of the shells that are installed."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.agent import command, completed_names, completion, subcommands
from actors.shared.config.sources.checkpoints import ConfigCheckpoints, HistoryEntry, State
from actors.status_manager.messages import Pods
from supervision.messaging.names import Names
from supervision.protocol import ActorState, Tree

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[4]
ACTORS = ["pleg", "pod_workers", "pod_workers/worker/0"]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment where `supervise` is the command of these sources."""
    program = tmp_path / "bin" / "supervise"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m actors.agent.command "$@"\n')
    program.chmod(0o755)
    path = f"{program.parent}:{os.environ['PATH']}"
    return {
        **os.environ,
        "PATH": path,
        "PYTHONPATH": str(ROOT),
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path),
    }


@pytest.fixture
def run_dir(tmp_path: Path) -> Iterator[Path]:
    """The run directory of an agent with a few actors, one that never was ready, and one that was given up."""
    names = Names(tmp_path / "run" / "names")
    sockets = [names.listen(name, 1) for name in ("fork_server", *ACTORS, "prober")]
    for name in ("fork_server", *ACTORS):
        names.publish(name, 1)
    names.retire("cert_manager")
    yield tmp_path / "run"
    for one in sockets:
        one.close()
    os.close(names.fd)


def script(shell: str, folder: Path, environment: dict[str, str]) -> Path:
    path = folder / f"script.{shell}"
    with path.open("w") as file:
        subprocess.run(["supervise", "completion", shell], stdout=file, env=environment, timeout=60, check=True)
    return path


def in_bash(path: Path, environment: dict[str, str], *words: str) -> list[str]:
    """What bash offers for the last of the words."""
    typed = shlex.join(words)
    text = f"source {path}; COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; _supervise; "
    text += 'printf "%s\\n" "${COMPREPLY[@]}"'
    command = ["bash", "--norc", "-c", text]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    return [line for line in done.stdout.splitlines() if line]


def in_fish(path: Path, environment: dict[str, str], line: str) -> list[str]:
    """What fish offers at the end of the line."""
    text = f"source {path}; complete -C {shlex.quote(line)}"
    command = ["fish", "--no-config", "-c", text]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    return [found.partition("\t")[0] for found in done.stdout.splitlines()]


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash")
def test_bash_completes_commands_options_choices_and_actors(
    tmp_path: Path, environment: dict[str, str], run_dir: Path
) -> None:
    path = script("bash", tmp_path, environment)
    _, commands = subcommands.parser_of([])
    assert set(in_bash(path, environment, "supervise", "")) == set(commands)
    assert in_bash(path, environment, "supervise", "inc") == ["incidents"]
    assert in_bash(path, environment, "supervise", "logs", "--fo") == ["--follow"]
    assert in_bash(path, environment, "supervise", "tree", "-o", "") == ["text", "wide", "json", "yaml"]
    assert in_bash(path, environment, "supervise", "start", "--max-po") == ["--max-pods"]
    assert "rollback" in in_bash(path, environment, "supervise", "config", "")
    assert in_bash(path, environment, "supervise", "config", "explain", "maxPod") == ["maxPods"]
    assert in_bash(path, environment, "supervise", "completion", "") == [*completion.SHELLS]
    at = ("--run-dir", str(run_dir))
    assert in_bash(path, environment, "supervise", "logs", *at, "") == ACTORS
    assert in_bash(path, environment, "supervise", "inject", *at, "pod_workers/") == ACTORS[2:]
    assert in_bash(path, environment, "supervise", "inject", *at, "worker") == ["worker/0"]
    assert in_bash(path, environment, "supervise", "inject", *at, "pleg", "ha") == ["hang"]


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash")
def test_bash_completes_what_commands_take_that_read_their_words_themselves(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    path = script("bash", tmp_path, environment)
    assert in_bash(path, environment, "supervise", "run-once", "--ti") == ["--timeout"]
    assert in_bash(path, environment, "supervise", "run-once", "-o", "") == ["text", "json", "yaml"]
    assert in_bash(path, environment, "supervise", "config", "history", "--ou") == ["--output"]
    assert in_bash(path, environment, "supervise", "config", "check", "--max-po") == ["--max-pods"]
    assert in_bash(path, environment, "supervise", "config", "explain", "SidecarC") == ["SidecarContainers"]
    store = ConfigCheckpoints(str(tmp_path / "root" / "troupelet" / "config"))
    store.save(
        State(history=tuple(HistoryEntry(when=1.0, hash=name, what="applied") for name in ("bb", "aa", "bb", "aa")))
    )
    at = ("--root-dir", str(tmp_path / "root"))
    assert in_bash(path, environment, "supervise", "config", "rollback", *at, "") == ["aa", "bb"]


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash")
def test_bash_completes_the_values_of_flags_after_a_space_and_after_an_equals_sign(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    path = script("bash", tmp_path, environment)
    typed = f"{tmp_path}/script"
    for flag in ("--config", "--policy", "--tls-cert-file"):
        assert in_bash(path, environment, "supervise", "start", flag, typed) == [str(path)]
        assert in_bash(path, environment, "supervise", "start", flag, "=", typed) == [str(path)]
    assert in_bash(path, environment, "supervise", "pods", "--output", "=", "js") == ["json"]
    assert in_bash(path, environment, "supervise", "pods", "--output", "=") == ["text", "wide", "json", "yaml", "name"]
    assert in_bash(path, environment, "supervise", "pods", "--root-dir", "=", "/", "--al") == ["--all-namespaces"]


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash")
def test_bash_completes_no_actor_if_no_agent_runs(tmp_path: Path, environment: dict[str, str]) -> None:
    path = script("bash", tmp_path, environment)
    assert in_bash(path, environment, "supervise", "logs", "--run-dir", str(tmp_path / "none"), "") == []


@pytest.mark.skipif(not shutil.which("fish"), reason="no fish")
def test_fish_completes_commands_and_actors(tmp_path: Path, environment: dict[str, str], run_dir: Path) -> None:
    path = script("fish", tmp_path, environment)
    assert in_fish(path, environment, "supervise inc") == ["incidents"]
    assert in_fish(path, environment, f"supervise logs --run-dir {run_dir} ") == ACTORS
    assert in_fish(path, environment, "supervise start --max-po") == ["--max-pods"]
    assert in_fish(path, environment, "supervise config show maxPod") == ["maxPods"]
    assert in_fish(path, environment, "supervise pods --output=js") == ["--output=json"]
    assert in_fish(path, environment, f"supervise start --config={tmp_path}/script") == [f"--config={path}"]
    assert in_fish(path, environment, "supervise run-once --ti") == ["--timeout"]


@pytest.mark.skipif(not shutil.which("zsh"), reason="no zsh")
def test_zsh_takes_its_script(tmp_path: Path, environment: dict[str, str]) -> None:
    path = script("zsh", tmp_path, environment)
    path.rename(tmp_path / "_supervise")
    text = f"fpath=({tmp_path} $fpath); autoload -U compinit; compinit -D -u; "
    text += "print $_comps[supervise]; autoload +X _supervise"
    done = subprocess.run(
        ["zsh", "-f", "-c", text], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "_supervise\n")


@pytest.mark.skipif(not shutil.which("zsh"), reason="no zsh")
def test_zsh_takes_its_script_by_source_too(tmp_path: Path, environment: dict[str, str]) -> None:
    path = script("zsh", tmp_path, environment)
    text = f"autoload -U compinit; compinit -D -u; source {path}; print $_comps[supervise]"
    done = subprocess.run(
        ["zsh", "-f", "-c", text], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "_shtab_supervise\n")


def test_a_pod_is_completed_by_its_name_and_by_its_namespace_only_where_two_have_that_name() -> None:
    pods = [("a", "web"), ("b", "web"), ("a", "db")]
    items = [{"metadata": {"namespace": space, "name": name}} for space, name in pods]
    assert completed_names.pod_names([json.dumps({"items": items}).encode()]) == ["a/web", "b/web", "db"]


def test_pods_are_requested_from_the_agent_that_the_command_line_names(tmp_path: Path) -> None:
    asked: list[str] = []

    class Agent:
        def __init__(self, run_dir: Path) -> None:
            asked.append(str(run_dir))

        def ask(self, question: object, reply: object, **more: object) -> Pods:
            return Pods(b'{"items": [{"metadata": {"namespace": "n", "name": "web"}}]}')

        def close(self) -> None: ...

    assert completed_names.pods(["describe", "pod", "--run-dir", str(tmp_path)]) == []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("supervision.client.Client", Agent)
        assert completed_names.pods(["describe", "pod", "--run-dir", str(tmp_path)]) == ["web"]
    assert asked == [str(tmp_path)]


def test_completion_leaves_a_damaged_history_where_it_is(tmp_path: Path) -> None:
    state = tmp_path / "troupelet" / "config" / "state.json"
    state.parent.mkdir(parents=True)
    state.write_text("not JSON")
    assert completed_names.hashes(["config", "rollback", "--root-dir", str(tmp_path), ""]) == []
    assert [path.name for path in state.parent.iterdir()] == ["state.json"]


def test_all_of_the_tree_is_completed_also_a_program_that_has_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    one = ActorState(name="container_runtime", parent="root", kind="program", state="running")
    monkeypatch.setattr("supervision.client.Client.__init__", lambda self, run_dir: None)
    monkeypatch.setattr("supervision.client.Client.close", lambda self: None)
    monkeypatch.setattr(
        "supervision.client.Client.ask",
        lambda self, *question, **more: Tree(pid=1, uptime=1.0, state="ready", actors=[one]),
    )
    assert completed_names.actors(["inject", "cont"]) == ["container_runtime"]


def test_every_command_that_takes_a_pod_has_names_completed() -> None:
    parser = subcommands.whole_parser(completion.WITH_FLAGS)
    completion.script("bash", parser)
    functions = {
        f"{name} {one.dest}": one.complete["bash"]  # type: ignore[attr-defined]
        for name, one in completion.arguments_of(parser)
        if isinstance(getattr(one, "complete", None), dict)
    }
    taking = {name for name, function in functions.items() if function == "_supervise_pods"}
    assert taking == {"pods name", "pod name", "events pod", "events of"}
    assert functions["logs actor"] == "_supervise_names"
    assert functions["inject actor"] == "_supervise_actors"
    assert functions["rollback hash"] == "_supervise_hashes"


def test_the_script_of_zsh_takes_values_after_an_equals_sign_of_options_that_have_one() -> None:
    text = completion.script("zsh", subcommands.whole_parser(completion.WITH_FLAGS))
    assert '{-o,--output=}"[' in text
    assert '"--config=[' in text
    assert '"--lenient-config[' in text


def test_a_script_describes_each_command_as_the_list_of_commands_does() -> None:
    text = completion.script("zsh", subcommands.whole_parser(completion.WITH_FLAGS))
    assert "config:'validate, show, explain, roll back configurations'" in text


def test_every_command_with_an_actor_has_names_completed() -> None:
    parser, _ = subcommands.parser_of([])
    choice = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    taking = {
        name
        for name, below in choice.choices.items()
        if any(a.dest == "actor" for _, a in completion.arguments_of(below))
    }
    assert taking >= {"logs", "incidents", "inject"}


def test_a_line_without_a_value_for_its_directory_completes_no_actor() -> None:
    assert completed_names.actors(["logs", "--run-dir"]) == []


def test_completion_without_shtab_names_the_package_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    monkeypatch.setattr(sys, "argv", ["supervise"])
    assert command.main(["completion", "bash"]) == 4
    assert "pip install 'troupelet[completion]'" in capsys.readouterr().err
