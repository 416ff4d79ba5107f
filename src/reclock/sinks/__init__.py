"""Changes on their way out of the environment, each exactly once."""
