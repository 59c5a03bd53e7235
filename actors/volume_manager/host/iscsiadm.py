"""The program that logs in to iSCSI targets, and out of them."""

from __future__ import annotations

from typing import Final

from .mount_program import NOT_RUN, error_of, run

PROGRAM: Final = "iscsiadm"
PROGRAM_SECONDS: Final = 150.0
"""It gives up by itself after some two minutes. When it is killed before, its daemon goes on."""
NO_SESSION, EXISTS, NOTHING_FOUND = 2, 15, 21
"""Exit statuses of iscsiadm(8)."""
_MISSING: Final = "there is no program iscsiadm on this node: its package is open-iscsi or iscsi-initiator-utils"


class IscsiError(Exception):
    """A disk cannot be attached, or detached."""


class ProgramError(IscsiError):
    """The program failed. `status`: its exit status, or NOT_RUN, STILL_RUNNING."""

    def __init__(self, status: int, output: str) -> None:
        super().__init__(_MISSING if status == NOT_RUN and "No such file" in output else error_of(status, output))
        self.status = status


def iscsiadm(*words: str, good: tuple[int, ...] = ()) -> str:
    """Its output. `good`: exit statuses besides 0 that are no failure. Raises ProgramError."""
    status, output = run([PROGRAM, *words], PROGRAM_SECONDS)
    if status and status not in good:
        raise ProgramError(status, output)
    return output


def try_iscsiadm(*words: str) -> None:
    """Whether it succeeds or not, as with what may be there already, or gone."""
    run([PROGRAM, *words], PROGRAM_SECONDS)


def settings_of(shown: str) -> dict[str, str]:
    """The settings of an interface that have a value, from what `-m iface -o show` prints. Pure."""
    found = {}
    for line in shown.splitlines():
        name, equals, value = (part.strip() for part in line.partition("="))
        if equals and name.startswith("iface.") and value != "<empty>":
            found[name] = value
    return found


def transport_of(shown: str) -> str:
    """The transport of an interface, `tcp` if it names none; '' for no interface. Pure."""
    named = any(line.strip().startswith("iface.transport_name") for line in shown.splitlines())
    return settings_of(shown).get("iface.transport_name", "tcp" if named else "")
