"""The three clients of the API server, each an actor with connections and limits of its own.

- `messages`: what they are told and asked
- `api_actor`: what they share: credentials, requests, the state of the connection
- `requests`: the protocol of "something that sends requests", for parts that are tested without a server
- `kube_client/`: requests for other actors; the pods of this node; the objects that these refer to
- `event_client/`: events, correlated and counted
- `heartbeat_client/`: registration, lease and status of the Node

Without a kubeconfig they run all the same, and answer "standalone".
"""
