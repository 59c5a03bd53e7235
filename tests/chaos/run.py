"""Carries a plan out and judges what is left."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from actors.shared.cri.errors import CriError
from supervision.errors import AskError

from .model import Check, Kind, Step
from .target import Target

W = TypeVar("W", bound=Target)


class Chaos(Generic[W]):
    """One run. `history` has every step and what was seen, as JSON lines."""

    def __init__(
        self,
        target: W,
        kinds: Sequence[Kind[W]],
        checks: Sequence[Check[W]],
        history: Path,
        say: Callable[[str], None],
    ) -> None:
        self._target, self._history, self._say = target, history, say
        self._kinds = {one.name: one for one in kinds}
        own = [check for one in kinds for check in one.holds]
        self._checks = list(dict.fromkeys([*checks, *own]))

    def run(self, steps: Iterable[Step]) -> list[str]:
        """What does not hold at the end; nothing when all does. The agent has been started."""
        target = self._target
        target.node.wait_whole()
        started_at = time.monotonic()
        with target.going_on():
            for step in steps:
                time.sleep(max(0.0, started_at + step.at - time.monotonic()))
                self._do(step)
            target.repair()
        wrong = [line for check in self._checks for line in self._held(check)]
        self._note("end", {"wrong": wrong, **target.record.figures, **target.figures()})
        return wrong

    def _do(self, step: Step) -> None:
        self._say(str(step))
        kind, error = self._kinds[step.kind], ""
        do = kind.undo if step.undo else kind.apply
        assert do is not None, f"{step.kind} cannot be undone"
        try:
            do(self._target, step)
        except (AskError, AssertionError, KeyError, CriError) as failure:
            error = str(failure)  # it is just being replaced: the fault missed it
        node, record = self._target.node, self._target.record
        with contextlib.suppress(CriError):  # it is being started again
            if doubles := node.doubles():
                record.unlike.append(f"two running containers of one name after {step}: {doubles}")
        record.look(node)
        self._target.after(step)
        self._note("step", {"step": msgspec.structs.asdict(step), "error": error})

    def _held(self, check: Check[W]) -> list[str]:
        end = time.monotonic() + check.seconds
        while True:
            try:
                found = check.differs(self._target)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is looked at again until the deadline
                found = [repr(error)]
            if not found:
                return []
            if time.monotonic() > end:
                when = f" within {check.seconds:g} s" if check.seconds else ""
                return [f"not{when}: {check.what}: {one}" for one in found]
            time.sleep(0.2)

    def _note(self, what: str, data: dict[str, object]) -> None:
        with self._history.open("ab") as file:
            file.write(msgspec.json.encode({"at": time.time(), "what": what, **data}) + b"\n")
