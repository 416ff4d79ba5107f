"""From syntax to typed relational plans."""
