"""Objects of an object store: files that appear and grow."""
