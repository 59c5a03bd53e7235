"""Events, written to the log and to the API server.

- `messages`: its messages, and how an event of a pod or of the Node is made
- `actor`: messages in, requests out
- `correlation`: which events are counted, combined or dropped as spam
- `backlog`: events that the server does not have yet
- `event_object`: the Event of core/v1 and the patch of its count
- `event_history`: the last events of this node, for `supervise events`: in memory, bounded
- `event_text`: an event as a line of the log, and back
- `instance_events`: the events that occur once in the life of a container
"""
