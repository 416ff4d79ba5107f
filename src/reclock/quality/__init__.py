"""Audits: checks of what is about to be committed, the new bindings and the staged files of a
source."""
