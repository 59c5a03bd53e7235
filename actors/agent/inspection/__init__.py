"""What runs on this node, and why something does not: `supervise pods`, `supervise describe pod`, `supervise events`.

`commands` shows what `questions` asks the actors for, with a way out where one is wedged; `node_pods` is what was
found; `pod_rows`, `pod_description` and `event_rows` make text of it, pure.
"""
