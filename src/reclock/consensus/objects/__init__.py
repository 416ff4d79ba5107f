"""What storage keeps for an object of the catalog, and what has to be deleted upstream."""
