"""Checks over what is about to be committed: the new bindings and exactly the staged files of a source."""
