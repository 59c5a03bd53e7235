"""The engine: a supervised tree of Thespian actors, each in its own process, on Unix sockets.

It knows nothing of Kubernetes and imports nothing of ours. `actor.py` is the base class of actors, `spec.py` has the
child specs, `protocol.py` and `process_messages.py` the messages of the engine itself.

What an actor is written with:
actor.py              the base class of our actors: typed dispatch, coroutines, ask, timers, Hello
calls.py              the calls of an actor that its system base implements: in its process, in the harness
addresses.py          an actor's address is its name in the tree
message.py            messages between actors: frozen msgspec Structs, registered by name when their class is defined
metrics.py            an actor's counters, gauges and histograms: plain numbers, which a scrape reads by message
listeners.py          listening sockets that survive their actor
disposable_calls.py   a disposable process, as its caller sees it: the order, and the result or error in the answer
task_context.py       the subject of a task, such as a pod, which the status page shows
errors.py             the errors that an actor's calls and the command line raise
testing/              tests of actors without processes: the harness, fake neighbours, a virtual clock

What a tree is made of:
application.py        what an application gives the engine: the tree, its policies
spec.py               child specs, with the terms of Erlang/OTP's supervisor
supervisor/           supervisors: strategies, restart intensity, transitions, policies
backoff.py            pauses that grow while something keeps failing
memory_growth.py      by how much each input has made an actor's process grow
quarantine.py         records on which input an actor died, and which input is in quarantine
thread_shortage.py    detects that the host gives this process no more threads

How it runs:
own_code.py           command lines that run code of this project in another Python
fork_server/          the process that forks every actor and runs no actor's code; the disposable processes it makes
process/              the process of an actor: its start, its loop, its port to the tree, its heartbeat, its end
messaging/            messages on their way: names, links, queues, frames, the inbox
protocol.py           the engine's own messages: what the command line and actors ask the fork server or any actor
process_messages.py   the engine's own messages about the life of processes: fork server, supervisors, actors' processes
system_messages.py    the messages that all actors handle in the same way, as OTP's `sys` messages
resends.py            when an actor sends its whole state again to a receiver that missed messages
faults.py             fault injection, for `supervise inject` and for the tests
system_base.py        a Thespian system base on this engine
class_names.py        names of classes and functions: Thespian writes `module.Class`, the tree `module:Class`
time_scale.py         one factor for all deadlines: a machine that is ten times slower gets ten times as long
resource_limits.py    limits of the kernel on a process: its open files, the size of its files
process_stat.py       facts of a process from /proc/PID/stat: its state, its start, its processor time
sd_notify.py          the sd_notify(3) protocol of Type=notify units: a datagram to $NOTIFY_SOCKET

What it leaves and reads:
incidents/            incident records, and the bounded file that holds them
logs.py               logs in klog's text or JSON format, to stderr and to a file
log_streams.py        the log's streams: stderr for all lines, or stdout for those that are not errors
readable_texts.py     makes texts UTF-8: names of files that are not come with lone surrogates
repeated_warnings.py  warnings that come again and again, each logged once, or once in a while
documents/            reads one YAML or JSON document into plain data, within limits, and checks it against types
unwritten_files.py    the files that this process could not write, for `supervise status`
unfinished_files.py   the temporary files of atomic writes, and those that a killed writer left
hanging_disks.py      looks at files, and writes the last ones, where the disk may hang
state_file.py         private files, written atomically and safe against loss of power, and checksummed values in them

From outside:
client.py             asks the fork server or any actor from outside the tree: for the command line and tests
cli/                  the `supervise` subcommands for a running agent: all except `start`
"""

__project__ = "troupelet"
