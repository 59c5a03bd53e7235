"""The engine: a supervised tree of Thespian actors, each in its own process, on Unix sockets.

It knows nothing of Kubernetes and imports nothing of ours. `actor.py` is the base class of actors, `spec.py` has the
child specs, `protocol.py` and `process_messages.py` the messages of the engine itself.

What an actor is written with:
actor.py              the base class of our actors: typed dispatch, coroutines, ask, timers, Hello
calls.py              the calls of an actor that its system base implements: in its process, in the harness
addresses.py          an actor's address is its name in the tree
message.py            messages between actors: frozen msgspec Structs, registered by name when their class is defined
metrics.py            an actor's counters, gauges and histograms: plain numbers, which a scrape reads by message
protocol.py           the engine's own messages: what the command line and actors ask the fork server or any actor
process_messages.py   the engine's own messages about the life of processes: fork server, supervisors, actors' processes
spec.py               child specs, with the terms of Erlang/OTP's supervisor
application.py        what an application gives the engine: the tree, its policies
errors.py             the errors that an actor's calls and the command line raise

The tree: supervisors and their decisions:
supervisor.py         the supervisor: an actor that creates, watches, restarts and stops its children
transitions.py        what a supervisor does when something happens to a child
children.py           the state of a supervisor's children, and the events that change it
strategy.py           the restart strategies one_for_one, one_for_all and rest_for_one
intensity.py          restart intensity as in Erlang/OTP: a limit of restarts within a period
backoff.py            pauses that grow while something keeps failing
policy.py             the supervision policy of each actor: its default in the tree
policy_file.py        reads the policy file as plain data with line numbers: bounded, without aliases and tags
policy_rules.py       the valid values of each policy setting: one table, for policy files and for orders
quarantine.py         records on which input an actor died, and which input is in quarantine
scarcity.py           detects that the host gives this process no more threads

The process of an actor:
launch.py             what the fork server gives to an actor's process, and the actor that is made of it
process.py            the actor's process: its start, its message loop, its end
running.py            runs an actor's code: calls, tasks and timers
steps.py              runs a coroutine and notifies an observer of each step
task_context.py       the subject of a task, such as a pod, which the status page shows
timers.py             `after` and `every`, shared by the real port and the harness, which differ only in their clocks
heartbeat.py          the heartbeat of an actor's process, on the status page, with the counts of its messages
status_page.py        the shared status page: shared memory with one entry per actor, which the fork server reads
blackbox.py           the record that a dying actor leaves: a small file in memory
descriptors.py        detects that this process has nearly run out of file descriptors
listeners.py          listening sockets that survive their actor
hello_sender.py       when an actor says Hello to its feeders: at its start, and after an injected loss of messages
system_messages.py    the messages that all actors handle in the same way, as OTP's `sys` messages
injected_faults.py    the faults injected into one process, on the way of its messages
faults.py             fault injection, for `supervise inject` and for the tests

Messages on their way:
port.py               the actor's port to the tree: implements its calls, and those of Thespian's Actor
outgoing.py           the messages that one process sends: to the fork server by the uplink, to each actor by a link
inbox.py              the actor's inbox: accepts connections, handles messages in order and in slices
uplink.py             the connection of an actor with the fork server: a socket pair made before the fork
links.py              the links of one sender, one to each receiver
link.py               the link from this actor to one receiver: its queue, its window
outbox.py             the queue of messages for one receiver: first in, first out, bounded in number and bytes
channel.py            one connection on the actor's loop
wire.py               frames on a socket between two processes of the tree
names.py              names are sockets in a private directory; a name always refers to the incarnation in service
questions.py          the open questions of one incarnation
resends.py           when an actor sends its whole state again to a receiver that missed messages
payload.py            plain data and Thespian's own messages on the wire
plain_objects.py      objects of a program's own message classes, as plain data
dead_letters.py       where the dead letters of one process go: to the current handler
message_flow.py       counts the messages that reach a process, by sender and type
accept_limit.py       keeps asyncio servers cheap while the process has no free file descriptor
class_names.py        names of classes and functions: Thespian writes `module.Class`, the tree `module:Class`

The fork server, and the disposable processes that it makes:
fork_server/          the process that forks every actor and runs no actor's code
disposable_calls.py   a disposable process, as its caller sees it: the order, and the result or error in the answer
process_stat.py       facts of a process from /proc/PID/stat: its state, its start, its processor time
sd_notify.py          the sd_notify(3) protocol of Type=notify units: a datagram to $NOTIFY_SOCKET

Incidents and logs:
incidents.py          incident records: their fields, and the bounded file of JSON lines that holds them
incident_file.py      writes incident records to that file
spare_incidents.py    keeps the records that cannot be written to it for the next agent
logs.py               logs in klog's text or JSON format, to stderr and to a file
log_streams.py        the log's streams: stderr for all lines, or stdout for those that are not errors
repeated_warnings.py  warnings about something that is retried: each is logged once, until it succeeds

Files and documents:
documents/            reads one YAML or JSON document into plain data, within limits
strict.py             checks plain data against msgspec types and reports every unknown field and every wrong type
suggestions.py        suggests known names for an unknown one
state_file.py         private files, written atomically and safe against loss of power, and checksummed values in them

From outside, and tests:
client.py             asks the fork server or any actor from outside the tree: for the command line and tests
cli/                  the `supervise` subcommands for a running agent: all except `start`
system_base.py        a Thespian system base on this engine
harness.py            runs one actor in the test's event loop, with fake neighbours and a virtual clock
fake_port.py          the port of an actor in a test: records what the actor does, and answers its questions
fake_answers.py       the test's answers to the actor's questions
fake_disposables.py   runs the test's functions in place of disposable processes
virtual_clock.py      a clock that only a test moves
time_scale.py         one factor for all deadlines: a machine that is ten times slower gets ten times as long
"""

__project__ = "troupelet"
