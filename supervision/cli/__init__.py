"""The `supervise` subcommands for a running agent: all except `start`, which the application provides.

They ask the fork server, which answers without asking any actor: they work while actors are hung or the root is dead.
Nothing heavy is imported here.

agent_files.py     the files of an agent that the subcommands read, and the agents beside it
answers.py         asks several actors; some may not answer
argument_types.py  types of arguments, for argparse: a number, a duration, a count of lines
command.py         a call of a subcommand: its agent, which it asks, its results, its errors and exit codes
document.py        answers for programs, as JSON or YAML
health.py          whether the agent is ready, degraded or down, and why
incidents.py       `supervise incidents`: the incident record, read from its file; works without a running agent
inject.py          `supervise inject`: injects a fault into an actor, to test its recovery
line_array.py      writes lines as one array, each line as it comes
log_sources.py     where the log of an agent is: its log file, the file that takes its stderr, or the journal of systemd
log_times.py       when the lines of a log were written, in either format of `supervision.logs`
logs.py            `supervise logs`: the lines of one actor, or of a supervisor and all below it, from the agent's log
parser.py          the parser of `supervise` and of each subcommand
policy.py          `supervise policy`: the policies in force (`show`), and all errors of a policy file before it is used
signals.py         which processes a signal has stopped
status.py          `supervise status`: whether the agent is ready, degraded or down, as one line and as the exit code
stop.py            `supervise stop`: stops the agent in order and waits until it has ended
streams.py         stdout and stderr that may fail: closed, a broken pipe, a full disk
subcommand.py      one subcommand, and its parser with the options that all subcommands have
subcommands.py     puts the subcommands on an application's argument parser
text.py            formats durations, sizes, tables and trees for the width of the terminal
top.py             `supervise top`: the tree, refreshed, with processor time and messages a second
top_frame.py       what `supervise top` shows at one moment: lines of styled pieces that fit the terminal
top_keys.py        the actions of the keys of `supervise top`: a table for each mode, pure
top_screen.py      the terminal of `supervise top`: reads single keys, colours with rich if that is installed
tree.py            `supervise tree`: every actor with its process, as a tree
typed_commands.py  `supervise` commands in texts, as the user of this process must type them
"""
