"""Who may write: the epoch of the catalog, and elections of controllers."""
