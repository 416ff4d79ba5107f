"""Clusters and their replicas."""
