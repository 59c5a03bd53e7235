"""How to reach an API server: kubeconfig, credentials, connections, requests, watches. Knows no actor."""
