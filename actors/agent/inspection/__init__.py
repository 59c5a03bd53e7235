"""Shows what runs on this node, and why something does not: `supervise pods`, `supervise describe pod`, `supervise
events`.

commands.py               the options
pods_command.py           `supervise pods`
describe_command.py       `supervise describe pod`
events_command.py         `supervise events`
questions.py              their questions to the actors, with a fallback if an actor hangs
node_view.py              the pods by the agent, or without one
without_agent.py          the pods of a node whose agent does not answer, by its runtime
pods_on_disk.py           the same by its files
refused_manifests.py      refused manifests without an agent, and the names of their pods
event_log.py              the events that the agent has logged
node_pods.py              the pods that were found (pure)
chosen_pod.py             the pod that a command names
label_selector.py         the pods that `-l` chooses (pure)
pod_rows.py               a pod in one line (pure)
pod_description.py        a pod in many lines (pure)
pod_waits.py              what a pod waits for: an answer of the runtime, or the pull of an image
container_description.py  a container in many lines (pure)
text_layout.py            pairs and tables as lines (pure)
event_rows.py             events in lines (pure)
printing.py               prints text and documents, once or again and again
"""
