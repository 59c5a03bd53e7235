"""Usage figures as the summary API and as metrics. Loaded by the first request."""
