"""The fork server: the plain, single-threaded process that forks every actor and runs no actor's code.

It imports the shared modules once, freezes the heap, then forks on order, reaps, and tells supervisors what became of
their children. It watches heartbeats and memory, turns signals into an ordered stop, and answers the command line
without asking any actor, so also while actors are hung. Nothing here blocks.

    main.py          runs an application                server.py        the parts joined
    orders.py        what the processes order           reports.py       what supervisors are told, incidents
    control.py       what anybody may ask               listener.py      the socket for that
    lifecycle.py     starting, ready, stopping          shutdown.py      the ordered stop
    root.py          restarts of the root               policies.py      the policies in force
    table.py         what is known of each name         processes.py     start, stop, reap
    launcher.py      forks all that are due             fork.py          one child begins
    programs.py      a child that is another program    disposables.py   one function in a process of its own
    watch.py         hung, too large                    probes.py        programs that do not answer
    signals.py       which mean what                    watchdog.py      what systemd is told
    titles.py        what `ps` shows                    kept_sockets.py  listening sockets survive their actor
    loop.py          readiness, timers, signals         connection.py    frames on a socket that never blocks
    run_directory.py lock, names, janitor               lock.py          one agent for a directory
    names_kept.py    sockets that somebody removes
    janitor.py       removes the files of a killed one  memory.py        what is done before the first fork:
    warmup.py        code that every actor runs         heap_fill.py     no free places on shared pages
    code_layout.py   code that runs side by side     name_layout.py   names that are used, too
    page_release.py  pages that were needed once        fork_hooks.py    libraries' hooks around each fork
"""
