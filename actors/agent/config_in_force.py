"""`supervise config show` of a running agent: the configuration in force, from which its files may differ by now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TextIO

import msgspec

from actors.config_controller.messages import CONFIG_CONTROLLER, Configz, Flagz, GetConfigz
from actors.shared.config.loading import load
from actors.shared.config.shown_fields import chosen, chosen_plain, flat, masked, print_rows, shown_value
from actors.shared.config.sources.effective import shown_source
from supervision.cli.command import Context
from supervision.cli.document import document_text

_BY_RUNTIME: Final = "cgroupDriver"
"""The field for which the runtime's answer counts."""


def show(fields: Sequence[str], flags: Sequence[str], context: Context, flagz: Flagz, form: str, out: TextIO) -> int:
    """Print every value that is in force, or those of `fields`, with its source. `flagz`: the agent's answer. Raises
    ConfigErrors, CommandError."""
    answer = context.ask(GetConfigz(), Configz, name=CONFIG_CONTROLLER)
    plain: dict[str, Any] = msgspec.json.decode(answer.body)["kubeletconfig"]
    agent = load(flags, in_force=True)
    every = rows(flat(agent.config), plain, agent.config_sources, flagz.waiting)
    wanted = chosen(fields, list(every), agent.config_sources)
    if form:
        found = chosen_plain(fields, masked(plain), wanted, agent.config_sources)
        flagz_fields = {"waiting": flagz.waiting, "refused": flagz.refused, "source": flagz.source}
        out.write(document_text({**found, **flagz_fields}, form) + "\n")
        return 0
    for line in notes(flagz):
        out.write(f"note: {line}\n")
    print_rows(wanted, out)
    return 0


def notes(flagz: Flagz) -> Iterator[str]:
    """Notes about the configuration as a whole. Pure."""
    if flagz.source:
        yield f"from {flagz.source} of the API server, which takes the place of the file"
    for problem in flagz.refused:
        yield f"what is assigned is not in force, what follows is: {problem}"
    if flagz.waiting:
        yield f"the agent must be restarted before these change: {', '.join(flagz.waiting)}"


def rows(
    assigned: Sequence[tuple[str, Any]], plain: Mapping[str, Any], sources: Mapping[str, str], waiting: Sequence[str]
) -> Iterator[tuple[str, Any, str]]:
    """(path, value in force, source). `assigned`: path and value by the documents; `plain`: what is in force, without
    empty values; `waiting`: top-level fields for which the two differ. Pure."""
    for path, value in assigned:
        now = value
        if path.partition(".")[0] in (*waiting, _BY_RUNTIME):
            now = _value_at(plain, path, value)
        source = shown_source(sources, path, value)
        if now == value or str(now) == str(value):
            yield path, value, source
        elif path == _BY_RUNTIME:
            yield path, now, f"the runtime; {source}: {shown_value(path, value)}"
        else:
            yield path, now, f"until a restart; then {shown_value(path, value)} ({source})"


def _value_at(plain: Mapping[str, Any], path: str, like: Any) -> Any:
    """The value in force; if it is omitted because it is empty or zero, the empty or zero value of its type."""
    found: Any = plain
    for name in path.split("."):
        if not isinstance(found, Mapping) or name not in found:
            return type(like)() if isinstance(like, (str, list, tuple, dict, int, float)) else None
        found = found[name]
    return found
