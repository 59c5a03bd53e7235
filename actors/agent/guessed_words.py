"""Maps words of kubectl users to commands of `supervise`. Pure."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Final

from supervision.cli.argument_types import last_lines

_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_PODS: Final = ("pod", "pods", "po")
_KINDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(_PODS, "pods"),
    "events": "events",
    "event": "events",
    "ev": "events",
}
"""Kinds of `get`, and the command that shows each."""
_SAME: Final[Mapping[str, str]] = {"pod": "pods", "po": "pods", "event": "events", "ev": "events", "log": "logs"}
_OF_A_POD: Final = ("pods", "events", "logs")
"""Commands that take the name of a pod."""
_EXPLAIN: Final = ("config", "explain")
_CHECK: Final = ("manifest", "check")
_FILE: Final = re.compile(r"[./]")
"""What the name of a file has, and no command."""
_NODES: Final = ("node", "nodes", "no")
_VALUED: Final = frozenset({
    "-n", "--namespace", "-o", "--output", "-l", "--selector", "--root-dir", "--run-dir", "--timeout", "--wait",
})  # fmt: skip
"""Options that kubectl users put in front, and whose value is the next word."""
_WELL: Final = "`supervise status`, `supervise doctor`"
_JUDGE: Final = "`supervise config check`, `supervise manifest check FILE`, `supervise policy check`"
_RUNS: Final = "`supervise pods`, `supervise tree`"
_RESTART: Final = (
    "of the agent, `supervise stop` and `supervise start`, or systemctl; of an actor, `supervise inject ACTOR crash`"
)
_SHELL: Final = "`kubectl {0}`, or on this node `crictl {0}`"
_OF_PODS: Final = (
    "a static pod is a file below staticPodPath (`supervise config show`): write or remove that; any other pod is the "
    "cluster's: `kubectl {0}`"
)
_NOT_HERE: Final = "of what the cluster has, `kubectl get {0}`; of what runs here, `supervise pods`, `supervise events`"
_GET: Final = "get is of pods and events; of {0}: {1}"
_UNIT: Final = "`systemctl {0} UNIT` of the unit that starts the agent"
_MEANT: Final[Mapping[str, str]] = {
    **dict.fromkeys(("exec", "attach", "port-forward"), _SHELL),
    **dict.fromkeys(
        (
            "cp",
            "debug",
            "cordon",
            "uncordon",
            "drain",
            "taint",
            "label",
            "annotate",
            "rollout",
            "wait",
            "auth",
            "expose",
            "autoscale",
            "diff",
            "certificate",
            "cluster-info",
            "api-resources",
            "api-versions",
        ),
        "`kubectl {0}`",
    ),
    **dict.fromkeys(("images", "containers", "inspect", "pull", "rmi"), "`crictl`"),
    **dict.fromkeys(("apply", "create", "delete", "edit", "patch", "replace", "scale"), _OF_PODS),
    "kill": "`supervise inject ACTOR crash` has an actor replaced",
    "restart": _RESTART,
    **dict.fromkeys(
        ("health", "healthz", "info", "is-active", "is-failed", "node", "nodes", "no", "ready", "show", "stats"), _WELL
    ),
    **dict.fromkeys(("journal", "journalctl"), "`supervise logs`"),
    **dict.fromkeys(("cat", "disable", "enable", "is-enabled", "mask", "unmask"), _UNIT),
    "daemon-reload": "`systemctl daemon-reload`",
    **dict.fromkeys(("list-units", "list-unit-files"), "`supervise tree`"),
    "crictl": "crictl is a command of its own",
    **dict.fromkeys(
        ("run", "up", "serve"), "`supervise start`, or with a runtime and a pod of its own `supervise demo`"
    ),
    **dict.fromkeys(("down", "shutdown", "quit", "exit"), "`supervise stop`"),
    **dict.fromkeys(("uninstall", "remove", "clean", "cleanup", "purge"), "`supervise reset --dry-run`"),
    **dict.fromkeys(("check", "validate", "lint"), _JUDGE),
    **dict.fromkeys(("ls", "list", "ps", "get", "all"), _RUNS),
    **dict.fromkeys(("actor", "actors", "processes"), "`supervise tree`"),
    **dict.fromkeys(("errors", "faults", "crashes"), "`supervise incidents`"),
    **dict.fromkeys(
        ("reload", "set"), "a changed configuration file takes effect by itself: `supervise config history`"
    ),
}
"""Words that are no command; {0}: the word."""
_OF_ALL: Final[Mapping[str, str]] = {
    "status": "status is of the whole agent; of {0}: `supervise tree {0}`, `supervise logs {0}`, or of a pod "
    "`supervise describe pod {0}`",
    "stop": "stop is of the whole agent; to have an actor replaced: `supervise inject {0} crash`",
}
"""Commands that take no name; {0}: the name."""
_REFRESHED: Final = "`supervise top` refreshes the tree; `watch supervise {0}`"
_SORTED: Final = "-o json, and jq, do what that does"
_JOURNAL: Final = "the last line comes last, and a pager is not started"
_FOREIGN: Final[Mapping[tuple[str, str], str]] = {
    **{
        (command, option): _REFRESHED
        for command in ("status", "tree", "doctor")
        for option in ("-w", "--watch", "-f", "--follow")
    },
    **dict.fromkeys(
        (("pods", "--sort-by"), ("pods", "--field-selector"), ("events", "--sort-by"), ("events", "--field-selector")),
        _SORTED,
    ),
    **dict.fromkeys((("logs", "-u"), ("logs", "--unit")), "the name follows the command: `supervise logs pleg`"),
    **dict.fromkeys((("logs", "-e"), ("logs", "-xe"), ("logs", "-r"), ("logs", "--no-pager")), _JOURNAL),
    **dict.fromkeys((("logs", "-w"), ("logs", "--watch")), "`supervise logs -f` shows new lines"),
    **dict.fromkeys(
        ((command, option) for command in ("logs", "describe") for option in ("-l", "--selector")),
        "`supervise pods -l` names the pods with these labels",
    ),
    ("logs", "-k"): "`journalctl -k`",
    ("logs", "--until"): "`supervise logs --since` shows all since then",
    ("pods", "--watch-only"): "`supervise pods -w`",
}
"""Options of kubectl, systemctl and journalctl; {0}: the command."""
_HELP: Final = frozenset({"-h", "--help"})
_LIST: Final = ": `supervise` lists the commands, each of which takes --help"


def understood(words: Sequence[str]) -> list[str]:
    """The same in the words of `supervise`, where that changes nothing on the node: `get pods -A` means `pods -A`."""
    first, *rest = _options_last(words)
    if first == "help":
        return [*rest[:2], "--help"]
    if rest == ["help"] and first != "start":  # a pod of that name is found by NAMESPACE/help
        return [_SAME.get(first, first), "--help"]
    if first == "version" and all(word.startswith("-") for word in rest):
        return ["--version"]
    if (first, *rest[:1]) == _CHECK:
        return [*_CHECK, *(word.removeprefix("--filename=") for word in rest[1:] if word not in ("-f", "--filename"))]
    if first == _CHECK[0] and rest and _FILE.search(rest[0]) and not rest[0].startswith("-"):
        return [*_CHECK, *rest]
    if first == "explain" and rest:
        return [*_EXPLAIN, *rest]
    if first == "get" and rest:
        kind, _, name = rest[0].partition("/")
        return [_KINDS[kind], *([name] if name else []), *rest[1:]] if kind in _KINDS else [first, *rest]
    if first == "describe":
        return _describe(rest)
    command = _SAME.get(first, first)
    if command in _OF_A_POD:
        rest = [_without_kind(word) for word in rest]
    return [command, *rest]


def _options_last(words: Sequence[str]) -> list[str]:
    """`get pods -n shop` for `-n shop get pods`. `start` is told before this that its flags follow it."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _VALUED else 1
    moved = [*words[at:], *words[:at]]
    return [*words] if moved[:1] == ["start"] else moved


