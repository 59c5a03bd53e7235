"""What newcomers type who know kubectl or systemctl: it does what they mean, or says in one line what does."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from actors.agent.guessed_words import (
    _FOREIGN,
    _MEANT,
    lines_or_namespace,
    meant,
    of_another_kind,
    of_another_program,
    understood,
)
from actors.agent.subcommands import parser_of, whole_parser

ROOT = Path(__file__).parents[4]
COMMANDS = parser_of([])[1]
WHOLE = whole_parser(())


@pytest.mark.parametrize(
    ("typed", "is_meant"),
    [
        ("get pods", "pods"),
        ("get po -n kube-system -o wide", "pods -n kube-system -o wide"),
        ("get pods -A", "pods -A"),
        ("get pod web", "pods web"),
        ("get pod/web", "pods web"),
        ("describe pod pod/web", "describe pod web"),
        ("get events -w", "events -w"),
        ("pod web", "pods web"),
        ("po", "pods"),
        ("log pleg", "logs pleg"),
        ("logs pod/web -c main", "logs web -c main"),
        ("events po/web", "events web"),
        ("logs shop/web", "logs shop/web"),
        ("events web -f", "events web -f"),
        ("describe web", "describe pod web"),
        ("describe pods web", "describe pod web"),
        ("describe po/web", "describe pod web"),
        ("describe pod web -n shop", "describe pod web -n shop"),
        ("describe web -n shop", "describe pod web -n shop"),
        ("describe shop/web", "describe pod shop/web"),
        ("help", "--help"),
        ("help pods", "pods --help"),
        ("pods help", "pods --help"),
        ("status help", "status --help"),
        ("po help", "pods --help"),
        ("describe pod help", "describe pod help"),
        ("help describe pod", "describe pod --help"),
        ("describe -n shop pod web", "describe pod web -n shop"),
        ("describe --help", "describe pod --help"),
        ("-n shop get pods -o wide", "pods -o wide -n shop"),
        ("--root-dir /srv/node status", "status --root-dir /srv/node"),
        ("--root-dir=/srv/node -A pods", "pods --root-dir=/srv/node -A"),
        ("manifest check -f web.yaml", "manifest check web.yaml"),
        ("manifest web.yaml", "manifest check web.yaml"),
        ("manifest --help", "manifest --help"),
        ("manifest check --filename=web.yaml -o json", "manifest check web.yaml -o json"),
        ("version", "--version"),
        ("version --client", "--version"),
        ("explain maxPods", "config explain maxPods"),
        ("inject pod crash", "inject pod crash"),
        ("status", "status"),
    ],
)
def test_guessed_words_of_reading_commands_are_run(typed: str, is_meant: str) -> None:
    words = understood(typed.split())
    assert words == is_meant.split()
    if words[0] != "config" and not {"--help", "--version"} & set(words):
        WHOLE.parse_args(words)


@pytest.mark.parametrize(
    ("typed", "way"),
    [
        ("exec web -- ls", "`kubectl exec`, or on this node `crictl exec`"),
        ("delete pod web", "`kubectl delete`"),
        ("apply -f web.yaml", "staticPodPath"),
        ("restart pleg", "`supervise inject ACTOR crash`"),
        ("get nodes", "`supervise status`"),
        ("stats", "`supervise status`"),
        ("node", "`supervise status`"),
        ("health", "`supervise doctor`"),
        ("is-active", "`supervise status`"),
        ("journal -f", "`supervise logs`"),
        ("enable", "`systemctl enable UNIT`"),
        ("get", "`supervise pods`"),
        ("get svc -A", "`kubectl get svc`"),
        ("rollout restart ds/web", "`kubectl rollout`"),
        ("ps", "`supervise tree`"),
        ("down", "`supervise stop`"),
        ("uninstall", "`supervise reset --dry-run`"),
        ("validate x.yaml", "`supervise manifest check FILE`"),
        ("sttus", ""),
    ],
)
def test_an_unknown_command_is_answered_with_the_right_one(typed: str, way: str) -> None:
    said = meant(typed.split())
    assert bool(said) == bool(way)
    assert way in said


@pytest.mark.parametrize("word", _MEANT)
def test_a_remedy_names_existing_commands_only(word: str) -> None:
    assert word not in COMMANDS
    assert understood([word]) == [word]
    for command in re.findall("`supervise ([^`]+)`", meant([word])):
        assert shlex.split(command)[0] in COMMANDS


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("describe node", "`supervise status`"),
        ("describe node n1", "`supervise status`"),
        ("describe actor pleg", "`supervise incidents pleg`"),
        ("describe service web", "not of service"),
        ("describe pod node", ""),
        ("describe web", ""),
        ("describe shop/web", ""),
        ("describe web -n shop", ""),
        ("describe web -o yaml --root-dir /srv/node", ""),
        ("describe -n shop pod web", ""),
        ("describe -n shop deploy web", "not of deploy"),
        ("describe nodes/n1", "`supervise status`"),
        ("describe", ""),
        ("pods node", ""),
        ("top pods", "`kubectl top pods`, or on this node `crictl stats`"),
        ("top -d 5", ""),
        ("status pleg", "`supervise tree pleg`"),
        ("status help", ""),
        ("stop pleg --help", ""),
        ("status --root-dir /srv/node", ""),
        ("stop pleg", "`supervise inject pleg crash`"),
        ("stop --wait 30", ""),
    ],
)
def test_describe_and_top_name_the_unknown_kind(typed: str, said: str) -> None:
    found = of_another_kind(typed.split())
    assert bool(found) == bool(said)
    assert said in found


@pytest.mark.parametrize(
    ("typed", "code", "out", "err"),
    [
        ("version", 0, "troupelet ", ""),
        ("help pods", 0, "usage: supervise pods ", ""),
        ("help", 0, "usage: supervise ", ""),
        ("status help", 0, "usage: supervise status ", ""),
        ("inject", 2, "", "supervise inject: ACTOR is missing; FAULT is missing: crash"),
        ("explain maxPods", 0, "maxPods", ""),
        ("describe", 2, "", "supervise describe: pod [NAME] is missing"),
        ("man pods", 2, "", "its page is that of `man supervise-pods`"),
        ("config view", 2, "", "there is no command view, did you mean show?"),
        ("describe node", 2, "", "supervise: describe is of pods; of the node: `supervise status`"),
        (
            "restart",
            2,
            "",
            "supervise: there is no command restart: of the agent, `supervise stop` and `supervise start`",
        ),
        ("get nodes", 2, "", "supervise: get is of pods and events; of nodes: `supervise status`"),
        ("status -w", 2, "", "supervise status: there is no option -w: `supervise top`"),
        ("kill pleg", 2, "", "supervise: there is no command kill: `supervise inject"),
    ],
)
def test_as_typed(typed: str, code: int, out: str, err: str) -> None:
    command = [sys.executable, "-m", "actors.agent.command", *typed.split()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, cwd=ROOT, check=False)
    assert done.returncode == code
    assert done.stdout.startswith(out)
    assert err in done.stderr


@pytest.mark.parametrize(
    ("typed", "way"),
    [
        ("status -w", "`watch supervise status`"),
        ("tree --watch", "`supervise top`"),
        ("logs -u pleg", "`supervise logs pleg`"),
        ("logs -l app=web", "`supervise pods -l`"),
        ("logs --until=5m", "`supervise logs --since`"),
        ("pods --sort-by=.metadata.name", "jq"),
        ("pods -w", ""),
        ("doctor -- -w", ""),
    ],
)
def test_an_option_of_another_program_is_answered_with_the_way_here(typed: str, way: str) -> None:
    said = of_another_program(typed.split())
    assert bool(said) == bool(way)
    assert way in said


@pytest.mark.parametrize(("command", "option"), _FOREIGN)
def test_no_option_of_a_command_is_taken_for_one_of_another_program(command: str, option: str) -> None:
    parser = parser_of([command])[0]
    with pytest.raises(SystemExit):
        parser.parse_args([command, option])


@pytest.mark.parametrize(("text", "value"), [("3", 3), ("shop", "shop"), ("3d", "3d")])
def test_n_is_a_count_of_lines_or_a_namespace(text: str, value: int | str) -> None:
    assert lines_or_namespace(text) == value
