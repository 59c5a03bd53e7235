"""One pod: its state, its events, the table of its phases, and its observations for other actors. Pure."""
