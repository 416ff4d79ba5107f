"""The parts of a session that every statement uses: roles, variables, cancellation and results."""
