"""The status of each pod: computed from what workers and prober observe, served to the servers and the API."""
