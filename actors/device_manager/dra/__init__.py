"""Dynamic resource allocation (KEP-4381): prepares the resource claims of pods by the drivers of this node."""
