"""The time a statement reads at, and whether what it reads can be read."""
