"""The three clients of the API server, each an actor with connections and limits of its own.

- `messages`: the message to all three; each has its own `messages`, too
- `api_actor`: their base class: credentials, requests, the state of the connection
- `requests`: the protocol of a sender of requests, for parts that are tested without a server
- `kube_client/`: requests for other actors; the pods of this node; the objects that these refer to
- `event_client/`: events, correlated and counted
- `heartbeat_client/`: registration, lease and status of the Node

Without a kubeconfig there is no heartbeat client. The others run: requests are answered with "standalone", events are
logged.
"""
