"""Who may write: the mark of the environment, the epoch of its catalog, and elections of controllers."""