def _without_kind(word: str) -> str:
    """`web` for `pod/web`."""
    kind, slash, name = word.partition("/")
    return name if slash and kind in _PODS else word


def _describe(words: Sequence[str]) -> list[str]:
    """`describe pod/NAME`, `describe pods NAME` and `describe NAME` mean `describe pod NAME`."""
    words = _options_last(words)
    if not words:
        return ["describe"]
    if words[0].startswith("-"):
        return ["describe", "pod", *words]
    kind, slash, name = words[0].partition("/")
    if kind in _PODS:
        return ["describe", "pod", *([name] if slash else []), *map(_without_kind, words[1:])]
    return ["describe", "pod", *words]


def meant(words: Sequence[str]) -> str:
    """A hint for a word that is no command but whose purpose is known; '' if it is not known."""
    first, second = words[0], next((word for word in words[1:] if not word.startswith("-")), "")
    if first == "get" and second:
        kind = shlex.quote(second.partition("/")[0])
        return _GET.format(kind, _MEANT.get(kind, _NOT_HERE).format(kind))
    return _MEANT.get(first, "").format(shlex.quote(first))


def misspelt(words: Sequence[str], commands: Sequence[str], alone: Sequence[str]) -> str:
    """The error about a first word that is neither a command nor an option of `alone`, with the closest one."""
    from supervision.documents.suggestions import did_you_mean, hint_of

    first = words[0]
    if not first.startswith("-"):
        if way := meant(words):
            return way if way.startswith(_GET.partition("{")[0]) else f"there is no command {first}: {way}"
        return f"there is no command {first}{did_you_mean(first, commands, most=2) or _LIST}"
    if command := next((word for word in words if word in commands), ""):
        rest = shlex.join(word for word in words if word != command)
        return f"options follow the command: `supervise {command} {rest}`"
    if first == "-V":
        return f"-V is no option of supervise itself{hint_of(['--version'])}"
    return f"{first} is no option of supervise itself{did_you_mean(first, alone) or _LIST}"


