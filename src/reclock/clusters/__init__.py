"""Executes commands: storage, replicas, and their Spark sessions and jars."""
