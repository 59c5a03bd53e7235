"""One pod: what is known of it, the phases of its life, and what other actors are told of it. Pure."""
