"""The configuration of the agent: how it is read, merged and validated, and the `Agent` that every actor gets.

agent.py               the `self.context` of every actor
loading.py             makes the Agent from argv and files
feature_gates.py       the gates of the release; feature_gate_table.py: stage, default, dependencies of each
commands.py            `supervise config check|show|explain`; shown_fields.py: what `show` shows
documentation.py       the documentation of fields, flags and gates; explained_keys.py: of the keys of maps
explanation.py         what `config explain` says of one of them, as fields and as text
paths.py               the agent's paths, by its root directory
endpoints.py           the socket of a container runtime's endpoint
errors.py              problems, each with file, field and rule
url_passwords.py       passwords in URLs, which are shown without them
version.py             the release
fields/                the types of the configuration, and the values of its fields
flags/                 the command line
sources/               files, drop-ins and checkpoints: read, decoded, merged
validation/            rules and warnings
start/                 checks and preparations on the host before the tree starts
"""
