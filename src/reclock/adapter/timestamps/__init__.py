"""The time a statement reads at, and whether its inputs are readable then."""
