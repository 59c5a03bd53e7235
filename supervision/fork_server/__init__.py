"""The fork server: the plain, single-threaded process that forks every actor and runs no actor's code.

It imports the shared modules once, freezes the heap, and from then on forks on order, reaps, and tells supervisors what
became of their children. It watches heartbeats and memory, turns signals into an ordered stop, and answers the command
line from what it knows by itself, so it does while actors are wedged. Nothing here blocks.

    server.py       the parts joined: orders in, facts out
    table.py       what is known of each name of the tree
    loop.py        readiness, timers, signals          connection.py   frames on a socket that never blocks
    fork.py        a child begins                      forking.py      all that are due, in one go
    hooks.py       what libraries do at a fork, undone programs.py     a child that is another program
    watch.py       hung, too large, too slow to start  disposables.py  one function in a process of its own
    shutdown.py    the ordered stop                    control.py      what may be asked
    lock.py        one agent for a directory           janitor.py      nothing left behind
    rehearsal.py   done once for all processes         gaps.py         what they make, on pages of their own
    page_release.py given back when a start is over
"""
