"""Definite collections as Delta tables: append, snapshot, changes, compaction. One commit path, at
an exact version."""
