"""The Python client: one interface to an environment in this process or to a server."""
