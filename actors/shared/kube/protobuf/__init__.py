"""Objects of the Kubernetes API in protobuf, as API servers and pods API clients read and write them. From JSON and to
JSON; imported only where protobuf is spoken.

envelope.py  what is around each object: the magic number, the kind; lists, whose objects are read one by one
kinds.py     the kinds and collections that proto/k8s_*.proto have
reading.py   the JSON of a message
schema.py    how JSON has the fields of a message
values.py    messages that are one value in JSON: times, quantities, raw JSON
wire.py      the fields of a message as bytes and numbers, bounded
writing.py   the message of a JSON object
"""
