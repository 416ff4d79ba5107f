"""The SQL port: the PostgreSQL wire protocol over sessions of the adapter."""
