"""Text to syntax and back: what all statements have in common."""
