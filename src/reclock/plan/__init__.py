"""The relational plan: nodes, scalars, functions, and which of them could raise an error."""
