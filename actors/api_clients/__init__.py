"""The three clients of the API server: pods and objects, events, heartbeat. Standalone, they run and say so."""
