"""The SQL database itself: engines, retries, change notifications, the clock."""
