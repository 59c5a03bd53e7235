"""oom_score_adj: lowering it below a process's initial value needs CAP_SYS_RESOURCE (proc_pid_oom_score_adj(5))."""

from __future__ import annotations

import os
from pathlib import Path


def set_score(score: int, pid: int | None = None, proc: str = "/proc") -> bool:
    """Set the score of a process (default: this one); its later children inherit it. False if not permitted.

    Raises OSError for anything else.
    """
    path = Path(proc, str(os.getpid() if pid is None else pid), "oom_score_adj")
    try:
        path.write_text(str(score), "ascii")
    except PermissionError:
        return False
    return True
