"""The small durable truths several processes must agree on, in one SQL database: frontiers, claims,
holds, statuses, the fence.

Every write is conditional: it is one serializable transaction that reads what it was decided on and
checks the rows it changes.
"""
