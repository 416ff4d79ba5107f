"""Replicas and the Spark applications they are: jars, sessions."""
