"""What a statement knows of its session: the role, the variables, cancellation, and what results look like."""
