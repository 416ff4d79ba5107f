"""Processes: the environment they share, what a process leads, and replicas."""
