"""The fork server: the plain, single-threaded process that forks every actor and runs no actor's code.

It imports the shared modules once, freezes the heap, then forks on order, reaps, and reports to supervisors how their
children ended. It watches heartbeats and memory, turns signals into an ordered stop, and answers the command line
without asking any actor, so it answers while actors hang. Nothing here blocks.

    main.py          runs an application                server.py        connects the parts
    orders.py        orders of the processes            reports.py       reports to supervisors, incidents
    control.py       what any client may ask            listener.py      the socket for that
    lifecycle.py     starting, ready, stopping          shutdown.py      the ordered stop
    last_step.py     the application's own last step
    parts.py         those that orders and questions are about
    root.py          restarts of the root               policies.py      the policies in force
    process_table.py the entry of each name             processes.py     start, stop, reap
    launcher.py      forks all that are due             fork.py          the first steps of a forked child
    programs.py      children that are other programs   disposables.py   disposable processes: order, limits
    disk_check.py    whether a disk hangs, asked by a disposable process
    own_disks.py     the agent's own disks: nobody is blamed while one hangs
    disposable_process.py  one of them: its fork, its result
    child_checks.py  hung, too large                    probes.py        programs that do not answer
    spare_descriptor.py  for these looks at processes
    starvation.py    silent, without a processor      oom_kills.py     killed by the kernel's OOM killer
    signals.py       the meaning of each signal         watchdog.py      messages to systemd
    titles.py        what `ps` shows                    socket_store.py  listening sockets that survive their actor
    socket_repair.py sockets that were removed          loop.py          readiness, timers, signals
    connection.py    frames on a nonblocking socket     run_directory.py lock, names, janitor
    lock.py          one agent for a directory          janitor.py       removes the files of a killed fork server
    core_dumps.py    none of processes with keys        early_signals.py signals in the first seconds of a start

Memory, before the first fork:

    shared_heap.py   the steps, in order                warmup.py        code that every actor runs
    heap_fill.py     no free places on shared pages     code_layout.py   used code, side by side
    name_layout.py   used names, side by side           function_layout.py  used functions, side by side
    page_release.py  pages that are no longer needed    fork_hooks.py    libraries' hooks around each fork
    memory_switches.py  turns each of these off

process_entry.py  a name of the tree: its state and its process (child_process.py); history.py: its kept facts
thespian_base.py  the tree on Thespian's interface: `ActorSystem(systemBase=TreeBase(fork_server))`
"""
