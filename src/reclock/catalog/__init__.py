"""The durable catalog: objects, transactions, implementations, open and upgrade."""
