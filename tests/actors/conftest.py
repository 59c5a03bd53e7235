"""For the tests of one actor: no process is started to load a kubeconfig, as their clocks do not wait for one."""

from collections.abc import Mapping
from typing import Any

import pytest

from actors.shared.api import disposable_loader, kubeconfig_process
from actors.shared.api.disposable_loader import LoaderError


@pytest.fixture(autouse=True)
def _kubeconfigs_are_loaded_here(monkeypatch: pytest.MonkeyPatch) -> None:
    async def answer_later(request: Mapping[str, Any], seconds: float) -> Any:
        found = kubeconfig_process.answer(dict(request))
        if "found" not in found:
            raise LoaderError(found["kind"], found["text"])
        return found["found"]

    monkeypatch.setattr(disposable_loader, "answer_later", answer_later)
