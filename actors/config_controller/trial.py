"""Which configuration is in force: assigned, on trial, accepted, rolled back. Pure: `decide(state, event, now)`.

                     offered                        passed            failed              back(hash)
    no trial         apply, begin a trial           -                 -                   apply, call the old one bad
    on trial         apply, begin a new trial       it is good now    apply the last      apply, call the old one bad
                                                                      known good

A configuration that is called bad is not applied again until an operator goes back to it. Without a last known good one
there is nothing to go back to, so nothing is called bad.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from actors.shared.config.sources.checkpoints import KEPT_HISTORY, Entry, State

TRIAL_SECONDS: Final = 600.0


class Offered(msgspec.Struct, frozen=True):
    """The sources give a configuration that obeys every rule."""

    hash: str
    source: dict[str, str] = {}


class Refused(msgspec.Struct, frozen=True):
    """The sources give something that cannot be used."""

    problems: str


class Booted(msgspec.Struct, frozen=True):
    """The agent was started, by the name `boot`, with a configuration that is thereby in force."""

    boot: str
    hash: str


class Tick(msgspec.Struct, frozen=True):
    """Time has passed."""


class Failed(msgspec.Struct, frozen=True):
    """The agent does badly."""

    reason: str


class Back(msgspec.Struct, frozen=True):
    """An operator wants an earlier configuration; '' for the last known good one."""

    hash: str


class Ending(msgspec.Struct, frozen=True):
    """The agent is stopped in order."""


Event = Offered | Refused | Booted | Tick | Failed | Back | Ending
_change = msgspec.structs.replace


def decide(state: State, event: Event, now: float) -> tuple[State, str]:
    """The state after the event, and the hash of the configuration to apply ('' for none)."""
    match event:
        case Offered():
            return _offered(state, event, now)
        case Refused():
            return _noted(state, Entry(when=now, hash="", what="refused", detail=event.problems)), ""
        case Booted():
            return _booted(state, event, now), ""
        case Tick():
            return _ticked(state, now), ""
        case Failed():
            return _failed(state, event.reason, now)
        case Back():
            return _back(state, event.hash or state.last_known_good, now)
        case Ending():
            return _change(state, orderly=True), ""


def _offered(state: State, event: Offered, now: float) -> tuple[State, str]:
    state = _change(state, assigned=event.hash, source=event.source)
    if event.hash == state.current or event.hash in state.bad:
        return state, ""
    state = _on_trial(state, event.hash, now)
    return _noted(state, Entry(when=now, hash=event.hash, what="applied")), event.hash


def _on_trial(state: State, name: str, now: float) -> State:
    return _change(state, current=name, trial_until=now + TRIAL_SECONDS)


def _booted(state: State, event: Booted, now: float) -> State:
    again = event.boot == state.boot
    ended_badly = not again and not state.orderly and state.trial_until > 0 and event.hash == state.last_known_good
    if ended_badly and state.current != event.hash:
        detail = f"the agent ended in disorder while {state.current} was on trial"
        state = _noted(_called_bad(state), Entry(when=now, hash=event.hash, what="rolled back", detail=detail))
        state = _change(state, current=event.hash, trial_until=0.0)
    elif not again and event.hash != state.current:
        state = _noted(_on_trial(state, event.hash, now), Entry(when=now, hash=event.hash, what="applied"))
        if event.hash == state.last_known_good:
            state = _change(state, trial_until=0.0)
    return _change(state, boot=event.boot, orderly=False)


def _ticked(state: State, now: float) -> State:
    if not 0 < state.trial_until <= now:
        return state
    state = _change(state, last_known_good=state.current, trial_until=0.0)
    return _noted(state, Entry(when=now, hash=state.current, what="accepted"))


def _failed(state: State, reason: str, now: float) -> tuple[State, str]:
    good = state.last_known_good
    if state.trial_until == 0 or not good or good == state.current:
        return state, ""
    detail = f"{state.current} failed its trial: {reason}"
    state = _noted(_called_bad(state), Entry(when=now, hash=good, what="rolled back", detail=detail))
    return _change(state, current=good, trial_until=0.0), good


def _back(state: State, name: str, now: float) -> tuple[State, str]:
    if not name or name == state.current:
        return state, ""
    detail = f"an operator went back from {state.current}"
    state = _noted(_called_bad(state), Entry(when=now, hash=name, what="restored", detail=detail))
    bad = tuple(known for known in state.bad if known != name)
    return _change(state, current=name, last_known_good=name, trial_until=0.0, bad=bad), name


def _called_bad(state: State) -> State:
    return _change(
        state, bad=(*(known for known in state.bad if known != state.current), state.current)[-KEPT_HISTORY:]
    )


def with_waiting(state: State, fields: Sequence[str]) -> State:
    """The last entry of the history names the fields that wait for a restart of the agent."""
    if not fields or not state.history:
        return state
    last = state.history[-1]
    text = "; ".join(filter(None, (last.detail, f"waits for a restart: {', '.join(fields)}")))
    return _change(state, history=(*state.history[:-1], _change(last, detail=text)))


def gave_up(supervisors: Mapping[str, tuple[int, str]], before: Mapping[str, int]) -> list[str]:
    """The supervisors that reached their restart intensity since the last look.

    `supervisors`: by name, restarts and last incident; `before`: restarts at the last look.
    """
    return [
        name
        for name, (restarts, incident) in supervisors.items()
        if incident.startswith("exit") and restarts > before.get(name, restarts)
    ]


def _noted(state: State, entry: Entry) -> State:
    return _change(state, history=(*state.history, entry)[-KEPT_HISTORY:])


def entry_text(entry: Entry) -> str:
    """One line for people."""
    return f"{entry.hash or '-':<16}  {entry.what:<11}  {entry.detail}".rstrip()
