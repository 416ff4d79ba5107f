"""The small durable state that several processes must agree on, in one SQL database: frontiers, claims, holds, statuses, the fence.

Every write is conditional: one serializable transaction reads what the decision depends on, and checks the rows it changes.
"""
