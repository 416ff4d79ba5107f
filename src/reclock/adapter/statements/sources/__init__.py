"""Sources: CREATE, ALTER, the decisions about a stalled source, and the sources of the catalog."""
