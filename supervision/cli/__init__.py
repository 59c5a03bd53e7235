"""The `supervise` subcommands for a running agent: all except `start`, which the application provides.

They ask the fork server, which answers without asking any actor: they work while actors are hung or the root is dead.
Nothing heavy is imported here.

Exit codes:

    0  done; `status`: the agent is ready
    1  `status`: it runs, but is degraded, starting or stopping; `doctor`: there is a failure; `policy check`,
       `config check` and `manifest check`: there are errors; `reset`: something is left
    2  the command line is wrong
    3  no agent runs there; `status`: or it is down
    4  the agent refused: no such actor, a fault that makes no sense, no log file; `reset`: an agent runs, no consent
    5  the agent did not answer, or did not stop, in time
"""
