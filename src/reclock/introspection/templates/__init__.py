"""Pages about an environment."""
