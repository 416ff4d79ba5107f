"""Steps of a maintained plan: what changes from one time to another, written as SQL."""
