"""The `supervise` subcommands that speak to a running agent: everything but `start`, which is the application's.

They ask the fork server, which answers from what it knows by itself, so they work while any actor is wedged or the root
is dead. Nothing heavy is imported here.

Exit codes:

    0  done; `status`: the agent is ready
    1  `status`: it runs, but is degraded, starting or stopping; `policy check`: the file has errors
    2  the command line is wrong
    3  no agent runs there
    4  the agent refused: no such actor, a fault that makes no sense, no log file
    5  the agent did not answer, or did not stop, in time
"""
