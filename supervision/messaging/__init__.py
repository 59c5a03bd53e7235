"""Messages on their way between processes: names, connections, queues and frames.

outgoing.py       the messages that one process sends: to the fork server by the uplink, to each actor by a link
inbox.py          the actor's inbox: accepts connections, handles messages in order and in slices
uplink.py         the connection of an actor with the fork server: a socket pair made before the fork
links.py          the links of one sender, one to each receiver
link.py           the link from this actor to one receiver: its queue, its window
outbox.py         the queue of messages for one receiver: first in, first out, bounded in number and bytes
channel.py        one connection on the actor's loop
wire.py           frames on a socket between two processes of the tree
names.py          names are sockets in a private directory; a name always refers to the incarnation in service
questions.py      the open questions of one incarnation
payload.py        plain data and Thespian's own messages on the wire
plain_objects.py  objects of a program's own message classes, as plain data
dead_letters.py   where the dead letters of one process go: to the current handler
message_flow.py   counts the messages that reach a process, by sender and type
accept_limit.py   keeps asyncio servers cheap while the process has no free file descriptor
"""