def of_another_kind(words: Sequence[str]) -> str:
    """Why `describe KIND ...`, `top KIND` or `status NAME` is not understood; '' if it may be."""
    first, *rest = _options_last(words)
    if rest == ["help"] or _HELP.intersection(rest):
        return ""
    kind, name = (*_options_last(rest), "", "")[:2] if rest else ("", "")
    if first in _OF_ALL and kind and not kind.startswith("-"):
        return _OF_ALL[first].format(shlex.quote(kind))
    if first == "top" and kind in (*_PODS, *_NODES):
        return f"top is of the actors; of {kind}: `kubectl top {kind}`, or on this node `crictl stats`"
    if first != "describe" or kind in ("", *_PODS) or kind.startswith("-"):
        return ""
    if kind.partition("/")[0] in _NODES:
        return f"describe is of pods; of the node: {_WELL}"
    if "/" in kind:
        return ""  # a namespace
    if not name or name.startswith("-"):
        return ""  # the kind is the name of a pod, and what follows are options and their values
    if kind in ("actor", "actors"):
        name = shlex.quote(name)
        return (
            f"describe is of pods; of an actor: `supervise tree`, `supervise incidents {name}`, `supervise logs {name}`"
        )
    return f"describe is of pods, not of {kind}"


def of_another_program(words: Sequence[str]) -> str:
    """What does what an option of another program does, which this command has not; '' if there is none."""
    for word in words[1:]:
        if word == "--":
            break
        option = word.partition("=")[0]
        if way := _FOREIGN.get((words[0], option)):
            return f"there is no option {option}: {way.format(words[0])}"
    return ""


def lines_or_namespace(text: str) -> int | str:
    """A count of lines, or what `-n` is to kubectl, for argparse. A name of digits alone is a count."""
    if _NAMESPACE.fullmatch(text) and not text.isdecimal():
        return text
    if text.removeprefix("-").isdecimal():
        return last_lines(text)
    raise argparse.ArgumentTypeError(f"{text} is neither a whole number nor a namespace")
