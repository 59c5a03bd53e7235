"""Where pods come from: manifests in files, at a URL, and the API server, merged into one stream of pod operations."""
