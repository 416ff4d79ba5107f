"""The engines that run a plan: DuckDB in this process, Spark for what is large. The same plan has the same answer on both."""
