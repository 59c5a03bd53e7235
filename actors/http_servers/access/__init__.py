"""Who calls the node server, and whether they may: authentication and authorisation."""
