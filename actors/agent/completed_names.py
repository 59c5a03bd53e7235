"""The names that a shell offers for a half-typed command: actors, pods and configurations of the agent that it is
about."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from actors.shared.config.paths import default_root_dir, run_dir_of
from supervision.messaging.names import published
from supervision.protocol import FORK_SERVER

if TYPE_CHECKING:
    from supervision.client import Client

A = TypeVar("A")
ANSWER_SECONDS: Final = 1.0
"""Somebody waits with a half-typed line."""


def actors(words: Sequence[str]) -> list[str]:
    """The actors and programs of the agent that the words of a half-typed command are about; empty without one. The
    last word is the half-typed one: if no name begins with it, the ends of names that do."""
    names = _tree(words) or [name for name in published(_run_dir(words)) if name != FORK_SERVER]
    typed = words[-1] if words else ""
    if any(name.startswith(typed) for name in names):
        return names
    return [*names, *(end for name in names for end in _ends(name) if end.startswith(typed))]


def _ends(name: str) -> Iterator[str]:
    """`worker/0` and `0` of `pod_workers/worker/0`."""
    while name := name.partition("/")[2]:
        yield name


def _tree(words: Sequence[str]) -> list[str]:
    """All names in the tree; empty if the agent does not answer."""
    from supervision.protocol import GetTree, Tree

    found = _answer(words, lambda client: client.ask(GetTree(memory=False), Tree, timeout=ANSWER_SECONDS))
    return sorted(actor.name for actor in found.actors) if found else []


def pods(words: Sequence[str]) -> list[str]:
    """The pods of that agent, as its commands take their names; empty if it does not answer."""
    from actors.status_manager.messages import STATUS_MANAGER, GetPods, Pods, every_page

    pages = _answer(
        words,
        lambda client: every_page(
            lambda after: client.ask(GetPods(after), Pods, name=STATUS_MANAGER, timeout=ANSWER_SECONDS)
        ),
    )
    return pod_names([page.data for page in pages or []])


def hashes(words: Sequence[str]) -> list[str]:
    """The configurations in the history of that agent, newest first; empty if it cannot be read. A damaged file stays
    where it is: this only reads."""
    from actors.shared.config.agent import checkpoint_dir
    from actors.shared.config.sources.checkpoints import VERSION, State
    from supervision.state_file import DamagedError, NotAFileError, decode_versioned, read_private

    known = _known(words)
    if known is None:
        return []
    try:
        raw = read_private(f"{checkpoint_dir({'root-dir': known.root_dir})}/state.json")
        state = decode_versioned(raw, State, VERSION)
    except (OSError, DamagedError, NotAFileError):
        return []
    return [*dict.fromkeys(entry.hash for entry in reversed(state.history) if entry.hash)]


def _answer(words: Sequence[str], ask: Callable[[Client], A]) -> A | None:
    """What the agent of the words answers; None if it does not."""
    from contextlib import closing

    from supervision.client import Client
    from supervision.errors import AskError
    from supervision.messaging.names import PeerRefused

    try:
        with closing(Client(Path(_run_dir(words)))) as client:
            return ask(client)
    except (AskError, PeerRefused, OSError):
        return None


class _PodName(msgspec.Struct):
    name: str
    namespace: str = ""


class _NamedPod(msgspec.Struct):
    metadata: _PodName


class _NamedPods(msgspec.Struct):
    """What is read of a PodList."""

    items: list[_NamedPod]


def pod_names(lists: Sequence[bytes]) -> list[str]:
    """The names of PodLists, with the namespaces of those that are not alone with their name. Pure."""
    found = [
        (pod.metadata.namespace, pod.metadata.name)
        for data in lists
        for pod in msgspec.json.decode(data, type=_NamedPods).items
    ]
    counts = Counter(name for _, name in found)
    return sorted(name if counts[name] == 1 else f"{space}/{name}" for space, name in found)


def _run_dir(words: Sequence[str]) -> str:
    """The run directory of the agent that the words are about; '' if they are not whole."""
    known = _known(words)
    return str(known.run_dir or run_dir_of(known.root_dir)) if known is not None else ""


def _known(words: Sequence[str]) -> argparse.Namespace | None:
    """The directories that the words name; None if they are not whole."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--root-dir", default=default_root_dir())
    parser.add_argument("--run-dir", default="")
    try:
        return parser.parse_known_args([word for word in words if word != "--"])[0]
    except argparse.ArgumentError:
        return None


KINDS: Final[Mapping[str, Callable[[Sequence[str]], list[str]]]] = {
    "actors": actors,
    "pods": pods,
    "names": lambda words: actors(words) + pods(words),
    "hashes": hashes,
}
"""What the scripts ask for; `names`: for `logs`."""
