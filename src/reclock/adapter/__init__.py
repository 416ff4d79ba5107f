"""The adapter: a client's session, and the statements it executes."""
