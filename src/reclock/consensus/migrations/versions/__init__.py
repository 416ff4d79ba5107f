"""One module for each version of the tables, oldest first. Once released, a module never changes."""
