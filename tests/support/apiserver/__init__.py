"""A small Kubernetes API server for tests: what a node, kubectl and a control plane of one process need of it.

In the loop of a test:          async with ApiServer(tmp_path) as server: ...
As a process of its own:        python -m tests.support.apiserver FOLDER --port 6443
"""

from __future__ import annotations

from .faults import Fault, Script
from .options import Options
from .request import Answer, Cut, Drop, Reply, Request, Stream
from .server import ApiServer

__all__ = ["Answer", "ApiServer", "Cut", "Drop", "Fault", "Options", "Reply", "Request", "Script", "Stream"]
