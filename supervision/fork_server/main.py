"""Runs an application: the entry of the fork server's process."""

from __future__ import annotations

import logging
from collections.abc import Callable

from thespian.actors import ActorSystem

from .. import time_scale
from ..application import Application
from ..errors import error_text
from ..hanging_disks import Asker
from ..messaging.names import PeerRefused
from ..metrics import Catalogue, install
from ..protocol import FORK_SERVER, ROOT
from . import core_dumps, early_signals, last_step
from .lock import AlreadyRunning
from .run_directory import RunDirectory
from .server import ForkServer, preload
from .thespian_base import TreeBase

log = logging.getLogger(FORK_SERVER)


def run(application: Application, refused: Callable[[str], None] = lambda why: None, asker: Asker | None = None) -> int:
    """Run the tree until it is stopped. Returns the exit code: 0 after an orderly stop, 1 otherwise. `refused`: called
    with the reason if the tree cannot be started here. `asker`: asks whether the disks of the directories answer, and
    is closed then."""
    early_signals.disregard()
    time_scale.establish(log)
    core_dumps.forbid()
    try:
        with asker or Asker() as disks:
            directory = RunDirectory(application.run_dir, application.directories.lock, disks.require_answer)
        install(Catalogue(application.metrics))
        try:
            preload(application.preload)
        except ImportError:
            directory.remove()
            raise
    except (AlreadyRunning, PeerRefused, OSError, ImportError) as error:
        log.error("%s cannot start: %s", application.name, error)
        refused(error_text(error))
        return 1
    fork_server = ForkServer(application, directory)
    system = ActorSystem(systemBase=TreeBase(fork_server), transientUnique=True)
    # calls TreeBase.newPrimaryActor, and that ForkServer.create_root
    system.createActor(application.tree.class_name, globalName=ROOT)
    code = fork_server.run()
    last_step.run(application.at_end.function, application.context, fork_server.private_fds())
    directory.remove()
    return code
