"""Figures, each measured side by side with what a user would use instead. Run ``python -m
benchmarks NAME``."""
