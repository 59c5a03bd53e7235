"""Records in every process of the agent which functions it calls after its fork. `memory_profile.py` beside this folder
puts it on the module path of an agent; it writes what it has when it is sent the signal."""

import json
import os
import signal
import sys
from types import CodeType, FrameType
from typing import Any

DIRECTORY = "TROUPELET_PROFILE_DIR"
SIGNAL = signal.SIGXFSZ
"""One of the few whose handler a child keeps: see supervision/fork_server/signals.py."""
_seen: dict[int, tuple[str, CodeType]] = {}


def _called(frame: FrameType, event: str, argument: Any) -> None:
    code = frame.f_code
    if event == "call" and id(code) not in _seen:
        _seen[id(code)] = (str(frame.f_globals.get("__name__")), code)


def _forked() -> None:
    _seen.clear()
    sys.setprofile(_called)


def _names(code: CodeType) -> list[str]:
    """What its instructions look up, and its constants that are interned."""
    constants: list[Any] = [code.co_consts]
    found = list(code.co_names)
    while constants:
        one = constants.pop(0)
        if isinstance(one, tuple | frozenset):
            constants.extend(one)
        elif isinstance(one, str) and one.isascii() and one.replace("_", "a").isalnum():
            found.append(one)
    return found


def _write(*_: object) -> None:
    called = [
        {"function": f"{module} {code.co_qualname}", "names": _names(code)}
        for module, code in list(_seen.values())
        # without this recorder, and without what is generated, such as a dataclass's: many of those have the same name
        if module != __name__ and not code.co_filename.startswith("<")
    ]
    path = os.path.join(os.environ[DIRECTORY], str(os.getpid()))
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        json.dump(called, file)
    os.rename(f"{path}.new", path)


if DIRECTORY in os.environ:
    os.register_at_fork(after_in_child=_forked)  # before the agent keeps others from it
    signal.signal(SIGNAL, _write)
